"""Analysis of how soon an idle server serves all of C connections when each request waits D seconds. Pure.

At its best, such a server sends C/D responses per second. Windows of 100 ms draw that rate as a curve but cannot
measure it. All connections start at once, so responses come in bursts that are D apart, and a window contains a whole
burst or nothing.

Instead, the analysis counts the responses of the last D seconds at the end of each window. No response arrives earlier
than D after its request, so each connection adds at most one to the count. The count divided by C is therefore exactly
the share of connections that were served within the last D seconds. A burst cannot raise it above 1, a gap between
bursts does not matter once the threshold is reached, and a pool of P threads cannot raise it above P/C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zoo.core.samples import Hits

WINDOW_S = 0.1
REACHED = 0.95


@dataclass(frozen=True)
class Ramp:
    """Result of a ramp. Times are in seconds from the first request."""

    windows: list[int]  # good responses in each whole window
    t95_s: float | None  # never before D, when the first responses arrive; None: not reached
    plateau: float | None  # good responses per second from t95 on, as a share of C/D; None: less than D was left
    late: float | None  # the same over the whole delays in the last third of the load, whether t95 was reached or not

    @property
    def kept(self) -> bool:
        """Return whether the server sustained the level it reached at t95."""
        return self.plateau is not None and self.plateau >= REACHED


def ramp(
    answers_s: Sequence[float], connections: int, delay_s: float, duration_s: float, window_s: float = WINDOW_S
) -> Ramp:
    """Compute the ramp from the times of all good responses.

    t95 is the end of the first window at which at least 95% of the connections got a response within the last
    `delay_s`. Raise ValueError if there is no delay, no connection or no window.
    """
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
    """Return the arrival time of each good response, in seconds after the first request."""
    times: list[float] = []
    for one in hits:
        failed = {place for places in one.failed.values() for place in places}
        pairs = enumerate(zip(one.sent_us, one.took_us, strict=True))
        times += [(sent + took) / 1e6 for place, (sent, took) in pairs if place not in failed]
    return sorted(times)


def _share(times: list[float], connections: int, delay_s: float, since_s: float, until_s: float) -> float | None:
    """Return the good responses per second as a share of C/D, or None if less than one delay fits.

    Only whole delays count: part of a delay would contain a whole burst or miss it.
    """
    cycles = math.floor((until_s - since_s) / delay_s + 1e-9)
    if not cycles:
        return None
    end_s = since_s + cycles * delay_s
    return sum(since_s < at <= end_s for at in times) / (cycles * connections)
