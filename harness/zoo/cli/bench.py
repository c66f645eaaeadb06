"""Begins a run, or goes on with one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, NoReturn

import typer

from zoo import COMMAND
from zoo.analysis import extra_rounds
from zoo.catalog.build import built_here, source_hash
from zoo.catalog.manifest import Catalog
from zoo.cli import build, checkout, options
from zoo.cli.checkout import be_alone, warn_of_environment
from zoo.cli.options import Results, Resume
from zoo.cli.plan import announce
from zoo.cli.screen import console
from zoo.host import doctor, facts, network
from zoo.measure.session import new_run
from zoo.model.condition import Condition
from zoo.model.errors import BenchError
from zoo.model.host import Limits
from zoo.model.record import PROTOCOL
from zoo.model.run import PlanFacts, Target
from zoo.plan import capacity, request
from zoo.plan.blocks import check_unchanged
from zoo.plan.capacity import tier as tier_of
from zoo.plan.request import Wish
from zoo.runtime import conditions, runtimes
from zoo.runtime import target as targeting
from zoo.store.run_folder import Store


@options.from_models
def command(
    wish: Wish,
    resume: Resume = False,
    strict: Annotated[
        bool, typer.Option("--strict-tiers", help="refuse a tier that this host cannot hold, instead of clamping it")
    ] = False,
    results: Results = None,
) -> None:
    """Measure entries, or a server that already runs, and write a run below results/.

    Example: zoo bench --server java-tomcat --variant platform --variant virtual --scenario hello --tiers 100,1k

    Example: zoo bench --resume --rounds 6

    Example: zoo bench --target http://127.0.0.1:9000/ --pid 4711 --server rust-axum --variant hyper --tiers 100
    """
    catalog = checkout.catalog()
    runs = results or checkout.ROOT / "results"
    if resume:
        be_alone(runs)
        store = Store.open(runs / "latest")
        store.mend()
        if wish.rounds is not None:
            _lengthen(store, wish.rounds)
        run = store.run()
        planned = run.plan
        check_unchanged(run.protocol, PROTOCOL, run.builds, _builds(planned, catalog))
        targeting.check(planned.targets, planned.scenarios, remote=True)
    else:
        planned = options.planned_of(wish, catalog)
        run = new_run(checkout.ROOT, wish, planned, facts.gather(), _builds(planned, catalog), catalog)
        for one in {c.runtime: c for c in _conditions(planned)}.values():
            _refuse_clamped(planned, runtimes.limits_for(checkout.ROOT, one, run.host), strict)
        be_alone(runs)
    entries = request.entries_of(planned, catalog)
    built = built_here(entries, _conditions(planned))
    if built:
        build.build_all(built, conditions.jdk_for(entries), console)
    if not resume:
        store = Store.create(runs, run.model_copy(update={"builds": _builds(planned, catalog)}))
    _enter(store, catalog)


def _builds(planned: PlanFacts, catalog: Catalog) -> dict[str, str]:
    """The hash of the sources of each server that is measured."""
    measured = {e.server.name: e.server for e in request.entries_of(planned, catalog)}
    return {name: source_hash(server) for name, server in sorted(measured.items())}


def _lengthen(store: Store, rounds: int) -> None:
    """Give the run further rounds, whether it is at its end or not."""
    run = store.run()
    store.write_run(run.model_copy(update={"plan": extra_rounds.lengthened(run.plan, rounds), "finished_at": None}))


def _conditions(planned: PlanFacts) -> list[Condition]:
    """The run's own, and those that vary."""
    return [planned.condition, *planned.variations.values()]


def _refuse_clamped(planned: PlanFacts, limits: Limits, strict: bool) -> None:
    for name in planned.counts:
        tier = tier_of(name)
        allowed = capacity.connections(limits, tier.connections)
        if allowed.limited_by is None:
            continue
        if strict or allowed.actual < 1:
            raise BenchError(f"tier {name} cannot be run here: {allowed.limited_by} allows {allowed.actual:,}")
        more = "zoo doctor tells more"
        if allowed.setting and limits.server_host:
            more = f"there: {doctor.host_limit_fix(allowed.setting, tier.connections)}"
        console.print(f"tier {name} runs at {allowed.actual:,} connections here: {allowed.limited_by} ({more})")


def _enter(store: Store, catalog: Catalog) -> NoReturn:
    """Become the process that measures: in a network namespace of its own, where the system allows one."""
    planned = store.run().plan
    announce(planned, catalog)
    if started := request.entries_of(planned, catalog):
        warn_of_environment(name for entry in started for name in entry.settings)
    console.print(f"run: {checkout.shown(store.folder)} (Ctrl-C keeps what is done)")
    wrapper = network.namespace_command() if planned.condition.network == "private" else None
    if planned.condition.network == "private" and wrapper is None:
        raise BenchError("this run was begun in a network namespace of its own, which is refused now; start a new run")
    if planned.targets:
        _tell_of_targets(planned.targets)
    elif planned.condition.network == "host":
        console.print("no network namespace of its own (unshare is refused here): the host's ports and counters")
    private = "--private" if wrapper else "--no-private"
    command = [*(wrapper or []), *COMMAND, "measure", str(store.folder), private]
    sys.stdout.flush()
    os.execvp(command[0], command)


def _tell_of_targets(found: Mapping[str, Target]) -> None:
    console.print("on the host's network, where the target listens: its ports and counters are not the run's alone")
    for name, target in found.items():
        if target.pid is None:
            known = ", ".join(map(str, sorted(targeting.listening(target))))
            hint = f"; PID={known} would" if known else ""
            console.print(f"{name}: memory, CPU and threads are not measured, as no process is named{hint}")
