"""The session of a made-up machine; `dataclasses.replace` gives a test what it needs otherwise."""

from __future__ import annotations

import builders
from fakes import FakeClock, FakeReporter, FakeRuntime, World

from zoo.measure.session import Session
from zoo.measure.window import Bench
from zoo.model.condition import Condition
from zoo.plan.defaults import QUICK
from zoo.store.run_folder import Store


def session(world: World, store: Store) -> Session:
    """Of the made-up servers, in a quick run's times."""
    return Session(
        catalog=builders.catalog(),
        runtimes={"": FakeRuntime(world)},
        conditions={"": Condition(jdk="25.0.1")},
        bench=Bench(world.limits, FakeClock(world), store, QUICK, FakeReporter(), threads=2),
    )
