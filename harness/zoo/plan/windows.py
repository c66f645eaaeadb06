"""How long each wait and window is, and who is loaded in it. Pure.

A sleeping cell is to hold all connections at once: so the first request must still be waiting when the last one has
been read.

Responses that are under way when a window ends are not counted. Threads that share the cores give theirs all at once, a
queue one after the other; so a window of few responses per connection would set one model behind the other.
"""

from __future__ import annotations

import math
import random

from zoo.model.measurement import Pace
from zoo.plan.blocks import Block
from zoo.plan.capacity import Tier
from zoo.plan.defaults import FEW, Profile
from zoo.plan.scenario import SCENARIOS, sleeping_window

BACKLOG_GRACE_S = 3.0

ONE_WAIT, TWO_WAITS = 1.1, 2.5
"""Lengths of a window, in waits: each connection is answered once, or twice and with half a wait to spare, so that
answers which come in bursts do not fall on its end and count for one server only."""

BURST = 1_000
"""So many connections are opened and read within a tenth of a wait."""

MANY = 5_000

HOLDING_S = 0.1
"""A shorter wait holds no connection: throughput is still what is measured."""


def window(block: Block, at: Tier, profile: Profile) -> float:
    """Seconds of one window of load, the time to open many connections included."""
    wait = block.delay(profile)
    load = _load_s(block, at, profile)
    if SCENARIOS[block.scenario].holds:
        if block.program is None:  # of a program one for all counts, as a slope needs
            load = sleeping_window(wait, _waits(block, at, profile))
    else:
        if not block.alone and not block.parallel:
            load = max(profile.turn_s, math.ceil(load / (2 * _cycles(block, at, profile))))
        if wait >= HOLDING_S:
            load = max(load, sleeping_window(wait, TWO_WAITS))
    return load + (profile.connect_s if at.connections > MANY else 0.0)


def _waits(block: Block, at: Tier, profile: Profile) -> float:
    if at.connections > BURST:
        return profile.burst_waits
    return TWO_WAITS if at == block.tiers[-1] else ONE_WAIT


def _load_s(block: Block, at: Tier, profile: Profile) -> float:
    if block.program:
        return block.program.duration_s
    many_turns = at.connections <= FEW and not block.alone and not block.parallel
    return profile.window_s * (profile.few_times if many_turns else 1)


def slots(block: Block, at: Tier, profile: Profile) -> list[tuple[int, ...]]:
    """Who is loaded in each window, by place in the block's entries.

    In turns: a random permutation, then its reverse (A B B A), so that a steady drift of the machine is the same for
    all; anew as often as the profile says.
    """
    everyone = tuple(range(len(block.entries)))
    if block.parallel or block.alone:
        return [everyone] * (block.program.windows if block.program else 1)
    coin = random.Random(f"{block.seed}/{block.round}/{block.asked}/{at.name}/{block.entries[0]}")
    made: list[tuple[int, ...]] = []
    for _ in range(_cycles(block, at, profile)):
        turn = coin.sample(everyone, len(everyone))
        made += [(index,) for index in [*turn, *turn[::-1]]]
    return made


def fewer(made: list[tuple[int, ...]], block: Block, times_longer: float) -> list[tuple[int, ...]]:
    """As many of the turns as take no longer than all of them did, whole cycles and one at least, where each became so
    much longer."""
    if block.parallel or block.alone:
        return made
    cycle = 2 * len(block.entries)
    return made[: cycle * max(1, int(len(made) / cycle / times_longer))]


def _cycles(block: Block, at: Tier, profile: Profile) -> int:
    """Opening many connections, or a long wait, takes as long as a window: as few of them as can be. wrk counts in
    whole seconds."""
    if at.connections > MANY or block.delay(profile) >= HOLDING_S:
        return 1
    return min(profile.cycles, math.ceil(_load_s(block, at, profile) / (2 * profile.turn_s)))


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
        return block.delay(profile), window(block, tier, profile)
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
