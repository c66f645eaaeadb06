"""Computes how soon a server at rest serves all of C connections, each of whose requests waits D. Pure.

At its best such a server gives C/D answers a second. Windows of 100 ms show it as a curve, but are no measure of it:
all connections begin at once, so their answers come in bursts, D apart, and a window sees a burst or nothing. What is
counted instead at the end of each window is the answers of the last D seconds. No answer comes earlier than D after its
request, so each connection gives at most one of them: the count over C is exactly the share of connections that were
served within the last delay. A burst cannot make it more than 1, a gap between bursts does not matter once it has been
reached, and a pool of P threads cannot make it more than P/C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zoo.model.samples import Hits

WINDOW_S = 0.1
REACHED = 0.95


@dataclass(frozen=True)
class Ramp:
    """Times in seconds from the first request on."""

    windows: list[int]  # good answers in each whole window
    t95_s: float | None  # never before D, the time of the first answers; None: not reached
    plateau: float | None  # from t95 on, good answers a second as a share of C/D; None: no whole delay was left
    late: float | None  # the same over the whole delays in the last third of the load, reached or not

    @property
    def kept(self) -> bool:
        """Whether what was reached lasted."""
        return self.plateau is not None and self.plateau >= REACHED


def ramp(
    answers_s: Sequence[float], connections: int, delay_s: float, duration_s: float, window_s: float = WINDOW_S
) -> Ramp:
    """From the times of all good answers. t95 is the end of the first window by which, within the last `delay_s`,
    at least 95 % of the connections were answered. ValueError where there is no delay, connection or window."""
    if min(delay_s, connections, duration_s - window_s, window_s) <= 0:
        raise ValueError("a ramp needs connections, a delay and at least one window")
    times = np.sort(np.array(answers_s, dtype=np.float64))
    count = math.floor(duration_s / window_s + 1e-9)
    ends = np.arange(1, count + 1) * window_s
    until = np.searchsorted(times, ends, side="right")
    served = (until - np.searchsorted(times, ends - delay_s, side="right")) / connections
    reached = np.flatnonzero(served >= REACHED)
    t95_s = round(float(ends[reached[0]]), 6) if len(reached) else None
    windows = np.diff(until, prepend=0).tolist()
    late = _share(times.tolist(), connections, delay_s, 2 / 3 * duration_s, duration_s)
    if t95_s is None:
        return Ramp(windows, None, None, late)
    return Ramp(windows, t95_s, _share(times.tolist(), connections, delay_s, t95_s, duration_s), late)


def answers(hits: Sequence[Hits]) -> list[float]:
    """When each good answer was there, in seconds after the first request."""
    times: list[float] = []
    for one in hits:
        failed = {place for places in one.failed.values() for place in places}
        pairs = enumerate(zip(one.sent_us, one.took_us, strict=True))
        times += [(sent + took) / 1e6 for place, (sent, took) in pairs if place not in failed]
    return sorted(times)


def _share(times: list[float], connections: int, delay_s: float, since_s: float, until_s: float) -> float | None:
    """Good answers a second as a share of C/D, over as many whole delays as fit: a part of one would see a burst or
    miss it."""
    cycles = math.floor((until_s - since_s) / delay_s + 1e-9)
    if not cycles:
        return None
    end_s = since_s + cycles * delay_s
    return sum(since_s < at <= end_s for at in times) / (cycles * connections)
