"""The `zoo claims` commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.claims.ledger import Claim, Ledger
from zoo.cli import checkout, child_process
from zoo.cli.command import ZooCommand, group
from zoo.cli.screen import console
from zoo.model.option import split_values
from zoo.reference import claims_page, rerun, runs
from zoo.reference.rerun import Chosen
from zoo.reference.runs import CommittedRun
from zoo.report.formatting import format_duration
from zoo.report.ledger_text import sections
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal

app = group("Which published claims hold on this machine.")

Articles = Annotated[list[str] | None, typer.Option("--article", help="an article's letter; repeat for more")]
Ids = Annotated[list[str] | None, typer.Option("--claim", help="a claim's id, such as R7; repeat for more")]


@app.command("plan", cls=ZooCommand)
def show_plan(article: Articles = None, claim: Ids = None) -> None:
    """Show the runs that the claims name and that are not measured on this machine yet, and their time.

    Example: zoo claims plan --article R
    """
    _planned(_Asked.of(article, claim))


@app.command("run", cls=ZooCommand)
def measure(article: Articles = None, claim: Ids = None) -> None:
    """Measure the runs that are not there yet, then judge. Ctrl-C loses at most the run that is measured.

    Example: zoo claims run --article T
    """
    asked = _Asked.of(article, claim)
    chosen = _planned(asked)
    incomplete = [run.name for number, (run, _) in enumerate(chosen) if not _measure(chosen, number)]
    _judge(asked, None)
    if incomplete:
        console.print(f"not all of it was measured: {', '.join(incomplete)}", highlight=False)
        raise typer.Exit(1)


@app.command("verdict", cls=ZooCommand)
def judge(
    article: Articles = None,
    claim: Ids = None,
    to: Annotated[Path | None, typer.Option(help="where the page is written; results/claims/ without it")] = None,
) -> None:
    """Judge the claims by the runs that `zoo claims run` made on this machine, without measuring.

    Example: zoo claims verdict --article R
    """
    _judge(_Asked.of(article, claim), to)


@dataclass(frozen=True)
class _Asked:
    """The claims of a command, and the runs that they name."""

    ledger: Ledger
    claims: list[Claim]
    runs: list[CommittedRun]
    catalog: Catalog

    @classmethod
    def of(cls, article: list[str] | None, claim: list[str] | None) -> _Asked:
        catalog = load_catalog(checkout.ROOT)
        found = claims_page.read_ledger(checkout.ROOT, catalog)
        claims, table = found.of(split_values(article or ()), split_values(claim or ())), runs.load(checkout.ROOT)
        names = dict.fromkeys(name for each in claims for name in each.runs)
        return cls(found, claims, [run for name in names for run in table.matching(name)], catalog)


def _planned(asked: _Asked) -> list[Chosen]:
    """The runs that are to be measured, after they were shown."""
    there = rerun.made_for_claims(asked.runs, checkout.ROOT)
    missing = [(run, rerun.time_of(run, checkout.ROOT)) for run in asked.runs if run.name not in there]
    rows, reasons = [], []
    for run, found in missing:
        if found.impossible:
            reasons.append(f"{run.name}: {found.impossible}")
        minutes = NONE if found.impossible else f"{found.seconds / 60:.0f}"
        rows.append([run.name, " ".join(claim.id for claim in asked.claims if run.name in claim.runs), minutes])
    chosen = [(run, found) for run, found in missing if not found.impossible]
    summary = (
        f"{len(missing)} of {len(asked.runs)} runs for {len(asked.claims)} claims are not measured on this machine. "
        f"To measure them takes about {format_duration(sum(found.seconds for _, found in chosen))}."
    )
    if reasons:
        summary += f" {len(reasons)} runs cannot be measured by their command here; the reasons are below the table."
    table = Table("", ["run", "for", "minutes"], rows, text=2)
    terminal.show([Section("What is to be measured", [summary], [table] if rows else [], reasons)], console)
    return chosen


def _measure(chosen: Sequence[Chosen], number: int) -> bool:
    """Whether all of it was measured. A run with failed cells is kept, because failures may decide a claim."""
    run = chosen[number][0]
    code = child_process.run_listed(chosen, number, rerun.begin_for_claims(run, checkout.ROOT))
    if code in (0, 1):
        rerun.finish_for_claims(run, checkout.ROOT)
    return code == 0


def _judge(asked: _Asked, to: Path | None) -> None:
    folder = to or checkout.ROOT / rerun.FOR_CLAIMS
    made = rerun.made_for_claims(asked.runs, checkout.ROOT)
    said, left = claims_page.judge_claims(asked.claims, made, folder.resolve(), asked.catalog)
    terminal.show(sections(asked.ledger, said), console)
    for why in left:
        console.print(f"left out: {why}", highlight=False)
    console.print(f"\nledger: {claims_page.write(folder, asked.ledger, said)}", highlight=False)
