"""Commands that measure servers, or the JVM without a server, and write a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from zoo import COMMAND
from zoo.bench import bare_jvm
from zoo.bench.session import carry_out, new_run
from zoo.cli import checkout, options, prepare, report
from zoo.cli.checkout import acquire_run_lock, warn_of_environment
from zoo.cli.display import console, display
from zoo.cli.options import Results, Resume
from zoo.cli.plan import announce
from zoo.core import blocks, capacity
from zoo.core import plan as request
from zoo.core.capacity import parse_tier as tier_of
from zoo.core.condition import Condition
from zoo.core.errors import BenchError
from zoo.core.host_facts import Limits
from zoo.core.interrupts import interruptible
from zoo.core.manifest import Catalog
from zoo.core.plan import BenchOptions
from zoo.core.record import PROTOCOL
from zoo.core.run import PlanFacts, Target
from zoo.core.run_folder import Store, StoreError
from zoo.host import doctor, facts, network
from zoo.host.build import servers_to_build, source_hash
from zoo.host.jdk import PREBUILT, find_jdk
from zoo.report.formatting import format_count, format_duration
from zoo.report.text import soak_and_jvm, terminal
from zoo.runtime import conditions, runtimes
from zoo.runtime import target as targeting
from zoo.stats import extra_rounds


@options.from_models
def bench_command(
    wish: BenchOptions,
    resume: Resume = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="fail if this machine cannot hold the connections, instead of measuring at fewer"
        ),
    ] = False,
    results: Results = None,
) -> None:
    """Measure server variants, or a server that already runs, and write a run below results/.

    Examples:
        zoo bench --server java-tomcat --variant platform,virtual --scenario hello --connections 100,1k
        zoo bench --resume --rounds 6
        zoo bench --target http://127.0.0.1:9000/ --pid 4711 --variant rust-axum:hyper --connections 100
    """
    catalog = checkout.catalog()
    runs = results or checkout.ROOT / "results"
    if resume:
        acquire_run_lock(runs)
        store = Store.open(runs / "latest")
        store.truncate_incomplete_record()
        if wish.rounds is not None:
            _add_rounds(store, wish.rounds)
        run = store.run()
        planned = run.plan
        blocks.check_unchanged(run.protocol, PROTOCOL, run.builds, _source_hashes(planned, catalog))
        targeting.check(planned.targets, planned.scenarios, remote=True)
    else:
        planned = options.make_plan(wish, catalog)
        run = new_run(checkout.ROOT, wish, planned, facts.gather(), _source_hashes(planned, catalog), catalog)
        for one in {c.runtime: c for c in _conditions(planned)}.values():
            _check_connections(planned, runtimes.limits_for(checkout.ROOT, one, run.host), strict)
        acquire_run_lock(runs)
    entries = request.started_entries(planned, catalog)
    built = servers_to_build(entries, _conditions(planned))
    if built:
        prepare.build_all(built, conditions.jdk_for(entries), display)
    if not resume:
        store = Store.create(runs, run.model_copy(update={"builds": _source_hashes(planned, catalog)}))
    _start_measuring(store, catalog)


def _source_hashes(planned: PlanFacts, catalog: Catalog) -> dict[str, str]:
    """Return the source hash of each server that is measured."""
    measured = {e.server.name: e.server for e in request.started_entries(planned, catalog)}
    return {name: source_hash(server) for name, server in sorted(measured.items())}


def _add_rounds(store: Store, rounds: int) -> None:
    """Plan additional rounds for the run, whether it is finished or not."""
    run = store.run()
    store.write_run(run.model_copy(update={"plan": extra_rounds.extend_rounds(run.plan, rounds), "finished_at": None}))


def _conditions(planned: PlanFacts) -> list[Condition]:
    """Return the run's own condition and its variations."""
    return [planned.condition, *planned.variations.values()]


def _check_connections(planned: PlanFacts, limits: Limits, strict: bool) -> None:
    for name in planned.connection_counts:
        tier = tier_of(name)
        allowed = capacity.feasible_connections(limits, tier.connections)
        if allowed.limited_by is None:
            continue
        if strict or allowed.actual < 1:
            raise BenchError(
                f"{name} connections are not possible here: {allowed.limited_by} allows {allowed.actual:,}; "
                "zoo doctor suggests a fix"
            )
        hint = "zoo doctor suggests a fix"
        if allowed.setting and limits.server_host:
            hint = f"there: {doctor.host_limit_fix(allowed.setting, tier.connections)}"
        console.print(f"{name} connections become {allowed.actual:,} here because of {allowed.limited_by} ({hint})")


