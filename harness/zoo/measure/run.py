"""A run as a whole: begun from its plan, and carried out until its last record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.host.interrupts import interruptible
from zoo.host.run_metadata import new_run_metadata, now
from zoo.measure import further
from zoo.measure.calibration import Busy, calibrated
from zoo.measure.reporter import Follow
from zoo.measure.session import Running, Session
from zoo.measure.window import RealClock
from zoo.model.cores import Cores
from zoo.model.entry_id import name_of, plain
from zoo.model.errors import BenchError, RuntimeFailure
from zoo.model.host import HostFacts
from zoo.model.record import Record, newest_records
from zoo.model.run import PlanFacts, Run, Target
from zoo.plan import blocks, resume
from zoo.plan.budget import seconds
from zoo.plan.request import Wish, entries_of
from zoo.runtime import target as targeting
from zoo.runtime.environment import recorded
from zoo.runtime.runtimes import hosting
from zoo.store.run_folder import Store


def new_run(
    root: Path, wish: Wish, planned: PlanFacts, host: HostFacts, builds: Mapping[str, str], catalog: Catalog
) -> Run:
    """A run that has not begun; `builds` gives the hash of each server's sources."""
    return Run(
        **new_run_metadata(root, "quick" if wish.quick else "full"),
        plan=planned,
        host=host,
        builds=dict(builds),
        environment=environments(planned, catalog),
    )


def environments(planned: PlanFacts, catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return the variables that each entry of a plan is started with, under each of its conditions."""
    conditions = {"": planned.condition, **planned.variations}
    started = [name for name in [*planned.entries, *planned.further] if plain(name) not in planned.targets]
    return {name: recorded(catalog.entry(name), conditions[name_of(name)]) for name in started}


Say = Callable[[str], None]
"""Tells a person a line."""


def carry_out(root: Path, store: Store, catalog: Catalog, busy: Busy, follow: Follow, say: Say) -> list[Record]:
    """Measure what the stored run lacks or what failed in it; gives of each cell the last record.

    Ctrl-C leaves no child and keeps what is done. `busy`, `follow` and `say` show a person what goes on.
    """
    run = store.run()
    entries = entries_of(run.plan, catalog)
    profile = blocks.profile_of(run.plan)
    conditions = {"": run.plan.condition, **run.plan.variations}
    with interruptible(), hosting(root, conditions, entries) as (runtimes, host):
        try:
            planned = calibrated(run.plan, entries, runtimes[""], store, busy)
        except RuntimeFailure as error:
            raise BenchError(f"not calibrated: {error.message}\n{error.log_tail}") from error
        run = run.model_copy(update={"host": host, "plan": planned})
        store.write_run(run)
        done = resume.measured(store.records())
        while True:
            todo = resume.blocks_left(blocks.blocks_of(run.plan), done)
            with follow(seconds(todo, profile, catalog)) as live:
                session = Session(
                    catalog=catalog,
                    runtimes=runtimes,
                    limits=host.limits,
                    clock=RealClock(),
                    store=store,
                    profile=profile,
                    conditions=conditions,
                    reporter=live,
                    threads=_threads(run.plan.condition.cores, host),
                    running=_running(run.plan.targets),
                )
                for number, block in enumerate(todo, start=1):
                    session.run([block], done)
                    live.reached(seconds(todo[:number], profile, catalog))
            records = store.records()
            done = frozenset(record.key for record in records)
            more = further.rounds(run, records, catalog)
            if not more.rounds:
                break
            run = run.model_copy(update={"plan": further.added(run.plan, more.rounds)})
            store.write_run(run)
            say(more.text)
        if more.text:
            say(more.text)
    store.write_run(run.model_copy(update={"finished_at": now()}))
    return newest_records(store.records())


def _threads(cores: Cores | None, host: HostFacts) -> int:
    """Of the generator: one a processor of its own, else a few, as it competes with the server."""
    return len(cores.generator) if cores else min(host.cores or 2, 4)


def _running(targets: Mapping[str, Target]) -> dict[str, Running]:
    return {name: Running(targeting.HostedTarget(t), targeting.condition(t)) for name, t in targets.items()}
