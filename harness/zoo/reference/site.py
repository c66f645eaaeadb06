"""Writes a folder of static pages that any host serves: reports of runs, the ledger of claims, and an index."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.catalog.manifest import Catalog
from zoo.claims.verdicts import ClaimVerdict, verdicts
from zoo.model.entry_id import server_of
from zoo.reference import claims_page, reports
from zoo.reference.origin import origin
from zoo.report import ledger_page
from zoo.report.ledger_text import counted
from zoo.report.page.html import ENVIRONMENT, policy
from zoo.store import run_folder
from zoo.store.run_folder import Store

RUNS = "runs"
"""The folder of the site that has one folder for each run."""

RECORDS = ("run.json", run_folder.RECORDS, run_folder.PACKED_RECORDS)
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
        entries.append(_write_report(to, store, catalog))
    said = _write_ledger(to, named, root, catalog, {entry["id"] for entry in entries})
    written = to / "index.html"
    page = ENVIRONMENT.get_template("site.html")
    written.write_text(page.render(entries=entries, claims=counted(said), policy=policy()), encoding="utf-8")
    return written


def _write_report(to: Path, store: Store, catalog: Catalog) -> dict[str, Any]:
    """Write a run's report as the index of its folder, without links to files that are not copied.

    Return what the index of the site shows of it.
    """
    contents = reports.read(store, catalog.reference_id)
    run = contents.summary.run
    home = _copy(to, store.folder, run.id)
    shown = replace(contents.evidence, files=frozenset(path.name for path in home.iterdir()))
    (home / "index.html").write_text(reports.html(replace(contents, evidence=shown)), encoding="utf-8")
    return {
        "id": run.id,
        "href": f"{RUNS}/{run.id}/",
        "title": ", ".join(run.plan.scenarios),
        "servers": sorted({server_of(entry) for entry in run.plan.entries}),
        "date": run.started_at[:10],
        "where": origin(run, catalog),
        "lines": contents.summary.last_lines,
    }


def _write_ledger(
    to: Path, named: Mapping[str, Path], root: Path, catalog: Catalog, reported: set[str]
) -> list[ClaimVerdict]:
    """Write the page of the ledger, and a page with the records of each run that decides a claim and has no report."""
    if not (root / claims_page.FOLDER).is_dir():
        return []
    found = claims_page.read_ledger(root, catalog)
    given, _ = claims_page.read_runs(claims_page.runs_of(found.claims, named), root, catalog)
    said = verdicts(found.claims, {n: replace(one, folder=f"{RUNS}/{one.id}") for n, one in given.items()})
    (to / "claims.html").write_text(ledger_page.page(found, said), encoding="utf-8")
    used = {archive.id for verdict in said for archive in verdict.archives}
    for archive in given.values():
        if archive.id in used - reported:
            home = _copy(to, root / archive.folder, archive.id)
            names = sorted(path.name for path in home.iterdir() if path.name in RECORDS)
            page = ENVIRONMENT.get_template("run.html").render(archive=archive, names=names, policy=policy())
            (home / "index.html").write_text(page, encoding="utf-8")
    return said


def _copy(to: Path, folder: Path, run_id: str) -> Path:
    """Copy a run's records to its folder of the site, and return that."""
    home = to / RUNS / run_id
    home.mkdir(parents=True, exist_ok=True)
    for name in RECORDS:
        if (folder / name).exists():
            shutil.copyfile(folder / name, home / name)
    return home
