"""Which of a claim's runs the figures of a rule are taken from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.claims.evidence import Archive
from zoo.claims.points import ClaimPoint
from zoo.claims.quantities import Quantity
from zoo.claims.series import Series, pooled, series


@dataclass(frozen=True)
class ClaimEvidence:
    """The runs that a claim names, in its order of preference."""

    archives: Sequence[Archive]

    @property
    def cores(self) -> float | None:
        return next((archive.machine.cores for archive in self.archives), None)

    def find(self, points: Sequence[ClaimPoint], quantity: Quantity) -> list[Series] | str:
        """Return a series for each point, or why there is none.

        They come from the first run that has all points, and from the runs that were measured like it. Where no run
        has all, each point comes from the first run that has it: memory may be compared between runs.
        """
        together = self._having(points, quantity)
        if together:
            return _pooled(together)
        apart: list[Series] = []
        for point in points:
            found = self._having([point], quantity)
            if not found:
                return f"none of its runs has {point.text}"
            apart += found[0]
        if len({one.archive.machine.alike for one in apart}) > 1:
            return "the runs that have its cells are of different machines"
        return apart

    def _having(self, points: Sequence[ClaimPoint], quantity: Quantity) -> list[list[Series]]:
        """The runs that have all points; only those without an objection, if there are any."""
        found = [
            [series(archive, point, tiers, quantity) for point, tiers in zip(points, seen, strict=True)]
            for archive in self.archives
            if (seen := [tiers for point in points if (tiers := archive.seen(point))]) and len(seen) == len(points)
        ]
        return [each for each in found if not any(one.objection for one in each)] or found[:1]


def _pooled(together: Sequence[list[Series]]) -> list[Series]:
    """The first, with the rounds of all that were measured like it."""
    alike = [found for found in together if _measured(found) == _measured(together[0])]
    return [pooled(column) for column in zip(*alike, strict=True)] if len(alike) > 1 else together[0]


def _measured(found: Sequence[Series]) -> tuple[object, ...]:
    """What runs have in common that may be taken together."""
    archive = found[0].archive
    each = [(s.older, s.cut, s.actual) for s in found]
    return archive.machine.alike, archive.protocol, archive.jdk, archive.window_s, *each
