"""The length of each wait and window, and the servers that are loaded in it. Pure.

A sleeping cell holds all connections at once. Therefore the first request must still be waiting when the server has
read the last one.

Responses in progress at the end of a window are not counted. Threads that share the cores finish their responses all at
once, while a queue finishes them one after the other. With few responses per connection, this would put one thread
model at a disadvantage.
"""

from __future__ import annotations

import math
import random

from zoo.core.blocks import Block
from zoo.core.capacity import Tier
from zoo.core.defaults import FEW, Profile
from zoo.core.measurement import Pace
from zoo.core.scenario import SCENARIOS, sleeping_window

BACKLOG_GRACE_S = 3.0

ONE_WAIT, TWO_WAITS = 1.1, 2.5
"""Lengths of a window, in waits.

Each connection gets one response, or two responses and half a wait to spare. Responses that come in bursts then do not
fall on the end of the window, where they would count for only one of the servers.
"""

BURST = 1_000
"""Highest connection count that is opened and read within a tenth of a wait."""

MANY = 5_000

HOLDING_S = 0.1
"""Shortest wait that holds a connection, in seconds. With a shorter wait the scenario still measures throughput."""


def window_length(block: Block, at: Tier, profile: Profile) -> float:
    """Return the length of one window of load in seconds, including the time to open many connections."""
    wait = block.delay(profile)
    load = _load_s(block, at, profile)
    if SCENARIOS[block.scenario].holds:
        if block.program is None:  # A program uses one length for all connection counts, because a slope needs that.
            load = sleeping_window(wait, _window_waits(block, at, profile))
    else:
        if not block.is_single and not block.parallel:
            load = max(profile.turn_s, math.ceil(load / (2 * _cycles(block, at, profile))))
        if wait >= HOLDING_S:
            load = max(load, sleeping_window(wait, TWO_WAITS))
    return load + (profile.connect_s if at.connections > MANY else 0.0)


def _window_waits(block: Block, at: Tier, profile: Profile) -> float:
    if at.connections > BURST:
        return profile.burst_waits
    return TWO_WAITS if at == block.tiers[-1] else ONE_WAIT


def _load_s(block: Block, at: Tier, profile: Profile) -> float:
    if block.program:
        return block.program.duration_s
    many_turns = at.connections <= FEW and not block.is_single and not block.parallel
    return profile.window_s * (profile.few_times if many_turns else 1)


def slots(block: Block, at: Tier, profile: Profile) -> list[tuple[int, ...]]:
    """Return the servers to load in each window, as indices of the block's entries.

    Alternating windows follow a random permutation and then its reverse (A B B A), so that a steady drift of the
    machine affects all servers equally. Each cycle has a new permutation.
    """
    everyone = tuple(range(len(block.entries)))
    if block.parallel or block.is_single:
        return [everyone] * (block.program.windows if block.program else 1)
    coin = random.Random(f"{block.seed}/{block.round}/{block.workload}/{at.name}/{block.entries[0]}")
    windows: list[tuple[int, ...]] = []
    for _ in range(_cycles(block, at, profile)):
        permutation = coin.sample(everyone, len(everyone))
        windows += [(index,) for index in [*permutation, *permutation[::-1]]]
    return windows


def drop_cycles(slots: list[tuple[int, ...]], block: Block, times_longer: float) -> list[tuple[int, ...]]:
    """Return as many of the windows as fit into the time planned for all, if each takes `times_longer` as long.

    These are whole cycles, and at least one.
    """
    if block.parallel or block.is_single:
        return slots
    cycle = 2 * len(block.entries)
    return slots[: cycle * max(1, int(len(slots) / cycle / times_longer))]


def _cycles(block: Block, at: Tier, profile: Profile) -> int:
    """Return the number of cycles of alternating windows.

    It is 1 for many connections or a long wait: opening the connections, or waiting, takes as long as a window. wrk
    counts in whole seconds.
    """
    if at.connections > MANY or block.delay(profile) >= HOLDING_S:
        return 1
    return min(profile.cycles, math.ceil(_load_s(block, at, profile) / (2 * profile.turn_s)))


HEADROOM = 2.0
"""Factor for the waits and windows of slow hosts.

Warm-up uses a tenth of the connections, and the last ones of many take longer.
"""

CYCLES = 2.0

LEAST_S = 20.0

ANSWERS = 20
"""Responses per connection in a window; at most a twentieth of the work is then in progress at its end."""

LONGEST_S = 20.0


def measure_pace(connections: int, opening_s: float, answer_s: float, runtime_s: float) -> Pace:
    """Return the pace of a host, from a closed loop without a wait: each cycle sends one response per connection.

    A time that was too long to be observed is given as 0; the whole runtime then counts.
    """
    return Pace(opened=connections / (opening_s or runtime_s), served=connections / (answer_s or runtime_s))


def wait_and_window(
    block: Block, tier: Tier, connections: int, profile: Profile, at: Pace | None
) -> tuple[float, float]:
    """Return the wait and the window in seconds; without a pace, those of the profile."""
    if at is None:
        return block.delay(profile), window_length(block, tier, profile)
    longest = HEADROOM * reading_s(connections, at)
    delay_s = float(math.ceil(min(profile.sleep_delay_s, max(LEAST_S, longest))))
    return delay_s, float(math.ceil(HEADROOM * connections / at.opened + CYCLES * delay_s))


def extend_window(window_s: float, connections: int, answers_per_s: float) -> float:
    """Return the window, or more whole seconds if the responses per connection need them, up to `LONGEST_S`."""
    needed_s = ANSWERS * connections / answers_per_s if answers_per_s else math.inf
    return max(window_s, float(math.ceil(min(LONGEST_S, needed_s))))


def all_held_at_once(connections: int, delay_s: float, at: Pace | None) -> bool:
    """Return False if the first response is due before the server has read the last request."""
    return not delay_s or reading_s(connections, at) <= delay_s


def reading_s(connections: int, at: Pace | None) -> float:
    """Return the seconds between the first and the last request of all connections; 0 if too short to matter."""
    return 0.0 if at is None else connections / at.served
