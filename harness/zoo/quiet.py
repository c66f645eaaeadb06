"""Waits until a server is done with what a generator left unanswered.

It goes on with requests whose connections were closed, and would take that time from the server that is loaded next.
"""

from __future__ import annotations

from zoo.instruments import known
from zoo.runtime.base import Hosted
from zoo.window import Bench

LOOK_S = 0.1
QUIET_SHARE = 0.2  # of a core
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
