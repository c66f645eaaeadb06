"""When a throughput is a lower bound: something else than the server limited it. Pure.

A cell's is one when at least half of its rounds carry a flag that makes it one or are near the bare reference. Nearness
depends on the luck of another cell, and a long run meets any flag sooner or later, so one round is not enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from zoo.model.entry_id import plain
from zoo.model.flag import Flag
from zoo.model.record import Record

LIMITED = frozenset({Flag.GENERATOR_SATURATED, Flag.NEAR_REFERENCE, Flag.LINK_SATURATED})
"""Of the flags below, those that say nothing of how two servers compare: something else set the figure."""

SHARED = frozenset({Flag.SHARED_CORES, Flag.THROTTLED})
"""Those under which a figure is about server and generator together."""

LOWER_BOUND = LIMITED | SHARED
"""Flags that turn a throughput into a lower bound (method: was it the server that was measured?)."""

NEAR = 0.10

Key = tuple[str, str, str, int]
"""That of a record."""


def near_reference(records: Iterable[Record], reference: str | None) -> set[Key]:
    """Cells whose throughput is within 10 % of the bare reference's in the same round, or above it."""
    if reference is None:
        return set()
    seen = [(r.key, r.measurement.load) for r in records if r.measurement and not r.measurement.load.delay_s]
    known = {key: load.goodput_rps for key, load in seen if load.goodput_rps is not None}
    return {
        key
        for key, rps in known.items()
        if plain(key[0]) != reference and rps >= (1 - NEAR) * known.get((reference, *key[1:]), float("inf"))
    }


def limits(rounds: Sequence[Collection[Flag]]) -> frozenset[Flag]:
    """What makes a cell's throughput a lower bound, from the flags of its rounds; empty where it is none.

    Of each kind of limit the flags count when half of the rounds carry one; all count when only both kinds together
    come to half.
    """
    if not _in_half(bool(LOWER_BOUND.intersection(flags)) for flags in rounds):
        return frozenset()
    kinds = [kind for kind in (LIMITED, SHARED) if _in_half(bool(kind.intersection(flags)) for flags in rounds)]
    wanted = frozenset().union(*kinds) if kinds else LOWER_BOUND
    return wanted.intersection(flag for flags in rounds for flag in flags)


def _in_half(rounds: Iterable[bool]) -> bool:
    """True when at least half of the rounds are so; False of none."""
    known = list(rounds)
    return 2 * sum(known) >= len(known) > 0
