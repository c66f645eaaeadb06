"""All requests of a load with their own times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

DESCRIPTORS, PORTS = "generator: descriptors", "generator: ports"


OWN_FAULTS = frozenset({DESCRIPTORS, PORTS})
"""Failures that are the generator's and say nothing of the server."""


@dataclass(frozen=True)
class Hits:
    """All requests of one vegeta process in the order of their sequence numbers, in whole microseconds."""

    sent_us: list[int]  # after the first request of all processes
    took_us: list[int]  # until the whole answer was there, or until the failure
    failed: dict[str, list[int]]  # places in the lists, by kind: `timeout`, `refused`, `reset`, `status 503`, ...


def failures(hits: Iterable[Hits]) -> dict[str, int]:
    """How many requests failed, by kind, most frequent first."""
    counts: dict[str, int] = {}
    for one in hits:
        for kind, places in one.failed.items():
            counts[kind] = counts.get(kind, 0) + len(places)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
