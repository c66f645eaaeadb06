"""How long a sleeping cell waits on a machine whose speed is not known beforehand. Pure.

All connections are to be held at once: so the first request must still be waiting when the last one has been read.
"""

from __future__ import annotations

import math

from zoo import plan
from zoo.plan import Block, Profile, Tier
from zoo.records import Pace

HEADROOM = 2.0
"""Warm-up sees a tenth of the connections, and the last ones of many take longer."""

CYCLES = 2.0

LEAST_S = 20.0


def pace(connections: int, opening_s: float, answer_s: float, runtime_s: float) -> Pace:
    """From a closed loop without a wait: each of its cycles answers every connection once.

    What was too slow to be seen whole is given as 0, and took all the time.
    """
    return Pace(opened=connections / (opening_s or runtime_s), served=connections / (answer_s or runtime_s))


def times(block: Block, tier: Tier, connections: int, profile: Profile, at: Pace | None) -> tuple[float, float]:
    """Wait and window, in seconds; without a pace those of the profile."""
    if at is None:
        return block.delay(profile), plan.window(block, tier, profile)
    longest = HEADROOM * reading_s(connections, at)
    delay_s = float(math.ceil(min(profile.sleep_delay_s, max(LEAST_S, longest))))
    return delay_s, float(math.ceil(HEADROOM * connections / at.opened + CYCLES * delay_s))


def at_once(connections: int, delay_s: float, at: Pace | None) -> bool:
    """False where the first answer is due before the last request has been taken."""
    return not delay_s or reading_s(connections, at) <= delay_s


def reading_s(connections: int, at: Pace | None) -> float:
    """From the first request of all connections to the last; 0 where it is too short to matter."""
    return 0.0 if at is None else connections / at.served
