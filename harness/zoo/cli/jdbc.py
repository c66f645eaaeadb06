"""The `zoo jdbc` commands."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from zoo.catalog.build import program_hash
from zoo.cli import build, checkout, screen
from zoo.cli.checkout import be_alone, warn_of_environment
from zoo.cli.command import ZooCommand, group
from zoo.cli.options import Results, Resume, from_models
from zoo.cli.progress import time_left
from zoo.host import facts
from zoo.host.engine import Engine, EngineError
from zoo.host.interrupts import interruptible
from zoo.host.jdk import find_jdk
from zoo.host.run_metadata import new_run_metadata, now
from zoo.jdbc import plan
from zoo.jdbc.launcher import Launcher, project, recorded
from zoo.jdbc.plan import JdbcWish
from zoo.jdbc.records import PROTOCOL, CellRecord, FloodRecord, JdbcRun, PlanFacts
from zoo.jdbc.services import Containers, Databases, External, Processes
from zoo.jdbc.session import Session
from zoo.jdbc.store import JdbcStore
from zoo.model.errors import BenchError, RuntimeFailure
from zoo.model.host import Jdk
from zoo.plan.blocks import check_unchanged
from zoo.plan.capacity import PlanError
from zoo.reference import reports
from zoo.report.formatting import format_duration, format_number
from zoo.report.text import terminal
from zoo.runtime.databases import DATABASES
from zoo.runtime.toxiproxy import find_toxiproxy

FOLDER = "java-jdbc"
app = group("Database access by executor: java-jdbc (JMH) on PostgreSQL and MariaDB.")
RUNTIMES = {"auto": "process", "process": "process", "container": "container"}

Seed = Annotated[int | None, typer.Option(help="of the order of cells; random and stored without it")]


@app.command("plan", cls=ZooCommand)
@from_models
def show_plan(wish: JdbcWish) -> None:
    """Which cells a database run would measure and how long that takes, without measuring.

    Example: zoo jdbc plan --profile article --database postgresql --pool 10
    """
    console = screen.make()
    planned = _planned(wish, seed=0)
    for each in planned.cells:
        took = plan.cell_seconds(each, planned.profile)
        console.print(f"{each}, {took:.0f} s a round", highlight=False)
    for flood in planned.floods:
        console.print(f"{flood}, {plan.flood_seconds(flood):.0f} s at most", highlight=False)
    _announce(planned, console)


@app.command("bench", cls=ZooCommand)
@from_models
def bench(
    wish: JdbcWish,
    resume: Resume = False,
    seed: Seed = None,
    results: Results = None,
) -> None:
    """Measure database access by executor and write a run below results/.

    Example: zoo jdbc bench --database postgresql --pool 10 --latency wire-10 --profile article
    """
    console = screen.make()
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    runs = results or checkout.ROOT / "results"
    if resume:
        be_alone(runs)
        store = JdbcStore.open(runs / JdbcStore.LATEST)
        store.mend()
        earlier = store.run()
        check_unchanged(earlier.protocol, PROTOCOL, earlier.builds, _builds())
        planned = earlier.plan
        if (planned.runtime == "external") != ("JDBC_URL" in os.environ):
            raise BenchError(f"the run to go on with has databases: {planned.runtime}; set or unset JDBC_URL as it was")
    else:
        planned = _planned(wish, seed=secrets.randbelow(2**31) if seed is None else seed)
        be_alone(runs)
    _announce(planned, console)
    warn_of_environment()
    _have_wire(planned)
    launcher = Launcher(checkout.ROOT / FOLDER, jdk)
    build.build_projects([project(checkout.ROOT / FOLDER, jdk)], console)
    databases = _databases(planned.runtime, console)
    if not resume:
        store = JdbcStore.create(runs, _new_run(planned, jdk))
    _carry_out(store, launcher, databases, console)


@app.command("exec", cls=ZooCommand, context_settings={"ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(help="the command and its arguments, after --")],
    database: Annotated[str, typer.Option(help="postgresql or mariadb")] = "postgresql",
    latency: Annotated[str, typer.Option(help="wire-N: N ms by Toxiproxy, as JDBC_WIRE_URL")] = "none",
    max_connections: Annotated[int, typer.Option(help="that the database allows")] = 100,
    runtime: Annotated[str, typer.Option(envvar="RUNTIME", help="process or container")] = "auto",
) -> None:
    """Start a database, run a command that finds it by JDBC_URL, JDBC_USER and JDBC_PASSWORD, and stop it.

    Example: zoo jdbc exec --latency wire-10 -- java -jar java-jdbc/target/java-jdbc.jar -p latency=wire-10
    """
    if database not in DATABASES:
        raise BenchError(f'--database must be one of {", ".join(DATABASES)}, got "{database}"')
    if not re.fullmatch(r"none|wire-\d{1,4}", latency):
        raise BenchError(f'--latency must be none or wire-N with N in milliseconds, got "{latency}"')
    be_alone(checkout.ROOT / "results")
    where = _databases(_runtime(runtime), screen.make())
    try:
        with interruptible(), where.serving(database, max_connections, latency) as found:
            code = subprocess.run(command, env={**os.environ, **found.env}, check=False).returncode
    except KeyboardInterrupt:
        code = 130
    except RuntimeFailure as error:
        raise BenchError(f"{error.message}\n{error.log_tail}".strip()) from error
    except (EngineError, OSError) as error:
        raise BenchError(f"{error}") from error
    raise typer.Exit(code)


def report(folder: Path, console: Console, *, quiet: bool, svg: Path | None = None) -> None:
    """Write a run's report.md and report.html from its files alone, and show it unless quiet."""
    sections, path = reports.write_jdbc(JdbcStore.open(folder), svg)
    if not quiet:
        terminal.show(sections, console)
        console.print(f"\nreport: {checkout.shown(path)}")


