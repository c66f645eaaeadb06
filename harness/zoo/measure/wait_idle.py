"""Waits until a server is done with what a generator left unanswered.

It goes on with requests whose connections were closed, and would take that time from the server that is loaded next.
"""

from __future__ import annotations

from zoo.measure.window import Bench
from zoo.runtime.base import Hosted
from zoo.sample.instruments import known

LOOK_S = 0.1
QUIET_SHARE = 0.2  # of a core
FEW = 10
LONGEST_S = 10.0
"""A server may have work of its own; the noise of the next window tells of it."""


def wait(bench: Bench, hosted: Hosted) -> None:
    """Returns at once where the server's process is not known; ProcessLookupError when it has ended."""
    before = hosted.instruments.snapshot(hosted.pid)
    until = bench.clock.seconds() + LONGEST_S
    while before is not None and bench.clock.seconds() < until:
        bench.clock.rest(LOOK_S)
        after = known(hosted.instruments.snapshot(hosted.pid))
        if after.cpu_s - before.cpu_s < QUIET_SHARE * LOOK_S:
            return
        before = after


def released(bench: Bench, hosted: Hosted, wait_s: float) -> int | None:
    """Connections of the load before that the server has not closed, after waiting for it to do so; None: unknown.

    A thread that waits in a request learns only at its end, `wait_s` after it began, that the client is gone. Until
    then the connection keeps its memory and its descriptor, and the next load would find too few of these.
    """
    until = bench.clock.seconds() + wait_s + LONGEST_S
    left = hosted.instruments.unclosed(hosted.url)
    while left is not None and left > FEW and bench.clock.seconds() < until:
        bench.clock.rest(LOOK_S)
        left = hosted.instruments.unclosed(hosted.url)
    return left
