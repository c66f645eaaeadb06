"""The `zoo` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from zoo import baseline, batch, conditions, documents, hosting, inquiries, jvmrun, options, pilot, plan, runs
from zoo import bench as benches
from zoo import matrix as matrices
from zoo.announced import announcement
from zoo.batch import Planned
from zoo.bench import Wish
from zoo.build import BuildError
from zoo.catalog import Catalog, CatalogError, load_catalog
from zoo.claims import cli as claims
from zoo.claims.ledger import LedgerError
from zoo.conditions import BenchError
from zoo.export import Keyed, to_csv
from zoo.feasible import ConditionError
from zoo.host import doctor as doctors
from zoo.host import facts, namespace
from zoo.host.jdk import JdkError, find_jdk
from zoo.host.limits import Limits
from zoo.jdbc import cli as databases
from zoo.jdbc.store import JdbcStore, is_jdbc
from zoo.load.base import LoadError
from zoo.matrix import MatrixError
from zoo.options import (
    Cases,
    Duration,
    Hosting,
    HowSet,
    Pids,
    Quick,
    Remote,
    Results,
    Rounds,
    Scenarios,
    Seed,
    Servers,
    Tiers,
    TwiceARound,
    Urls,
    Variants,
    Vary,
    WarmUp,
)
from zoo.plainly import plainly
from zoo.plan import PlanError
from zoo.records import Condition, PlanFacts, Target
from zoo.report import terminal
from zoo.runtime import target as targeting
from zoo.store import Store, StoreError
from zoo.targets import TargetError
from zoo.vm import qemu

ROOT = Path(__file__).resolve().parents[2]
FAULTS = (
    *(documents.DocumentError, CatalogError, ConditionError, PlanError, TargetError, BenchError),
    *(BuildError, JdkError, StoreError, LoadError, LedgerError, MatrixError),
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Finds out what a thread model is worth on this machine: starts servers, loads them with wrk, reports.",
)
app.add_typer(claims.app, name="claims")
console = Console()


@app.command("list")
def list_entries() -> None:
    """The entries of the zoo."""
    with plainly(FAULTS):
        table = Table(header_style="bold")
        for column in ("entry", "model", "port", "what it is"):
            table.add_column(column, overflow="fold")
        for entry in _catalog().entries:
            port = str(entry.server.manifest.port)
            table.add_row(entry.id, entry.variant.model, port, entry.variant.summary)
        console.print(table)


@app.command()
def doctor() -> None:
    """What this machine allows, tier by tier, and what would mend it. Changes nothing."""
    try:
        jdk = find_jdk()
    except JdkError:
        jdk = None
    here, lacking = facts.gather(jdk), qemu.missing()
    guest = doctors.virtual_host(here, lacking, None if lacking else qemu.version(), qemu.has_device())
    found = [*doctors.checks(here), guest]
    doctors.show(found, console)
    raise typer.Exit(1 if doctors.worst(found) == "bad" else 0)


@app.command()
def build(server: Servers = None) -> None:
    """Build servers whose sources changed."""
    with plainly(FAULTS):
        entries = _catalog().select(server or ())
        condition = conditions.condition_of("process", entries, ROOT)
        benches.build_all(benches.built_here(entries, [condition]), conditions.jdk_for(entries), console)


@app.command("plan")
def show_plan(
    server: Servers = None,
    variant: Variants = None,
    scenario: Scenarios = None,
    case: Cases = None,
    tiers: Tiers = None,
    rounds: Rounds = None,
    duration: Duration = None,
    warmup: WarmUp = None,
    quick: Quick = False,
    seed: Seed = None,
    runtime: Hosting = "auto",
    aa: TwiceARound = None,
    design: HowSet = None,
    vary: Vary = None,
    target: Urls = None,
    pid: Pids = None,
    precision: Annotated[
        str | None, typer.Option(help="say how many rounds this half-width costs, such as 3%, from a pilot run")
    ] = None,
    pilot_run: Annotated[Path | None, typer.Option("--pilot", help="a run's folder; the newest without it")] = None,
) -> None:
    """Which cells a bench would measure and how long that takes, without measuring.

    Example: zoo plan --server java-tomcat --scenario sleep --tiers 1k --rounds 5

    Example: zoo plan --precision 3% --pilot results/latest
    """
    with plainly(FAULTS):
        catalog = _catalog()
        if precision is not None:
            folder = pilot_run or ROOT / "results" / "latest"
            terminal.show(inquiries.precision(pilot.half_width(precision), folder, catalog), console)
            return
        wish = options.wish(
            server, variant, scenario, case, tiers, rounds, duration, warmup, quick, seed, aa, design, target, pid
        )
        condition, variations = _conditions(wish, catalog, runtime, vary)
        _announce(benches.plan_of(wish, catalog, condition, variations), catalog)


@app.command()
def bench(
    server: Servers = None,
    variant: Variants = None,
    scenario: Scenarios = None,
    case: Cases = None,
    tiers: Tiers = None,
    rounds: Rounds = None,
    duration: Duration = None,
    warmup: WarmUp = None,
    quick: Quick = False,
    seed: Seed = None,
    aa: TwiceARound = None,
    design: HowSet = None,
    vary: Vary = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the newest run that was interrupted")] = False,
    strict_tiers: Annotated[
        bool, typer.Option("--strict-tiers", help="refuse a tier that this host cannot hold, instead of clamping it")
    ] = False,
    results: Results = None,
    runtime: Hosting = "auto",
    target: Urls = None,
    pid: Pids = None,
    remote: Remote = False,
) -> None:
    """Measure entries, or a server that already runs, and write a run below results/.

    Example: zoo bench --server java-tomcat --variant platform --variant virtual --scenario hello --tiers 100,1k

    Example: zoo bench --target http://127.0.0.1:9000/ --pid 4711 --server rust-axum --variant hyper --tiers 100
    """
    with plainly(FAULTS):
        catalog = _catalog()
        runs = results or ROOT / "results"
        if resume:
            benches.be_alone(ROOT)
            store = Store.open(runs / "latest")
            store.mend()
            planned = store.run().plan
            condition, variations = planned.condition, planned.variations
            entries = benches.entries_of(planned, catalog)
            targeting.check(planned.targets, planned.scenarios, remote=True)
        else:
            wish = options.wish(
                server, variant, scenario, case, tiers, rounds, duration, warmup, quick, seed, aa, design, target, pid
            )
            condition, variations = _conditions(wish, catalog, runtime, vary)
            entries = benches.chosen(wish, catalog)
            planned = benches.plan_of(wish, catalog, condition, variations)
            targeting.check(planned.targets, planned.scenarios, remote=remote)
            run = benches.new_run(ROOT, wish, planned, facts.gather())
            for one in {c.runtime: c for c in (condition, *variations.values())}.values():
                _refuse_clamped(planned, hosting.limits_for(ROOT, one, run.host), strict_tiers)
            benches.be_alone(ROOT)
        built = benches.built_here(entries, [condition, *variations.values()])
        if built:
            benches.build_all(built, conditions.jdk_for(entries), console)
        if not resume:
            store = Store.create(runs, run)
        _enter(store, catalog)


@app.command()
def matrix(
    server: Annotated[str, typer.Argument(help="a server whose folder has a matrix.toml")],
    part: Annotated[list[str] | None, typer.Option(help="only this part of it; repeat for more")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="instead of each part's own")] = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="only say what would be measured, and how long")] = False,
    results: Annotated[Path | None, typer.Option(help="a folder for the runs; results/SERVER without it")] = None,
    runtime: Hosting = "auto",
) -> None:
    """Measure the runs that a server's matrix.toml names, one after the other.

    Example: zoo matrix java-liberty --part ramp --plan
    """
    with plainly(FAULTS):
        catalog = load_catalog(ROOT)
        [folder] = {entry.server.folder for entry in catalog.select([server])}
        parts = matrices.load(folder).chosen(part or [])
        changes = {"rounds": rounds} if rounds else {}
        found = [batch.planned(p.model_copy(update=changes), server, catalog, ROOT, runtime) for p in parts]
        _announce_parts(found)
        todo = [p.part for p in found if not p.left_out and not plan_only]
        into = results or ROOT / "results" / server
        try:
            codes = [batch.measure(p, server, into / p.name, runtime) for p in todo]
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        raise typer.Exit(max(codes, default=0))


def _announce_parts(found: Sequence[Planned]) -> None:
    for planned in found:
        what = f"left out: {planned.left_out}"
        if not planned.left_out:
            what = f"{planned.cells} cells, about {planned.seconds / 60:.0f} min. {planned.part.asks}"
        console.print(f"{planned.part.name}: {what}", highlight=False)
    console.print(f"about {sum(planned.seconds for planned in found) / 60:.0f} min in all")


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="a run's folder")] = ROOT / "results" / "latest",
    quiet: Annotated[bool, typer.Option("--quiet", help="write the files, print nothing")] = False,
    svg: Annotated[Path | None, typer.Option(help="a folder that gets every chart as a picture")] = None,
) -> None:
    """Show a run again and write its report.html and report.md, from its files alone.

    Example: zoo report results/latest
    """
    with plainly(FAULTS):
        if is_jdbc(run):
            databases.report(run, console, quiet=quiet, svg=svg)
            return
        _report(Store.open(run), load_catalog(ROOT), quiet=quiet, svg=svg)


@app.command("compare")
def compare_runs(
    first: Annotated[Path, typer.Argument(help="the folder of the run to compare with")],
    second: Annotated[Path, typer.Argument(help="the folder of the run that may be better or worse")],
    anyway: Annotated[bool, typer.Option("--anyway", help="also what is not comparable")] = False,
    fail_if_slower: Annotated[
        str | None, typer.Option(help="exit code 1 when req/s is found slower by more than this, such as 5%")
    ] = None,
) -> None:
    """Compare two runs cell by cell: two commits, two JDKs, two days on one host.

    Example: zoo compare results/20260101-120000-full results/latest --fail-if-slower 5%
    """
    with plainly(FAULTS):
        by = None if fail_if_slower is None else pilot.percent(fail_if_slower, "a loss")
        sections, pairs = inquiries.between(first, second, load_catalog(ROOT), anyway=anyway)
        terminal.show(sections, console)
        worse = [] if by is None else runs.slower(pairs, by)
        for pair in worse:
            console.print(f"slower: {pair.a}, {pair.scenario} {pair.tier}")
        raise typer.Exit(1 if worse else 0)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="a run's folder")] = ROOT / "results" / "latest",
    as_csv: Annotated[bool, typer.Option("--csv", help="comma-separated values, the only form there is")] = True,
) -> None:
    """Print a run's records as a table for other programs, one line a cell and round.

    Example: zoo export results/latest --csv > run.csv
    """
    with plainly(FAULTS):
        records: Sequence[Keyed] = JdbcStore.open(run).records() if is_jdbc(run) else Store.open(run).records()
        print(to_csv(records), end="")


jdbc = typer.Typer(no_args_is_help=True, help="Database access by executor: java-jdbc (JMH) on PostgreSQL and MariaDB.")
jdbc.command("bench")(plainly(FAULTS)(databases.bench))
jdbc.command("plan")(plainly(FAULTS)(databases.show_plan))
app.add_typer(jdbc, name="jdbc")


@app.command()
def jvm(results: Results = None) -> None:
    """Measure the JVM with no server: start and end, memory at rest and watched by a monitor. Takes some minutes."""
    with plainly(FAULTS):
        benches.be_alone(ROOT)
        jdk = find_jdk(wanted=os.environ.get("JDK"))
        console.print(f"{jdk.label}, about {baseline.seconds() / 60:.0f} min")
        with benches.interruptible():
            folder, found = jvmrun.measure(ROOT, results or ROOT / "results", jdk)
        terminal.show([jvmrun.section(jdk.label, found)], console)
        console.print(f"\nrun: {_shown(folder)}")


@app.command()
def docs(check: Annotated[bool, typer.Option("--check", help="only say whether they are up to date")] = False) -> None:
    """Generate what documents quote of the reference runs (tables, charts, reports) and the schema of records."""
    with plainly(FAULTS):
        stale = documents.refresh(ROOT, load_catalog(ROOT), write=not check)
        for path in stale:
            print(f"{'stale' if check else 'wrote'}: {path.relative_to(ROOT)}")
        if stale and check:
            print("run: .venv/bin/zoo docs", file=sys.stderr)
            raise typer.Exit(1)


def _conditions(
    wish: Wish, catalog: Catalog, runtime: str, vary: list[str] | None
) -> tuple[Condition, dict[str, Condition]]:
    """The run's own, and those that vary."""
    if wish.targets and vary:
        raise BenchError("a target cannot be started under another condition: no --vary beside --target")
    entries, targeted = benches.chosen(wish, catalog), bool(wish.targets)
    outside = targeted or any(e.server.guest for e in entries)
    named = conditions.runtime_named(runtime, wish.tiers, outside=outside)
    condition = conditions.condition_of(named, entries, ROOT, targets=targeted)
    return condition, conditions.varied(vary or (), condition, entries, ROOT)


