"""Lengths of waits and windows that depend on how fast a server turned out to be. Pure.

A sleeping cell is to hold all connections at once: so the first request must still be waiting when the last one has
been read.

Answers that are under way when a window ends are not counted. Threads that share the cores give theirs all at once, a
queue one after the other; so a window of few answers a connection would set one model behind the other.
"""

from __future__ import annotations

import math

from zoo.model.measurement import Pace
from zoo.plan import windows
from zoo.plan.blocks import Block
from zoo.plan.defaults import Profile
from zoo.plan.tier import Tier

HEADROOM = 2.0
"""Warm-up sees a tenth of the connections, and the last ones of many take longer."""

CYCLES = 2.0

LEAST_S = 20.0

ANSWERS = 20
"""Of each connection within a window: at most a twentieth of the work is under way at its end."""

LONGEST_S = 20.0


def pace(connections: int, opening_s: float, answer_s: float, runtime_s: float) -> Pace:
    """From a closed loop without a wait: each of its cycles answers every connection once.

    What was too slow to be seen whole is given as 0, and took all the time.
    """
    return Pace(opened=connections / (opening_s or runtime_s), served=connections / (answer_s or runtime_s))


def times(block: Block, tier: Tier, connections: int, profile: Profile, at: Pace | None) -> tuple[float, float]:
    """Wait and window, in seconds; without a pace those of the profile."""
    if at is None:
        return block.delay(profile), windows.window(block, tier, profile)
    longest = HEADROOM * reading_s(connections, at)
    delay_s = float(math.ceil(min(profile.sleep_delay_s, max(LEAST_S, longest))))
    return delay_s, float(math.ceil(HEADROOM * connections / at.opened + CYCLES * delay_s))


def long_enough(window_s: float, connections: int, answers_per_s: float) -> float:
    """The window, or as many whole seconds as give every connection its answers, up to the longest."""
    needed_s = ANSWERS * connections / answers_per_s if answers_per_s else math.inf
    return max(window_s, float(math.ceil(min(LONGEST_S, needed_s))))


def at_once(connections: int, delay_s: float, at: Pace | None) -> bool:
    """False where the first answer is due before the last request has been taken."""
    return not delay_s or reading_s(connections, at) <= delay_s


def reading_s(connections: int, at: Pace | None) -> float:
    """From the first request of all connections to the last; 0 where it is too short to matter."""
    return 0.0 if at is None else connections / at.served
