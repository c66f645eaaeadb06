"""The `zoo claims` commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.claims import needs
from zoo.claims.ledger import Claim, Ledger
from zoo.claims.needs import Job
from zoo.cli import checkout, child_process, claim_runs
from zoo.cli.claim_runs import Command
from zoo.cli.mistakes import plainly
from zoo.cli.screen import console
from zoo.docs import archives
from zoo.docs import ledger as ledgers
from zoo.report.ledger.text import sections
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Which published claims hold on this machine.",
)

Articles = Annotated[list[str] | None, typer.Option("--article", help="an article's letter; repeat for more")]
Ids = Annotated[list[str] | None, typer.Option("--claim", help="a claim's id, such as R7; repeat for more")]
Runs = Annotated[list[Path] | None, typer.Option("--run", help="a run's folder; repeat for more; all in results/ else")]


@app.command("plan")
@plainly()
def show_plan(article: Articles = None, claim: Ids = None, run: Runs = None) -> None:
    """Which cells the claims need that no run has, put together into runs, and their time.

    Example: zoo claims plan --article R
    """
    _planned(_Asked.of(article, claim, run))


@app.command("run")
@plainly()
def measure(article: Articles = None, claim: Ids = None, run: Runs = None) -> None:
    """Measure what no run has yet, then judge. What was done is kept: the same command goes on with the rest.

    Example: zoo claims run --article T
    """
    asked = _Asked.of(article, claim, run)
    failed = [command for command in _planned(asked) if not _carry_out(command)]
    _judge(_Asked.of(article, claim, run and [*run, *_newer(asked.runs)]), None)
    for command in failed:
        console.print(f"not all of it was measured: {command}", highlight=False)
    raise typer.Exit(1 if failed else 0)


@app.command("verdict")
@plainly()
def judge(
    article: Articles = None,
    claim: Ids = None,
    run: Runs = None,
    to: Annotated[Path | None, typer.Option(help="where the page is written; results/claims/ without it")] = None,
) -> None:
    """What the runs that are there say of each claim, without measuring.

    Example: zoo claims verdict --article R --run results/reference/claims-hello
    """
    _judge(_Asked.of(article, claim, run), to)


@dataclass(frozen=True)
class _Asked:
    """What a command is about."""

    ledger: Ledger
    claims: list[Claim]
    runs: list[Path]
    catalog: Catalog

    @classmethod
    def of(cls, article: list[str] | None, claim: list[str] | None, run: list[Path] | None) -> _Asked:
        catalog = load_catalog(checkout.ROOT)
        found = ledgers.read(checkout.ROOT, catalog)
        return cls(
            found, found.of(article or (), claim or ()), run or archives.folders(checkout.ROOT / "results"), catalog
        )


def _planned(asked: _Asked) -> list[Command]:
    """The commands that measure what is missing, after they were shown."""
    given, left = archives.read(asked.runs, checkout.ROOT, asked.catalog)
    found, links = needs.missing(asked.claims, given)

    @cache
    def command_of(job: Job) -> Command | None:
        return claim_runs.of(job, asked.catalog, checkout.ROOT)

    def seconds(job: Job) -> float:
        command = command_of(job)
        return command.seconds if command else 0.0

    jobs = needs.jobs(found, links, seconds)
    made: list[Command] = []
    rows: list[list[str]] = []
    for job in jobs:
        command = command_of(job)
        if command is None:
            rows.append([NONE, str(job.cells), " ".join(job.claims), f"no scenario `{job.scenario}` in this harness"])
            continue
        if command in made:
            continue
        made.append(command)
        rows.append([f"{command.seconds / 60:.0f}", f"{job.cells} × {job.rounds}", " ".join(job.claims), str(command)])
    needed = needs.wanted(asked.claims)
    said = f"{len(needed)} cells for {len(asked.claims)} claims, {len(found)} of them in no run; "
    said += f"about {sum(command.seconds for command in made) / 3600:.1f} h."
    table = Table("", ["minutes", "cells × rounds", "for", "run"], rows, text=4)
    terminal.show([Section("What is to be measured", [said, *left], [table] if rows else [])], console)
    return made


def _carry_out(command: Command) -> bool:
    """Whether all of it was measured. Ctrl-C ends the whole command."""
    console.print(f"\n$ {command}", highlight=False)
    code = child_process.run(list(command.words), dict(command.env), checkout.ROOT)
    if code == child_process.INTERRUPTED:
        raise typer.Exit(code)
    return code == 0


def _newer(before: Sequence[Path]) -> list[Path]:
    """Runs that were made since."""
    return [path for path in archives.folders(checkout.ROOT / "results") if path not in before]


def _judge(asked: _Asked, to: Path | None) -> None:
    folder = to or checkout.ROOT / "results" / "claims"
    said, left = ledgers.judged(asked.claims, asked.runs, folder.resolve(), asked.catalog)
    terminal.show(sections(asked.ledger, said), console)
    for why in left:
        console.print(f"left out: {why}", highlight=False)
    console.print(f"\nledger: {ledgers.write(folder, asked.ledger, said)}", highlight=False)
