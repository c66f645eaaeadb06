"""Estimates how long a plan takes, before it is carried out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zoo.catalog.manifest import Catalog, Model
from zoo.model.entry_id import is_target
from zoo.plan.blocks import Block
from zoo.plan.defaults import Profile
from zoo.plan.scenario import SCENARIOS
from zoo.plan.windows import BACKLOG_GRACE_S, slots, window

BETWEEN_S = 0.8
"""Of a window, what it takes besides its load: the generator's start, and the readings around it."""

POOL = 200
"""Threads of a pool by default."""

USUAL_SHARE = 0.6
"""Of the longest warm-up of a JVM, what it takes as a rule."""


def _windows(block: Block, profile: Profile) -> float:
    return sum(len(slots(block, t, profile)) * (window(block, t, profile) + BETWEEN_S) for t in block.tiers)


def alone_seconds(block: Block, profile: Profile, *, native: bool, bounded_pool: bool) -> float:
    """Estimated wall time of a block; a bounded pool is restarted after tiers that it cannot work off."""
    scenario = SCENARIOS[block.scenario]
    start = (0.5 if native else 2.0) + profile.idle_s
    if scenario.trial and block.program:
        return start + profile.sleep_warmup_s + scenario.trial_s(block.program) + profile.rest_s
    if scenario.settle:
        least = profile.warmup_windows(native=native) * profile.warmup_window_s
        warm = least if native else max(least, USUAL_SHARE * profile.warmup_cap_s)
    else:
        warm = profile.sleep_warmup_s
    brief = profile.brief_warmup_s * len(block.tiers) if scenario.settle else 0
    total = start + warm + brief + _windows(block, profile) + block.rest(profile)
    if scenario.holds:  # what was asked last still waits, unless a pool's backlog is ended with its server
        total += sum(not bounded_pool or t.connections <= POOL for t in block.tiers[:-1]) * block.delay(profile)
    if bounded_pool and scenario.holds:
        backlogged = sum(t.connections > POOL for t in block.tiers)
        total += backlogged * BACKLOG_GRACE_S + max(backlogged - 1, 0) * (start + warm)
    return total


def seconds(blocks: Sequence[Block], profile: Profile, catalog: Catalog) -> float:
    return sum(_seconds(block, profile, catalog) for block in blocks)


def _seconds(block: Block, profile: Profile, catalog: Catalog) -> float:
    alone = replace(block, entries=block.entries[:1])
    each = []
    for name in block.entries:
        entry = None if is_target(name) else catalog.entry(name)
        bounded = entry is not None and entry.variant.model is Model.PLATFORM_THREAD
        each.append(alone_seconds(alone, profile, native=entry is not None and entry.native, bounded_pool=bounded))
    if SCENARIOS[block.scenario].trial:
        return each[0]
    rests = (len(each) - 1) * profile.rest_s
    return sum(each) - len(each) * _windows(alone, profile) - rests + _windows(block, profile)
