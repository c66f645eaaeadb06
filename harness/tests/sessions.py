"""Session of a simulated machine. Tests change parts of it with `dataclasses.replace`."""

from __future__ import annotations

import builders
from fakes import FakeClock, FakeRuntime, World

from zoo.bench.display import Display
from zoo.bench.session import Session
from zoo.bench.window import Bench
from zoo.core.condition import Condition
from zoo.core.defaults import QUICK
from zoo.core.run_folder import Store


def session(world: World, store: Store) -> Session:
    """Return a session with the made-up servers and the times of a quick run."""
    return Session(
        catalog=builders.catalog(),
        runtimes={"": FakeRuntime(world)},
        conditions={"": Condition(jdk="25.0.1")},
        bench=Bench(world.limits, FakeClock(world), store, QUICK, Display(), threads=2),
    )