def _catalog() -> Catalog:
    """The zoo, and what ZOO names beside it."""
    beside = os.environ.get("ZOO")
    return load_catalog(ROOT, Path(beside) if beside else None)


def _refuse_clamped(planned: PlanFacts, limits: Limits, strict: bool) -> None:
    for name in planned.counts:
        tier = plan.tier(name)
        feasible = limits.feasible(tier.connections)
        if feasible.limited_by is None:
            continue
        if strict or feasible.actual < 1:
            raise BenchError(f"tier {name} cannot be run here: {feasible.limited_by} allows {feasible.actual:,}")
        console.print(
            f"tier {name} runs at {feasible.actual:,} connections here: {feasible.limited_by} (zoo doctor tells more)"
        )


def _announce(planned: PlanFacts, catalog: Catalog) -> None:
    seconds = benches.seconds(plan.blocks_of(planned), plan.profile_of(planned), catalog)
    console.print(announcement(planned, seconds, conditions.settings(planned.condition)))


@app.command(hidden=True)
def measure(
    folder: Path,
    private: Annotated[bool, typer.Option(help="this process is in a network namespace of its own")],
) -> None:
    """Measure what the run in this folder lacks."""
    with plainly(FAULTS):
        if private:
            for name in namespace.prepare():
                console.print(f"{name} could not be set in the run's network namespace")
        catalog = _catalog()
        _carry_out(Store.open(folder), catalog)


