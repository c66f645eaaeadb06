"""The rule for lower bounds: throughputs that were limited by something other than the server. Pure.

A cell's throughput is a lower bound if at least half of its rounds carry a flag that makes it one, or are near the bare
reference. One such round is not enough: nearness depends on another cell's luck, and a long run meets any flag sooner
or later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from zoo.core.entry_id import base_id
from zoo.core.flag import Flag
from zoo.core.record import Record, RecordKey

LIMITED = frozenset({Flag.GENERATOR_SATURATED, Flag.NEAR_REFERENCE, Flag.LINK_SATURATED})
"""Flags under which a throughput says nothing about how two servers compare: something else limited it."""

SHARED = frozenset({Flag.SHARED_CORES, Flag.THROTTLED})
"""Flags under which a throughput describes the server and the generator together."""

LOWER_BOUND = LIMITED | SHARED
"""Flags that turn a throughput into a lower bound: the server alone was not the bottleneck."""

NEAR = 0.10


def near_reference(records: Iterable[Record], reference: str | None) -> set[RecordKey]:
    """Return the cells whose throughput is within 10% of the bare reference's in the same round, or above it."""
    if reference is None:
        return set()
    seen = [(r.key, r.measurement.load) for r in records if r.measurement and not r.measurement.load.delay_s]
    known = {key: load.goodput_rps for key, load in seen if load.goodput_rps is not None}
    return {
        key
        for key, rps in known.items()
        if base_id(key[0]) != reference and rps >= (1 - NEAR) * known.get((reference, *key[1:]), float("inf"))
    }


def limiting_flags(rounds: Sequence[Collection[Flag]]) -> frozenset[Flag]:
    """Return the flags that make a cell's throughput a lower bound, from its rounds; empty if it is none.

    The flags of a kind of limit count if half of the rounds carry one of them. If only both kinds together reach half,
    all flags count.
    """
    if not _in_at_least_half(bool(LOWER_BOUND.intersection(flags)) for flags in rounds):
        return frozenset()
    kinds = [
        kind for kind in (LIMITED, SHARED) if _in_at_least_half(bool(kind.intersection(flags)) for flags in rounds)
    ]
    wanted = frozenset().union(*kinds) if kinds else LOWER_BOUND
    return wanted.intersection(flag for flags in rounds for flag in flags)


def _in_at_least_half(rounds: Iterable[bool]) -> bool:
    """Return True if at least half of the rounds are True; False without rounds."""
    known = list(rounds)
    return 2 * sum(known) >= len(known) > 0
