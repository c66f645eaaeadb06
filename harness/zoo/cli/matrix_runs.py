"""Plans and measures the parts of a matrix: a run each, one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from zoo import COMMAND
from zoo.catalog.manifest import Catalog
from zoo.host.jdk import JdkError
from zoo.model.matrix import MatrixPart
from zoo.model.option import words
from zoo.plan.request import Wish
from zoo.reference import estimate
from zoo.runtime.condition_checks import ConditionError


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
    try:
        found = estimate.of_bench(replace(wish_of(part, server), runtime=runtime), part.env, catalog, root)
    except (JdkError, ConditionError) as error:
        return Planned(part, left_out=str(error))
    return Planned(part, found.cells, found.seconds)


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
