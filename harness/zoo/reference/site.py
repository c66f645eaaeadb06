"""A folder of static pages for any web host: answers, reports of runs, the ledger of claims, and an index."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.claims.verdicts import ClaimVerdict, judge_each
from zoo.core import run_folder
from zoo.core.entry_id import server_name
from zoo.core.manifest import Catalog
from zoo.core.run_folder import Store
from zoo.reference import answers, claims_page, reports
from zoo.reference.origin import describe_origin
from zoo.report import ledger_page
from zoo.report.ledger_text import format_counts
from zoo.report.page.html import ENVIRONMENT, security_policy

RUNS = "runs"
"""The name of the site's folder that has one folder for each run."""

ANSWERS = "answers"
"""The name of the site's folder that has one folder for each server with an answer."""

RECORDS = ("run.json", run_folder.RECORDS, run_folder.PACKED_RECORDS)
"""Files of a run that its pages link to; a run may lack some of them."""


def write_site(
    target: Path,
    runs: Sequence[Path],
    claim_runs: Mapping[str, Path],
    root: Path,
    catalog: Catalog,
    say: Callable[[str], None],
) -> Path:
    """Write reports and answers from these runs, and the ledger as judged by the named runs; return the index's path.

    Call `say` with a line of progress for each report and answer.
    """
    target.mkdir(parents=True, exist_ok=True)
    entries = []
    for folder in runs:
        store = Store.open(folder)
        say(f"{store.run().id}: report")
        entries.append(_write_report(target, store, catalog))
    made = answers.read_answers(runs, root, catalog)
    for answer in made:
        say(f"{answer.server}: answer")
        answers.write_answer(answer, target / ANSWERS / answer.server)
    verdicts = _write_ledger(target, claim_runs, root, catalog, {entry["id"] for entry in entries})
    written = target / "index.html"
    page = ENVIRONMENT.get_template("site.html")
    written.write_text(
        page.render(answers=made, entries=entries, claims=format_counts(verdicts), policy=security_policy()),
        encoding="utf-8",
    )
    return written


def _write_report(target: Path, store: Store, catalog: Catalog) -> dict[str, Any]:
    """Write a run's report as the index page of its folder, without links to files that are not copied.

    Return the data about the run that the site's index shows.
    """
    contents = reports.read_contents(store, catalog)
    run = contents.summary.run
    home = _copy_records(target, store.folder, run.id)
    copied = replace(contents.raw_files, files=frozenset(path.name for path in home.iterdir()))
    (home / "index.html").write_text(reports.render_html(replace(contents, raw_files=copied)), encoding="utf-8")
    return {
        "id": run.id,
        "href": f"{RUNS}/{run.id}/",
        "title": ", ".join(run.plan.scenarios),
        "servers": sorted({server_name(entry) for entry in run.plan.entries}),
        "date": run.started_at[:10],
        "where": describe_origin(run, catalog),
        "lines": contents.summary.last_lines,
    }


def _write_ledger(
    target: Path, claim_runs: Mapping[str, Path], root: Path, catalog: Catalog, reported: set[str]
) -> list[ClaimVerdict]:
    """Write the page of the ledger, and a page with records for each run that decides a claim and has no report."""
    if not (root / claims_page.FOLDER).is_dir():
        return []
    ledger = claims_page.read_ledger(root, catalog)
    archives, _ = claims_page.read_runs(claims_page.runs_of(ledger.claims, claim_runs), root, catalog)
    judged = judge_each(ledger.claims, {n: replace(one, folder=f"{RUNS}/{one.id}") for n, one in archives.items()})
    (target / "claims.html").write_text(ledger_page.render_page(ledger, judged), encoding="utf-8")
    deciding = {archive.id for verdict in judged for archive in verdict.archives}
    for archive in archives.values():
        if archive.id in deciding - reported:
            home = _copy_records(target, root / archive.folder, archive.id)
            names = sorted(path.name for path in home.iterdir() if path.name in RECORDS)
            page = ENVIRONMENT.get_template("run.html").render(archive=archive, names=names, policy=security_policy())
            (home / "index.html").write_text(page, encoding="utf-8")
    return judged


def _copy_records(target: Path, folder: Path, run_id: str) -> Path:
    """Copy a run's records to its folder of the site, and return the folder."""
    home = target / RUNS / run_id
    home.mkdir(parents=True, exist_ok=True)
    for name in RECORDS:
        if (folder / name).exists():
            shutil.copyfile(folder / name, home / name)
    return home
