"""The `zoo jdbc` commands."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from zoo import __version__
from zoo.bench import be_alone, interruptible, revision
from zoo.conditions import BenchError
from zoo.host import facts
from zoo.host.engine import Engine, EngineError
from zoo.host.jdk import Jdk, find_jdk
from zoo.jdbc import plan
from zoo.jdbc.launcher import Launcher
from zoo.jdbc.plan import Choice
from zoo.jdbc.records import CellRecord, FloodRecord, JdbcRun, PlanFacts, Profile
from zoo.jdbc.services import Containers, Databases, Embedded
from zoo.jdbc.session import Session
from zoo.jdbc.store import JdbcStore
from zoo.plan import PlanError
from zoo.report import terminal

ROOT = Path(__file__).resolve().parents[3]
FOLDER = "java-jdbc"
RUNTIMES = {"auto": "process", "process": "process", "container": "container"}

Names = Annotated[list[str] | None, typer.Option(help="of all cells only these; repeat for more")]
Numbers = Annotated[list[int] | None, typer.Option(help="of all cells only these; repeat for more")]
Cells = Annotated[list[str] | None, typer.Option(help="one cell, as `zoo jdbc plan` prints it; repeat for more")]
Length = Annotated[str, typer.Option(help=f"{', '.join(plan.PROFILES)}: which cells, and how long each is measured")]
Rounds = Annotated[int | None, typer.Option(min=1, help="how often every cell is measured")]
Floods = Annotated[bool, typer.Option(help="5,000 to 50,000 tasks at once on executors without a bound")]
OnlyFloods = Annotated[bool, typer.Option("--only-floods", help="the profile's floods and no cell")]
Seed = Annotated[int | None, typer.Option(help="of the order of cells; random and stored without it")]
Hosting = Annotated[
    str, typer.Option(envvar="RUNTIME", help="process: databases of its own; container: those of the compose file")
]


def show_plan(
    profile: Length = plan.DEFAULT,
    rounds: Rounds = None,
    database: Names = None,
    executor: Names = None,
    query: Names = None,
    pool: Numbers = None,
    latency: Names = None,
    cell: Cells = None,
    floods: Floods = True,
    only_floods: OnlyFloods = False,
    runtime: Hosting = "auto",
) -> None:
    """Which cells a database run would measure and how long that takes, without measuring.

    Example: zoo jdbc plan --profile article --database postgresql --pool 10
    """
    console = Console()
    choice = None if only_floods else Choice(database, executor, query, pool, latency, cell)
    planned = _planned(choice, plan.profile(profile, rounds), _runtime(runtime), floods=floods, seed=0)
    for each in planned.cells:
        took = plan.cell_seconds(each, planned.profile)
        console.print(f"{each}, {took:.0f} s a round", highlight=False, soft_wrap=True)
    for flood in planned.floods:
        console.print(f"{flood}, {plan.flood_seconds(flood):.0f} s at most", highlight=False, soft_wrap=True)
    _announce(planned, console)


def bench(
    profile: Length = plan.DEFAULT,
    rounds: Rounds = None,
    database: Names = None,
    executor: Names = None,
    query: Names = None,
    pool: Numbers = None,
    latency: Names = None,
    cell: Cells = None,
    floods: Floods = True,
    only_floods: OnlyFloods = False,
    runtime: Hosting = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="go on with the newest run that was interrupted")] = False,
    seed: Seed = None,
    results: Annotated[Path | None, typer.Option(help="where runs are written; results/ without it")] = None,
) -> None:
    """Measure database access by executor and write a run below results/.

    Example: zoo jdbc bench --database postgresql --pool 10 --latency wire-10 --profile article
    """
    console = Console()
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    runs = results or ROOT / "results"
    if resume:
        be_alone(ROOT)
        store = JdbcStore.open(runs / JdbcStore.LATEST)
        store.mend()
        planned = store.run().plan
        if (planned.runtime == "external") != ("JDBC_URL" in os.environ):
            raise BenchError(f"the run to go on with has databases: {planned.runtime}; set or unset JDBC_URL as it was")
    else:
        choice = None if only_floods else Choice(database, executor, query, pool, latency, cell)
        planned = _planned(choice, plan.profile(profile, rounds), _runtime(runtime), floods=floods, seed=seed)
        be_alone(ROOT)
    _announce(planned, console)
    launcher = Launcher(ROOT / FOLDER, jdk)
    if not launcher.is_built():
        with console.status(f"building {FOLDER} and testing its queries on both databases"):
            launcher.build()
        console.print(f"built {FOLDER}; its queries are right on both databases")
    databases = _databases(planned.runtime, console)
    if not resume:
        store = JdbcStore.create(runs, _new_run(planned, jdk))
    _carry_out(store, launcher, databases, console)


def report(folder: Path, console: Console, *, quiet: bool, svg: Path | None = None) -> None:
    """Write a run's report.md and report.html from its files alone, and show it unless quiet."""
    from zoo.jdbc import reports  # noqa: PLC0415 (its charts take half a second to import)

    sections, path = reports.write(JdbcStore.open(folder), svg)
    if not quiet:
        terminal.show(sections, console)
        console.print(f"\nreport: {_shown(path)}")


