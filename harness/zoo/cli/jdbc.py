"""The `zoo jdbc` commands."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from zoo.cli import checkout, prepare
from zoo.cli.checkout import acquire_run_lock, warn_of_environment
from zoo.cli.command import ZooCommand, group
from zoo.cli.display import console, display
from zoo.cli.options import Results, Resume, from_models
from zoo.cli.report import show_report
from zoo.core.blocks import check_unchanged
from zoo.core.capacity import PlanError
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.host_facts import Jdk
from zoo.core.interrupts import interruptible
from zoo.core.jdbc import FLOOD, JDBC, PROGRAM, PROTOCOL, JdbcCell, plan_subjects, record_subject
from zoo.core.manifest_files import load_catalog
from zoo.core.record import Record, newest_records
from zoo.core.run import PlanFacts, Run
from zoo.core.run_folder import Store
from zoo.host import facts
from zoo.host.build import program_hash
from zoo.host.engine import Engine, EngineError
from zoo.host.jdk import find_jdk
from zoo.host.run_metadata import new_run_metadata, now
from zoo.report.formatting import format_count, format_duration
from zoo.runtime.databases import DATABASES
from zoo.runtime.toxiproxy import find_toxiproxy
from zoo.scenarios.jdbc import spec as plan
from zoo.scenarios.jdbc.launcher import Launcher, project, recorded_environment
from zoo.scenarios.jdbc.services import Containers, Databases, External, Processes
from zoo.scenarios.jdbc.spec import JdbcOptions
from zoo.scenarios.jdbc.trial import JdbcSession

LATEST = "latest-jdbc"
"""The name of the link to the newest database run."""

app = group("Measure database access by executor, on PostgreSQL and MariaDB.")
RUNTIMES = {"auto": "process", "process": "process", "container": "container"}

Seed = Annotated[
    int | None, typer.Option(help="seed for the order of the cells; by default random, and stored in the run")
]


@app.command("plan", cls=ZooCommand)
@from_models
def show_plan(wish: JdbcOptions) -> None:
    """Print the cells and the duration of a database run without measuring.

    Examples:
        zoo jdbc plan --profile article --database postgresql --pool 10,100
    """
    planned = _make_plan(wish, seed=0)
    profile = plan.profile_of(planned)
    for one in plan_subjects(planned):
        how_often = "a round" if isinstance(one, JdbcCell) else "at most"
        console.print(f"{one}, {plan.seconds_of(one, profile):.0f} s {how_often}", highlight=False)
    _announce(planned, console)


@app.command("bench", cls=ZooCommand)
@from_models
def bench(
    wish: JdbcOptions,
    resume: Resume = False,
    seed: Seed = None,
    results: Results = None,
) -> None:
    """Measure database access by executor and write a run below results/.

    Examples:
        zoo jdbc bench --database postgresql --pool 10 --latency wire-10 --profile article
        zoo jdbc bench --resume
    """
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    runs = results or checkout.ROOT / "results"
    if resume:
        acquire_run_lock(runs)
        store = Store.open(runs / LATEST)
        store.truncate_incomplete_record()
        earlier = store.run()
        check_unchanged(earlier.protocol, PROTOCOL, earlier.builds, _source_hashes())
        planned = earlier.plan
        where = planned.condition.runtime
        if (where == "external") != ("JDBC_URL" in os.environ):
            fix = "set" if where == "external" else "unset"
            raise BenchError(f"this run cannot continue with other databases than before ({where}); {fix} JDBC_URL")
    else:
        planned = _make_plan(wish, seed=secrets.randbelow(2**31) if seed is None else seed, jdk=jdk.version)
        acquire_run_lock(runs)
    _announce(planned, console)
    warn_of_environment()
    _require_toxiproxy(planned)
    launcher = Launcher(checkout.ROOT / PROGRAM, jdk)
    prepare.build_projects([project(checkout.ROOT / PROGRAM, jdk)], display)
    databases = _choose_databases(planned.condition.runtime)
    if not resume:
        store = Store.create(runs, _new_run(planned, jdk), LATEST)
    _measure_and_report(store, launcher, databases, console)


@app.command("exec", cls=ZooCommand, context_settings={"ignore_unknown_options": True})
def execute(
    command: Annotated[list[str], typer.Argument(help="command and its arguments, after --")],
    database: Annotated[str, typer.Option(help="database to start: postgresql or mariadb")] = "postgresql",
    latency: Annotated[str, typer.Option(help="wire-N adds N ms with Toxiproxy, at JDBC_WIRE_URL")] = "none",
    max_connections: Annotated[int, typer.Option(help="maximum number of connections to the database")] = 100,
    runtime: Annotated[
        str, typer.Option(envvar="RUNTIME", help="where the database runs: process or container")
    ] = "auto",
) -> None:
    """Start a database, run a command with JDBC_URL, JDBC_USER and JDBC_PASSWORD set, and stop the database.

    Examples:
        zoo jdbc exec --latency wire-10 -- java -jar java-jdbc/target/java-jdbc.jar -p latency=wire-10
    """
    if database not in DATABASES:
        raise BenchError(f'--database must be one of {", ".join(DATABASES)}, got "{database}"')
    if not re.fullmatch(r"none|wire-\d{1,4}", latency):
        raise BenchError(f'--latency must be none or wire-N with N in milliseconds, got "{latency}"')
    acquire_run_lock(checkout.ROOT / "results")
    where = _choose_databases(_runtime(runtime))
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


def _runtime(wanted: str) -> str:
    """Return where the databases run: as processes, in containers, or on the external server of JDBC_URL."""
    if wanted not in RUNTIMES:
        raise BenchError(f'RUNTIME must be one of {", ".join(RUNTIMES)}, got "{wanted}"')
    if "JDBC_URL" not in os.environ:
        return RUNTIMES[wanted]
    if wanted == "container":
        raise BenchError(
            "RUNTIME=container and JDBC_URL exclude each other: one starts databases, one names one; unset one"
        )
    return "external"


def _require_toxiproxy(planned: PlanFacts) -> None:
    """Raise `BenchError` if the plan has network latency and Toxiproxy is missing.

    Otherwise a long run would fail only at its first such cell.
    """
    delayed = [one for one in plan_subjects(planned) if isinstance(one, JdbcCell) and one.latency.startswith("wire")]
    found = "TOXIPROXY_URL" in os.environ or find_toxiproxy(checkout.ROOT / ".tools", os.environ)
    if delayed and planned.condition.runtime != "container" and not found:
        raise BenchError(
            f"cells with network latency ({len(delayed)}) need Toxiproxy, and it is missing: run make toxiproxy (needs "
            "Go), set TOXIPROXY=/path/to/toxiproxy-server, or leave these cells out with --latency none"
        )


def _choose_databases(runtime: str) -> Databases:
    if runtime == "external":
        return External(checkout.ROOT, os.environ)
    if runtime == "process":
        return Processes(checkout.ROOT, os.environ)
    containers = Containers(Engine())
    try:
        with display.status("building the databases' images"):
            containers.build(checkout.ROOT)
    except EngineError as error:
        raise BenchError(f"RUNTIME=container: {error}") from None
    return containers


def _make_plan(wish: JdbcOptions, seed: int, jdk: str | None = None) -> PlanFacts:
    """Return the plan for these options."""
    runtime = _runtime(wish.runtime)
    if runtime != "external":
        return plan.make_plan(wish, seed=seed, runtime=runtime, jdk=jdk)
    url = os.environ["JDBC_URL"]
    database = url.removeprefix("jdbc:").partition(":")[0]
    planned = plan.make_plan(wish, seed=seed, runtime=runtime, database=database, jdk=jdk)
    if not (JDBC in planned.scenarios or wish.only_floods):
        raise PlanError(
            f"no cell can be measured at JDBC_URL={url}: it must begin with jdbc:postgresql: or jdbc:mariadb:, and the "
            "selected cells must include that database"
        )
    return planned


def _announce(planned: PlanFacts, console: Console) -> None:
    profile, cells = plan.profile_of(planned), plan_subjects(planned)
    floods = sum(one.scenario == FLOOD for one in cells)
    console.print(
        f"{format_count(len(cells) - floods, 'cell')} × {format_count(profile.rounds, 'round')} "
        f"and {format_count(floods, 'flood')}, profile {profile.name}, "
        f"databases: {planned.condition.runtime}, about {format_duration(plan.seconds(planned))}",
        highlight=False,
    )
    console.print(f"machine: {facts.describe_cores()}", highlight=False)
    if plan.OMISSIONS[profile.name]:
        console.print(plan.OMISSIONS[profile.name], highlight=False)


def _new_run(planned: PlanFacts, jdk: Jdk) -> Run:
    metadata = new_run_metadata(checkout.ROOT, f"jdbc-{plan.profile_of(planned).name}")
    environment = {PROGRAM: recorded_environment(os.environ)}
    host = facts.gather(jdk)
    return Run(**metadata, protocol=PROTOCOL, plan=planned, host=host, builds=_source_hashes(), environment=environment)


def _source_hashes() -> dict[str, str]:
    return {PROGRAM: program_hash(checkout.ROOT, PROGRAM)}


def _measure_and_report(store: Store, launcher: Launcher, databases: Databases, console: Console) -> None:
    catalog = load_catalog(checkout.ROOT)
    console.print(f"run: {checkout.format_path(store.folder)} (Ctrl-C keeps finished cells)", highlight=False)
    try:
        with interruptible() as raise_if_interrupted:
            _measure(store, launcher, databases, raise_if_interrupted)
    except KeyboardInterrupt:
        show_report(store, catalog, quiet=True)
        console.print("\ninterrupted; finished cells are kept. Continue with: make bench-jdbc RESUME=1")
        raise typer.Exit(130) from None
    store.write_run(store.run().model_copy(update={"finished_at": now()}))
    show_report(store, catalog, quiet=False)
    failed = sum(record.failure is not None for record in newest_records(store.records()))
    if failed:
        logs = checkout.format_path(store.raw)
        console.print(f"{format_count(failed, 'cell')} failed; see the report and the logs in {logs}")
        raise typer.Exit(1)


def _measure(store: Store, launcher: Launcher, databases: Databases, raise_if_interrupted: Callable[[], None]) -> None:
    """Measure the cells that the run lacks, and show each record with the time left according to the plan."""
    planned = store.run().plan
    profile = plan.profile_of(planned)
    done = [record for record in newest_records(store.records()) if record.failure is None]
    left_s = plan.seconds(planned) - sum(plan.seconds_of(record_subject(record), profile) for record in done)
    done_s = 0.0

    def show_record(record: Record) -> None:
        nonlocal done_s
        done_s += plan.seconds_of(record_subject(record), profile)
        display.reached(done_s)
        display.finished(format_record(record))
        raise_if_interrupted()

    with display.progress(left_s, planned.cells - len(done)):
        JdbcSession(launcher, databases, store, show_record, display).run()


def format_record(record: Record) -> str:
    """Format a finished cell or flood as one line."""
    where = (
        str(record_subject(record)) if record.scenario == FLOOD else f"round {record.round}  {record_subject(record)}"
    )
    if record.failure:
        return f"{where}  FAILED: {record.failure.text}"
    return f"{where}  {record.trial.result.summary if record.trial else ''}"
