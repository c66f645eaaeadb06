"""Plans and measures the parts of a matrix: a run each, one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from zoo import COMMAND
from zoo.catalog.manifest import Catalog
from zoo.host.jdk import JdkError
from zoo.model.matrix import MatrixPart
from zoo.model.option import words
from zoo.plan import blocks
from zoo.plan.budget import seconds
from zoo.plan.request import Wish, plan_of
from zoo.runtime.condition_checks import ConditionError
from zoo.runtime.conditions import condition_of, runtime_named, varied


@dataclass(frozen=True)
class Planned:
    """A part as it would run here; `left_out` says why it does not."""

    part: MatrixPart
    cells: int = 0
    seconds: float = 0.0
    left_out: str = ""


def wish_of(part: MatrixPart, server: str) -> Wish:
    """The part as if it had been typed."""
    return Wish(
        servers=[server],
        variants=part.variants,
        scenarios=[part.scenario],
        cases=part.cases,
        tiers=part.tiers,
        rounds=part.rounds,
        duration_s=part.duration_s,
        vary=part.vary,
    )


def planned(part: MatrixPart, server: str, catalog: Catalog, root: Path, runtime: str) -> Planned:
    """How long the part takes. A JDK or a condition that is not to be had here leaves it out."""
    wish = wish_of(part, server)
    entries = catalog.select(wish.servers, wish.variants)
    with _environment(part.env):
        try:
            condition = condition_of(runtime_named(runtime, wish.tiers), entries, root)
            variations = varied(wish.vary, condition, entries, root)
        except (JdkError, ConditionError) as error:
            return Planned(part, left_out=str(error))
    facts = plan_of(wish, catalog, condition, variations)
    return Planned(part, facts.cells, seconds(blocks.blocks_of(facts), blocks.profile_of(facts), catalog))


def measure(part: MatrixPart, server: str, results: Path, runtime: str) -> int:
    """The exit code of its run. `KeyboardInterrupt` when that was stopped."""
    asked = ["bench", *words(wish_of(part, server)), "--runtime", runtime, "--results", str(results)]
    return bench(asked, part.env)


def bench(words: Sequence[str], env: Mapping[str, str]) -> int:
    """The exit code of `zoo` with these words. `KeyboardInterrupt` when it was stopped, by Ctrl-C or by SIGTERM to this
    process."""
    command = [*COMMAND, *words]
    child: subprocess.Popen[bytes] | None = None
    stopped: int | None = None

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped
        stopped = number
        if child and number == signal.SIGTERM:  # a terminal's Ctrl-C reaches the child by itself
            child.terminate()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        child = subprocess.Popen(command, env={**os.environ, **env})
        if stopped:
            child.terminate()
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stopped:
        raise KeyboardInterrupt
    return code


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """This process's own, as it will be in front of the part's command."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