def _runtime(wanted: str) -> str:
    """Where the databases are to be."""
    if wanted not in RUNTIMES:
        raise BenchError(f'RUNTIME must be one of {", ".join(RUNTIMES)}, got "{wanted}"')
    if "JDBC_URL" not in os.environ:
        return RUNTIMES[wanted]
    if wanted == "container":
        raise BenchError("RUNTIME=container starts databases, JDBC_URL names one that is there: leave out one of them")
    return "external"


def _databases(runtime: str, console: Console) -> Databases:
    if runtime != "container":
        return Embedded()
    containers = Containers(Engine())
    try:
        with console.status("building the databases' images"):
            containers.build(ROOT)
    except EngineError as error:
        raise BenchError(f"RUNTIME=container: {error}") from None
    return containers


def _planned(choice: Choice | None, profile: Profile, runtime: str, *, floods: bool, seed: int | None) -> PlanFacts:
    """Without a choice floods alone."""
    cells = plan.chosen(profile.name, choice) if choice else []
    database = "postgresql"
    if runtime == "external":
        url = os.environ["JDBC_URL"]
        database = url.removeprefix("jdbc:").partition(":")[0]
        cells = plan.on_another_server(cells, database)
        if choice and not cells:
            raise PlanError(f"JDBC_URL must begin with jdbc:postgresql: or jdbc:mariadb:, and a cell be of that: {url}")
    return PlanFacts(
        cells=cells,
        floods=plan.floods(profile.name, database) if floods and not (choice and choice.is_made) else [],
        profile=profile,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        runtime=runtime,
    )


def _announce(planned: PlanFacts, console: Console) -> None:
    used = planned.profile
    console.print(
        f"{len(planned.cells)} cells × {used.rounds} round(s) and {len(planned.floods)} floods, profile {used.name}, "
        f"databases: {planned.runtime}, about {plan.seconds(planned) / 60:.0f} min",
        highlight=False,
        soft_wrap=True,
    )
    if plan.GIVES_UP[used.name]:
        console.print(plan.GIVES_UP[used.name], soft_wrap=True, highlight=False)


def _new_run(planned: PlanFacts, jdk: Jdk) -> JdbcRun:
    now = datetime.now(UTC)
    commit, dirty = revision(ROOT)
    return JdbcRun(
        id=f"{now:%Y%m%d-%H%M%S}-jdbc-{planned.profile.name}",
        started_at=now.isoformat(timespec="seconds"),
        commit=commit,
        dirty=dirty,
        harness=__version__,
        jdk=jdk.version,
        plan=planned,
        host=facts.gather(jdk),
    )


def _carry_out(store: JdbcStore, launcher: Launcher, databases: Databases, console: Console) -> None:
    console.print(f"run: {_shown(store.folder)} (Ctrl-C keeps what is done)", highlight=False)
    try:
        with interruptible():
            Session(launcher, databases, store, _teller(store, console)).run()
    except KeyboardInterrupt:
        report(store.folder, console, quiet=True)
        console.print("\ninterrupted; what is done is kept. Go on with: make bench-jdbc RESUME=1")
        raise typer.Exit(130) from None
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    store.write_run(store.run().model_copy(update={"finished_at": finished}))
    report(store.folder, console, quiet=False)
    failed = sum(record.failure is not None for record in store.records())
    if failed:
        console.print(f"{failed} cell(s) failed; see the report and the logs in {_shown(store.raw)}")
        raise typer.Exit(1)


def _teller(store: JdbcStore, console: Console) -> Callable[[CellRecord | FloodRecord], None]:
    """Prints each record with the time that is left, by the plan."""
    planned = store.run().plan
    left = plan.seconds(planned) - sum(_seconds(record, planned) for record in store.records())

    def told(record: CellRecord | FloodRecord) -> None:
        nonlocal left
        left -= _seconds(record, planned)
        said = f"{line(record)} · about {max(0.0, left) / 60:.0f} min left"
        console.print(escape(said), highlight=False, soft_wrap=True)

    return told


def _seconds(record: CellRecord | FloodRecord, planned: PlanFacts) -> float:
    if isinstance(record, FloodRecord):
        return plan.flood_seconds(record.flood)
    return plan.cell_seconds(record.cell, planned.profile)


def line(record: CellRecord | FloodRecord) -> str:
    """One finished cell or flood in one line."""
    if isinstance(record, FloodRecord):
        where, seen = str(record.flood), record.result
        told = f"{seen.outcome}, {seen.peak_rss_kb / 1024:,.0f} MB, {seen.peak_threads:,} threads" if seen else ""
    else:
        where, got = f"round {record.round}  {record.cell}", record.measurement
        told = f"{got.ops_per_s:,.0f} ops/s{_bound(got.bound_ops_per_s)}" if got else ""
    return f"{where}  FAILED: {record.failure.text}" if record.failure else f"{where}  {told}"


def _bound(ops_per_s: float | None) -> str:
    return "" if ops_per_s is None else f" (bound {ops_per_s:,.0f})"


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
