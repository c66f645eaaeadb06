"""Estimated duration of a plan before it runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zoo.core.blocks import Block
from zoo.core.defaults import Profile
from zoo.core.entry_id import is_target
from zoo.core.manifest import Catalog, Model
from zoo.core.scenario import SCENARIOS
from zoo.core.windows import BACKLOG_GRACE_S, slots, window_length

WINDOW_OVERHEAD_S = 0.8
"""Overhead per window, in seconds: the generator's start, and the readings before and after the load."""

DEFAULT_POOL = 200
"""Default number of threads in a pool."""

USUAL_SHARE = 0.6
"""Share of the longest JVM warm-up that a warm-up usually takes."""


def _window_seconds(block: Block, profile: Profile) -> float:
    return sum(
        len(slots(block, t, profile)) * (window_length(block, t, profile) + WINDOW_OVERHEAD_S) for t in block.tiers
    )


def single_entry_seconds(block: Block, profile: Profile, *, native: bool, bounded_pool: bool) -> float:
    """Estimate the wall time of a block, in seconds.

    A bounded pool is restarted after each connection count that leaves it a backlog.
    """
    scenario = SCENARIOS[block.scenario]
    start = (0.5 if native else 2.0) + profile.idle_s
    if scenario.trial and block.program:
        return start + profile.sleep_warmup_s + scenario.trial_s(block.program) + profile.rest_s
    if scenario.measures_throughput:
        least = profile.warmup_windows(native=native) * profile.warmup_window_s
        warm = least if native else max(least, USUAL_SHARE * profile.warmup_cap_s)
    else:
        warm = profile.sleep_warmup_s
    brief = profile.brief_warmup_s * len(block.tiers) if scenario.measures_throughput else 0
    total = start + warm + brief + _window_seconds(block, profile) + block.rest(profile)
    if scenario.holds:  # The last requests still wait, unless the restart of the server ends the backlog of its pool.
        total += sum(not bounded_pool or t.connections <= DEFAULT_POOL for t in block.tiers[:-1]) * block.delay(profile)
    if bounded_pool and scenario.holds:
        backlogged = sum(t.connections > DEFAULT_POOL for t in block.tiers)
        total += backlogged * BACKLOG_GRACE_S + max(backlogged - 1, 0) * (start + warm)
    return total


def estimate_seconds(blocks: Sequence[Block], profile: Profile, catalog: Catalog) -> float:
    return sum(_block_seconds(block, profile, catalog) for block in blocks)


def _block_seconds(block: Block, profile: Profile, catalog: Catalog) -> float:
    alone = replace(block, entries=block.entries[:1])
    each = []
    for name in block.entries:
        entry = None if is_target(name) else catalog.entry(name)
        bounded = entry is not None and entry.variant.model is Model.PLATFORM_THREAD
        each.append(
            single_entry_seconds(alone, profile, native=entry is not None and entry.native, bounded_pool=bounded)
        )
    if SCENARIOS[block.scenario].trial:
        return each[0]
    rests = (len(each) - 1) * profile.rest_s
    return sum(each) - len(each) * _window_seconds(alone, profile) - rests + _window_seconds(block, profile)
