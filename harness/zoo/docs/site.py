"""A folder of static pages that any host serves: reports of runs, the ledger of claims, and an index."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.claims.evidence import Archive
from zoo.claims.verdicts import ClaimVerdict, verdicts
from zoo.docs import archives, ledger, run_reports
from zoo.docs.origin import origin
from zoo.model.entry_id import server_of
from zoo.report.ledger import page as ledger_page
from zoo.report.page.contents import Contents
from zoo.report.page.site import SiteEntry, index, listing
from zoo.store import kept
from zoo.store.run_folder import Store

RUNS = "runs"
"""The folder of the site that has one folder a run."""

RECORDS = ("run.json", kept.RECORDS, kept.PACKED_RECORDS)
"""Files of a run that its pages link to, whichever of them there are."""


def write(
    to: Path,
    runs: Sequence[Path],
    named: Mapping[str, Path],
    root: Path,
    catalog: Catalog,
    say: Callable[[str], None],
) -> Path:
    """Write the site of these runs, and of the ledger as the named runs decide it; return its index.

    `say` is called with a line for each report.
    """
    to.mkdir(parents=True, exist_ok=True)
    entries = []
    for folder in runs:
        store = Store.open(folder)
        say(f"{store.run().id}: report")
        entries.append(_report(to, store, catalog))
    said = _ledger(to, named, root, catalog, {entry.id for entry in entries})
    written = to / "index.html"
    written.write_text(index(entries, said), encoding="utf-8")
    return written


def _report(to: Path, store: Store, catalog: Catalog) -> SiteEntry:
    """A run's report as the index of its folder; links to files that are not copied are left out."""
    contents = run_reports.read(store, catalog.reference_id)
    home = _home(to, store.folder, contents.summary.run.id)
    shown = replace(contents.evidence, files=frozenset(path.name for path in home.iterdir()))
    (home / "index.html").write_text(run_reports.html(replace(contents, evidence=shown)), encoding="utf-8")
    return _entry(contents, origin(contents.summary.run, catalog))


def _entry(contents: Contents, where: str) -> SiteEntry:
    run = contents.summary.run
    return SiteEntry(
        id=run.id,
        href=f"{RUNS}/{run.id}/",
        title=", ".join(run.plan.scenarios),
        servers=sorted({server_of(entry) for entry in run.plan.entries}),
        date=run.started_at[:10],
        where=where,
        lines=contents.summary.last_lines,
    )


def _ledger(
    to: Path, named: Mapping[str, Path], root: Path, catalog: Catalog, reported: set[str]
) -> list[ClaimVerdict]:
    """The page of the ledger; each run that decides a claim gets its records on the site."""
    if not (root / ledger.FOLDER).is_dir():
        return []
    found = ledger.read(root, catalog)
    given, _ = archives.read(ledger.of_claims(found.claims, named), root, catalog)
    moved = {name: replace(archive, folder=f"{RUNS}/{archive.id}") for name, archive in given.items()}
    said = verdicts(found.claims, moved)
    (to / "claims.html").write_text(ledger_page.page(found, said), encoding="utf-8")
    used = {archive.id for verdict in said for archive in verdict.archives}
    for archive in given.values():
        if archive.id in used - reported:
            _listed(to, root / archive.folder, archive)
    return said


def _listed(to: Path, folder: Path, archive: Archive) -> None:
    """The records of a run that has no report here, and a page that links them."""
    home = _home(to, folder, archive.id)
    names = sorted(path.name for path in home.iterdir() if path.name in RECORDS)
    (home / "index.html").write_text(listing(archive, names), encoding="utf-8")


def _home(to: Path, folder: Path, run_id: str) -> Path:
    """The run's folder of the site, with its records."""
    home = to / RUNS / run_id
    home.mkdir(parents=True, exist_ok=True)
    for name in RECORDS:
        if (folder / name).exists():
            shutil.copyfile(folder / name, home / name)
    return home
