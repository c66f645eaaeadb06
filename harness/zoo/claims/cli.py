"""The `zoo claims` commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from zoo import baseline, child, ledgers, plan
from zoo import bench as benches
from zoo.bench import Wish
from zoo.catalog import Catalog, CatalogError, load_catalog
from zoo.claims import archives, needs
from zoo.claims.ledger import Claim, Ledger, LedgerError
from zoo.claims.needs import Job
from zoo.conditions import PASSED_ON, BenchError, condition_of
from zoo.host.jdk import JdkError
from zoo.jdbc import plan as databases
from zoo.jdbc.plan import Choice
from zoo.plainly import plainly
from zoo.plan import PlanError
from zoo.report import terminal
from zoo.report.claims import sections
from zoo.report.model import NONE, Section, Table
from zoo.scenario import SCENARIOS
from zoo.store import StoreError

ROOT = Path(__file__).resolve().parents[3]
FAULTS = (LedgerError, CatalogError, PlanError, BenchError, JdkError, StoreError)

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Which published claims hold on this machine.")
console = Console()

Articles = Annotated[list[str] | None, typer.Option("--article", help="an article's letter; repeat for more")]
Ids = Annotated[list[str] | None, typer.Option("--claim", help="a claim's id, such as R7; repeat for more")]
Runs = Annotated[list[Path] | None, typer.Option("--run", help="a run's folder; repeat for more; all in results/ else")]


@dataclass(frozen=True)
class Program:
    """A command that measures all cells of scenarios that are no load on a server, and its time in seconds."""

    words: list[str]
    seconds: Callable[[], float]


DATABASES = Program(
    ["jdbc", "bench", "--profile", "medium"], lambda: databases.seconds(databases.planned(Choice(), "medium"))
)
"""The shortest that warms up for as long as `archives` demands, and has all floods."""

PROGRAMS = {"jvm": Program(["jvm"], baseline.seconds), "jdbc": DATABASES, "jdbc-flood": DATABASES}


@app.command("plan")
def show_plan(article: Articles = None, claim: Ids = None, run: Runs = None) -> None:
    """Which cells the claims need that no run has, put together into runs, and their time.

    Example: zoo claims plan --article R
    """
    with plainly(FAULTS):
        _planned(_Asked.of(article, claim, run))


@app.command("run")
def measure(article: Articles = None, claim: Ids = None, run: Runs = None) -> None:
    """Measure what no run has yet, then judge. What was done is kept: the same command goes on with the rest.

    Example: zoo claims run --article T
    """
    with plainly(FAULTS):
        asked = _Asked.of(article, claim, run)
        failed = [command for command in _planned(asked) if not _carry_out(*command)]
        _judge(_Asked.of(article, claim, run and [*run, *_newer(asked.runs)]), None)
        for command in failed:
            console.print(f"not all of it was measured: {_shown(*command)}", highlight=False)
        raise typer.Exit(1 if failed else 0)


@app.command("verdict")
def judge(
    article: Articles = None,
    claim: Ids = None,
    run: Runs = None,
    to: Annotated[Path | None, typer.Option(help="where the page is written; results/claims/ without it")] = None,
) -> None:
    """What the runs that are there say of each claim, without measuring.

    Example: zoo claims verdict --article R --run results/reference/claims-hello
    """
    with plainly(FAULTS):
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
        catalog = load_catalog(ROOT)
        found = ledgers.read(ROOT, catalog)
        return cls(found, found.of(article or (), claim or ()), run or archives.folders(ROOT / "results"), catalog)


def _planned(asked: _Asked) -> list[tuple[dict[str, str], list[str]]]:
    """The commands that measure what is missing, after they were shown."""
    given, left = archives.read(asked.runs, ROOT, asked.catalog.reference_id)
    found, links = needs.missing(asked.claims, given)
    jobs = needs.jobs(found, links)
    commands: list[tuple[dict[str, str], list[str]]] = []
    rows: list[list[str]] = []
    total = 0.0
    for job in jobs:
        made = _command(job)
        if made is None:
            rows.append([NONE, str(job.cells), " ".join(job.claims), f"no scenario `{job.scenario}` in this harness"])
            continue
        if made in commands:
            continue
        seconds = _seconds(job, asked.catalog)
        total += seconds
        commands.append(made)
        rows.append([f"{seconds / 60:.0f}", f"{job.cells} × {job.rounds}", " ".join(job.claims), _shown(*made)])
    needed = needs.wanted(asked.claims)
    said = f"{len(needed)} cells for {len(asked.claims)} claims, {len(found)} of them in no run; "
    said += f"about {total / 3600:.1f} h."
    table = Table("", ["minutes", "cells × rounds", "for", "run"], rows, text=4)
    terminal.show([Section("What is to be measured", [said, *left], [table] if rows else [])], console)
    return commands


def _command(job: Job) -> tuple[dict[str, str], list[str]] | None:
    """Environment and words of `zoo`; None where this harness cannot measure it."""
    if job.scenario in PROGRAMS:
        return {}, PROGRAMS[job.scenario].words
    if job.scenario not in SCENARIOS:
        return None
    env, words = job.words(PASSED_ON, aa=SCENARIOS[job.scenario].settle)
    return env, ["bench", *words]


def _seconds(job: Job, catalog: Catalog) -> float:
    if job.scenario in PROGRAMS:
        return PROGRAMS[job.scenario].seconds()
    aa = SCENARIOS[job.scenario].settle
    wish = Wish(
        variants=job.entries,
        scenarios=[job.scenario],
        cases=list(filter(None, job.cases)),
        tiers=job.tiers,
        rounds=job.rounds,
        duration_s=job.duration,
        aa=aa,
    )
    env, _ = job.words(PASSED_ON, aa=aa)
    vary = [] if env.keys() - {"JDK"} else [name for name in job.vary if name]
    condition = condition_of("process", catalog.select(variants=wish.variants), ROOT)
    planned = benches.plan_of(wish, catalog, condition, dict.fromkeys(vary, condition))
    return benches.seconds(plan.blocks_of(planned), plan.profile_of(planned), catalog)


def _carry_out(env: dict[str, str], words: list[str]) -> bool:
    """Whether all of it was measured. Ctrl-C ends the whole command."""
    console.print(f"\n$ {_shown(env, words)}", highlight=False)
    code = child.run(words, env, ROOT)
    if code == child.INTERRUPTED:
        raise typer.Exit(code)
    return code == 0


def _newer(before: Sequence[Path]) -> list[Path]:
    """Runs that were made since."""
    return [path for path in archives.folders(ROOT / "results") if path not in before]


def _judge(asked: _Asked, to: Path | None) -> None:
    folder = to or ROOT / "results" / "claims"
    said, left = ledgers.judged(asked.claims, asked.runs, folder.resolve(), asked.catalog)
    terminal.show(sections(asked.ledger, said), console)
    for why in left:
        console.print(f"left out: {why}", highlight=False)
    console.print(f"\nledger: {ledgers.write(folder, asked.ledger, said)}", highlight=False)


def _shown(env: dict[str, str], words: Sequence[str]) -> str:
    setting = "".join(f"{name}={value} " for name, value in env.items())
    return f"{setting}zoo {' '.join(words)}"