def _start_measuring(store: Store, catalog: Catalog) -> NoReturn:
    """Replace this process by the one that measures, in its own network namespace if the system allows one."""
    planned = store.run().plan
    announce(planned, catalog, blocks.measured_keys(store.records()))
    if started := request.started_entries(planned, catalog):
        warn_of_environment(name for entry in started for name in entry.settings)
    console.print(f"run: {checkout.format_path(store.folder)} (Ctrl-C keeps finished cells)")
    wrapper = network.namespace_command() if planned.condition.network == "private" else None
    if planned.condition.network == "private" and wrapper is None:
        raise BenchError(
            "this run cannot continue: it used a private network namespace, which is not allowed now; start a new run"
        )
    if planned.targets:
        _print_target_notes(planned.targets)
    elif planned.condition.network == "host":
        shared = (
            "the container's own network, which has only loopback"
            if network.is_loopback_only()
            else "the host's network: its ports and counters are shared"
        )
        console.print(f"unshare is not allowed here, so the run uses {shared}")
    private = "--private" if wrapper else "--no-private"
    command = [*(wrapper or []), *COMMAND, "measure", str(store.folder), private]
    sys.stdout.flush()
    os.execvp(command[0], command)


def _print_target_notes(targets_by_name: Mapping[str, Target]) -> None:
    console.print("the run uses the host's network, where the target listens: its ports and counters are shared")
    for name, target in targets_by_name.items():
        if target.pid is None:
            known = ", ".join(map(str, sorted(targeting.listening_pids(target))))
            hint = f"; set PID={known}" if known else ""
            console.print(f"{name}: memory, CPU and threads are not measured because no process is named{hint}")
        elif targeting.is_scheduled_apart(target.pid):
            console.print(
                f"{name} is in another session, and the kernel divides the processors between sessions first; "
                "to prevent that: sudo sysctl -w kernel.sched_autogroup_enabled=0"
            )


def measure_command(
    folder: Path,
    private: Annotated[bool, typer.Option(help="this process is in a private network namespace")],
) -> None:
    """Measure the missing cells of the run in this folder."""
    if private:
        for name in network.prepare_namespace():
            console.print(f"{name} could not be set in the run's network namespace")
    catalog = checkout.catalog()
    _measure(Store.open(folder), catalog)


def _measure(store: Store, catalog: Catalog) -> None:
    try:
        records = carry_out(checkout.ROOT, store, catalog, display)
    except KeyboardInterrupt:
        report.show_report(store, catalog, quiet=True)
        console.print(f"\ninterrupted; finished cells are kept. Continue with: {_resume_command()}")
        raise typer.Exit(130) from None
    except StoreError as fault:
        raise StoreError(
            f"{fault}; finished cells are kept. Fix this, then continue with: {_resume_command()}"
        ) from fault
    report.conclude_report(store, catalog)
    failed = sum(record.failure is not None for record in records)
    if failed:
        logs = checkout.format_path(store.raw)
        console.print(f"{format_count(failed, 'cell')} failed; see the report and the logs in {logs}")
        raise typer.Exit(1)


def _resume_command() -> str:
    """Return the command that continues the newest run; the image of all servers has no make."""
    return "docker compose run --rm zoo bench --resume" if PREBUILT in os.environ else "make bench RESUME=1"


def jvm_command(results: Results = None) -> None:
    """Measure the JVM without a server, in a few minutes: start, end, memory at rest, heap of a parked virtual thread.

    Examples:
        zoo jvm
        JDK=21 zoo jvm
    """
    runs = results or checkout.ROOT / "results"
    acquire_run_lock(runs)
    warn_of_environment()
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    console.print(f"{jdk.label}, about {format_duration(bare_jvm.seconds())}")
    with interruptible(), display.progress(bare_jvm.seconds()):
        folder, found = bare_jvm.measure_all(checkout.ROOT, runs, jdk)
    terminal.print_sections([soak_and_jvm.jvm_section(jdk.label, found)], console)
    console.print(f"\nrun: {checkout.format_path(folder)}")