def _runtime(wanted: str) -> str:
    """Where the databases are to be."""
    if wanted not in RUNTIMES:
        raise BenchError(f'RUNTIME must be one of {", ".join(RUNTIMES)}, got "{wanted}"')
    if "JDBC_URL" not in os.environ:
        return RUNTIMES[wanted]
    if wanted == "container":
        raise BenchError("RUNTIME=container starts databases, JDBC_URL names one that is there: leave out one of them")
    return "external"


def _have_wire(planned: PlanFacts) -> None:
    """Latency on the wire is Toxiproxy's: without it an hour's run would find out at its first such cell."""
    late = [cell for cell in planned.cells if cell.latency.startswith("wire")]
    found = "TOXIPROXY_URL" in os.environ or find_toxiproxy(checkout.ROOT / ".tools", os.environ)
    if late and planned.runtime != "container" and not found:
        raise BenchError(
            f"{len(late)} cell(s) have latency on the wire, for which Toxiproxy is missing: make toxiproxy (needs Go), "
            "or name it as TOXIPROXY=/path/to/toxiproxy-server, or leave them out, as with --latency none"
        )


def _databases(runtime: str, console: Console) -> Databases:
    if runtime == "external":
        return External(checkout.ROOT, os.environ)
    if runtime == "process":
        return Processes(checkout.ROOT, os.environ)
    containers = Containers(Engine())
    try:
        with console.status("building the databases' images"):
            containers.build(checkout.ROOT)
    except EngineError as error:
        raise BenchError(f"RUNTIME=container: {error}") from None
    return containers


def _planned(wish: JdbcWish, seed: int) -> PlanFacts:
    """The plan of what was asked for."""
    runtime = _runtime(wish.runtime)
    if runtime != "external":
        return plan.plan_of(wish, seed=seed, runtime=runtime)
    url = os.environ["JDBC_URL"]
    planned = plan.plan_of(wish, seed=seed, runtime=runtime, database=url.removeprefix("jdbc:").partition(":")[0])
    if not (planned.cells or wish.only_floods):
        raise PlanError(f"JDBC_URL must begin with jdbc:postgresql: or jdbc:mariadb:, and a cell be of that: {url}")
    return planned


def _announce(planned: PlanFacts, console: Console) -> None:
    used = planned.profile
    console.print(
        f"{len(planned.cells)} cells × {used.rounds} round(s) and {len(planned.floods)} floods, profile {used.name}, "
        f"databases: {planned.runtime}, about {format_duration(plan.seconds(planned))}",
        highlight=False,
    )
    console.print(f"machine: {facts.cores()}", highlight=False)
    if plan.GIVES_UP[used.name]:
        console.print(plan.GIVES_UP[used.name], highlight=False)


def _new_run(planned: PlanFacts, jdk: Jdk) -> JdbcRun:
    named = new_run_metadata(checkout.ROOT, f"jdbc-{planned.profile.name}")
    given = {FOLDER: recorded(os.environ)}
    host = facts.gather(jdk)
    return JdbcRun(**named, jdk=jdk.version, plan=planned, host=host, builds=_builds(), environment=given)


def _builds() -> dict[str, str]:
    return {FOLDER: program_hash(checkout.ROOT, FOLDER)}


def _carry_out(store: JdbcStore, launcher: Launcher, databases: Databases, console: Console) -> None:
    console.print(f"run: {checkout.shown(store.folder)} (Ctrl-C keeps what is done)", highlight=False)
    try:
        with interruptible():
            Session(launcher, databases, store, _teller(store, console)).run()
    except KeyboardInterrupt:
        report(store.folder, console, quiet=True)
        console.print("\ninterrupted; what is done is kept. Go on with: make bench-jdbc RESUME=1")
        raise typer.Exit(130) from None
    store.write_run(store.run().model_copy(update={"finished_at": now()}))
    report(store.folder, console, quiet=False)
    failed = sum(record.failure is not None for record in store.records())
    if failed:
        console.print(f"{failed} cell(s) failed; see the report and the logs in {checkout.shown(store.raw)}")
        raise typer.Exit(1)


def _teller(store: JdbcStore, console: Console) -> Callable[[CellRecord | FloodRecord], None]:
    """Prints each record with the time that is left, by the plan."""
    planned = store.run().plan
    left = plan.seconds(planned) - sum(_seconds(record, planned) for record in store.records())

    def told(record: CellRecord | FloodRecord) -> None:
        nonlocal left
        left -= _seconds(record, planned)
        said = f"{line(record)}{time_left(left)}"
        console.print(escape(said), highlight=False)

    return told


def _seconds(record: CellRecord | FloodRecord, planned: PlanFacts) -> float:
    if isinstance(record, FloodRecord):
        return plan.flood_seconds(record.flood)
    return plan.cell_seconds(record.cell, planned.profile)


def line(record: CellRecord | FloodRecord) -> str:
    """One finished cell or flood in one line."""
    if isinstance(record, FloodRecord):
        where, seen = str(record.flood), record.result
        told = (
            f"{seen.outcome}, {format_number(seen.peak_rss_kb / 1024)} MB, {seen.peak_threads:,} threads"
            if seen
            else ""
        )
    else:
        where, got = f"round {record.round}  {record.cell}", record.measurement
        told = f"{format_number(got.ops_per_s)} ops/s{_bound(got.bound_ops_per_s)}" if got else ""
    return f"{where}  FAILED: {record.failure.text}" if record.failure else f"{where}  {told}"


def _bound(ops_per_s: float | None) -> str:
    return "" if ops_per_s is None else f" (bound {format_number(ops_per_s)})"
