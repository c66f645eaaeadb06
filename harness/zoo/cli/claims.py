"""The `zoo claims` commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from zoo.claims.ledger import Claim, Ledger
from zoo.cli import checkout, child_process, options
from zoo.cli.command import ZooCommand, group
from zoo.cli.display import console, display
from zoo.core.errors import BenchError
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.reference import claims_page, rerun, runs
from zoo.reference.rerun import TimedRun
from zoo.reference.runs import CommittedRun
from zoo.report.formatting import format_count, format_duration
from zoo.report.ledger_text import ledger_sections
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal

app = group("Judge published claims on this machine.")

Articles = Annotated[
    list[str] | None, typer.Option("--article", callback=options.split(), help="articles by their letter, such as R,T")
]
Ids = Annotated[
    list[str] | None, typer.Option("--claim", callback=options.split(), help="claims by their id, such as R7,R8")
]


@app.command("show", cls=ZooCommand)
def show(
    article: Articles = None,
    claim: Ids = None,
    to: Annotated[Path | None, typer.Option(help="folder for the page; by default results/claims/")] = None,
) -> None:
    """Show which claims hold, from the runs that `zoo claims run` made on this machine. Measure nothing.

    Examples:
        zoo claims show
        zoo claims show --article R,T
    """
    selection = Selection.of(article, claim)
    _judge(selection, to)
    missing = len(selection.runs) - len(rerun.claim_runs(selection.runs, checkout.ROOT))
    if missing:
        display.line(
            f"{missing} of {len(selection.runs)} runs are not measured on this machine: make claims-plan shows how "
            "long they take, make claims-run measures them"
        )


@app.command("plan", cls=ZooCommand)
def show_plan(article: Articles = None, claim: Ids = None) -> None:
    """Print the runs that the claims need and that this machine lacks, and how long they take.

    Examples:
        zoo claims plan --article R
    """
    _plan(Selection.of(article, claim))


@app.command("run", cls=ZooCommand)
def measure(
    article: Articles = None,
    claim: Ids = None,
    yes: Annotated[bool, typer.Option("--yes", help="start without asking, as scripts must")] = False,
) -> None:
    """Measure the runs that this machine lacks, then judge the claims. Print the duration and ask first.

    Ctrl-C loses at most the run that is being measured.

    Examples:
        zoo claims run --claim R7,R8
        zoo claims run --article T --yes
    """
    selection = Selection.of(article, claim)
    chosen = _plan(selection)
    if chosen and not yes:
        _confirm(chosen)
    incomplete = [run.name for number, (run, _) in enumerate(chosen) if not _measure(chosen, number)]
    _judge(selection, None)
    if incomplete:
        display.line(f"incomplete runs: {', '.join(incomplete)}")
        raise typer.Exit(1)


@dataclass(frozen=True)
class Selection:
    """The claims that a command selects, and the runs that they name."""

    ledger: Ledger
    claims: list[Claim]
    runs: list[CommittedRun]
    catalog: Catalog

    @classmethod
    def of(cls, article: list[str] | None, claim: list[str] | None) -> Selection:
        catalog = load_catalog(checkout.ROOT)
        found = claims_page.read_ledger(checkout.ROOT, catalog)
        claims, table = found.select(article or (), claim or ()), runs.load(checkout.ROOT)
        names = dict.fromkeys(name for each in claims for name in each.runs)
        return cls(found, claims, [run for name in names for run in table.matching(name)], catalog)


def _plan(selection: Selection) -> list[TimedRun]:
    """Return the runs to measure, after showing them."""
    measured = rerun.claim_runs(selection.runs, checkout.ROOT)
    missing = [(run, rerun.time_of(run, checkout.ROOT)) for run in selection.runs if run.name not in measured]
    rows, reasons = [], []
    for run, time in missing:
        if time.impossible:
            reasons.append(f"{run.name}: {time.impossible}")
        minutes = NONE if time.impossible else f"{time.seconds / 60:.0f}"
        rows.append([run.name, " ".join(claim.id for claim in selection.claims if run.name in claim.runs), minutes])
    chosen = [(run, time) for run, time in missing if not time.impossible]
    seconds = sum(time.seconds for _, time in chosen)
    summary = (
        f"{len(missing)} of {len(selection.runs)} runs for {format_count(len(selection.claims), 'claim')} are not "
        f"measured on this machine. To measure them takes about {format_duration(seconds)}."
    )
    if reasons:
        summary += f" {format_count(len(reasons), 'run')} cannot be measured here; the reasons are below the table."
    table = Table("", ["run", "for", "minutes"], rows, text=2)
    terminal.print_sections([Section("Runs to measure", [summary], [table] if rows else [], reasons)], console)
    return chosen


def _confirm(chosen: Sequence[TimedRun]) -> None:
    """Ask whether to start, and exit unless the answer is yes; raise `BenchError` if there is no terminal to ask on."""
    duration = format_duration(sum(time.seconds for _, time in chosen))
    if not sys.stdin.isatty():
        raise BenchError(
            f"nothing was measured: this takes about {duration}, and there is no terminal to ask; add --yes (YES=1)"
        )
    if not typer.confirm(f"Measure {format_count(len(chosen), 'run')} for about {duration}?"):
        console.print("nothing was measured")
        raise typer.Exit(1)


def _measure(chosen: Sequence[TimedRun], number: int) -> bool:
    """Measure a run, and return whether all of it was measured.

    A run with failed cells is kept, because failures may decide a claim.
    """
    run = chosen[number][0]
    code = child_process.run_listed(chosen, number, rerun.begin_for_claims(run, checkout.ROOT))
    if code in (0, 1):
        rerun.finish_for_claims(run, checkout.ROOT)
    return code == 0


def _judge(selection: Selection, to: Path | None) -> None:
    folder = to or checkout.ROOT / rerun.FOR_CLAIMS
    run_folders = rerun.claim_runs(selection.runs, checkout.ROOT)
    verdicts, left_out = claims_page.judge_claims(selection.claims, run_folders, folder.resolve(), selection.catalog)
    terminal.print_sections(ledger_sections(selection.ledger, verdicts), console)
    for reason in left_out:
        display.line(f"left out: {reason}")
    display.line(f"\nledger: {claims_page.write_ledger(folder, selection.ledger, verdicts)}")