def _enter(store: Store, catalog: Catalog) -> NoReturn:
    """Become the process that measures: in a network namespace of its own, where the system allows one."""
    planned = store.run().plan
    _announce(planned, catalog)
    console.print(f"run: {_shown(store.folder)} (Ctrl-C keeps what is done)")
    wrapper = namespace.wrapper() if planned.condition.network == "private" else None
    if planned.condition.network == "private" and wrapper is None:
        raise BenchError("this run was begun in a network namespace of its own, which is refused now; start a new run")
    if planned.targets:
        _tell_of_targets(planned.targets)
    elif planned.condition.network == "host":
        console.print("no network namespace of its own (unshare is refused here): the host's ports and counters")
    private = "--private" if wrapper else "--no-private"
    command = [*(wrapper or []), sys.executable, "-m", "zoo", "measure", str(store.folder), private]
    sys.stdout.flush()
    os.execvp(command[0], command)


def _tell_of_targets(found: Mapping[str, Target]) -> None:
    console.print("on the host's network, where the target listens: its ports and counters are not the run's alone")
    for name, target in found.items():
        if target.pid is None:
            known = ", ".join(map(str, sorted(targeting.listening(target.url))))
            hint = f"; PID={known} would" if known else ""
            console.print(f"{name}: memory, CPU and threads are not measured, as no process is named{hint}")


def _carry_out(store: Store, catalog: Catalog) -> None:
    try:
        records = benches.carry_out(ROOT, store, catalog, console)
    except KeyboardInterrupt:
        _report(store, catalog, quiet=True)
        console.print("\ninterrupted; what is done is kept. Go on with: make bench RESUME=1")
        raise typer.Exit(130) from None
    except StoreError as fault:
        raise StoreError(f"{fault}; what is done is kept. When mended, go on with: make bench RESUME=1") from fault
    _report(store, catalog, quiet=False)
    failed = sum(record.failure is not None for record in records)
    if failed:
        console.print(f"{failed} cell(s) failed; see the report and the logs in {_shown(store.raw)}")
        raise typer.Exit(1)


def _report(store: Store, catalog: Catalog, *, quiet: bool, svg: Path | None = None) -> None:
    from zoo import reports  # noqa: PLC0415 (its charts take half a second to import, and most commands draw none)

    sections, path = reports.write(store, catalog.reference_id, svg)
    if not quiet:
        terminal.show(sections, console)
        console.print(f"\nreport: {_shown(path)}")


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
