"""Which runs the figures of a rule are taken from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.analysis.metrics import Class
from zoo.claims.evidence import Archive
from zoo.claims.points import ClaimPoint
from zoo.claims.quantities import Quantity
from zoo.claims.series import Series, pooled, series

_Faults = tuple[bool, bool, bool, int]


@dataclass(frozen=True)
class ClaimEvidence:
    """All runs that are given, newest first, and the scenarios that this harness knows."""

    archives: Sequence[Archive]
    known: frozenset[str]
    wanted: int = 1
    """Rounds a claim asks for; a run with fewer is taken only where there is no better one."""

    @property
    def cores(self) -> float | None:
        return next((archive.machine.cores for archive in self.archives), None)

    def find(self, points: Sequence[ClaimPoint], quantity: Quantity) -> list[Series] | str:
        """A series of each point, from the runs that have all of them, else the best of each; or why there is none.

        Both sides of what is compared come from one run; runs of one condition are taken together. Memory is compared
        between runs too: there a run of all goes behind runs of each that have fewer faults.
        """
        together = [found for archive in self.archives if (found := _all(archive, points, quantity))]
        whole = self._pooled(together)
        if whole and quantity.kind is not Class.MEMORY:
            return whole
        apart = self._apart(points, quantity)
        if whole and (isinstance(apart, str) or self._faults(apart) >= self._faults(whole)):
            return whole
        return apart

    def _pooled(self, together: Sequence[list[Series]]) -> list[Series] | None:
        """The best, with the rounds of all sound ones that were measured like it; None of none."""
        if not together:
            return None
        best = min(together, key=self._rank)
        alike = [f for f in together if not any(s.objection for s in f) and _measured(f) == _measured(best)]
        return [pooled(column) for column in zip(*alike, strict=True)] if len(alike) > 1 else best

    def _apart(self, points: Sequence[ClaimPoint], quantity: Quantity) -> list[Series] | str:
        """The best run of each point, all under one protocol where there are such."""
        by_protocol = [
            self._best([archive for archive in self.archives if archive.protocol == protocol], points, quantity)
            for protocol in dict.fromkeys(archive.protocol for archive in self.archives)
        ]
        whole = [found for found in by_protocol if not isinstance(found, str)]
        best = min(whole, key=self._faults) if whole else self._best(self.archives, points, quantity)
        if not isinstance(best, str) and len({s.archive.machine.alike for s in best}) > 1:
            return "the runs that have its cells are of different machines"
        return best

    def _best(
        self, archives: Sequence[Archive], points: Sequence[ClaimPoint], quantity: Quantity
    ) -> list[Series] | str:
        best: list[Series] = []
        for point in points:
            some = [one for archive in archives if (one := _all(archive, [point], quantity))]
            if not some:
                return self._missing(point)
            chosen: list[Series] = min(some, key=self._rank)
            best += chosen
        return best

    def _rank(self, found: Sequence[Series]) -> tuple[_Faults, float]:
        """Long windows before short where neither has more faults; then the newest, which comes first."""
        return self._faults(found), -found[0].archive.window_s

    def _faults(self, found: Sequence[Series]) -> _Faults:
        """Less is better: spoiled, cut, of an older build, so many rounds too few."""
        few = min(s.rounds for s in found)
        spoiled, cut, older = (any(getattr(s, fault) for s in found) for fault in ("objection", "cut", "older"))
        return spoiled, cut, older, max(self.wanted - few, 0)

    def _missing(self, point: ClaimPoint) -> str:
        if point.scenario not in self.known:
            return f"this harness has no scenario `{point.scenario}`"
        return f"no run given has {point.text}"


def _measured(found: Sequence[Series]) -> tuple[object, ...]:
    """What runs have in common that may be taken together."""
    archive = found[0].archive
    each = [(s.older, s.cut, s.actual) for s in found]
    return archive.machine.alike, archive.protocol, archive.jdk, archive.window_s, *each


def _all(archive: Archive, points: Sequence[ClaimPoint], quantity: Quantity) -> list[Series] | None:
    """A series of each point; None where the run lacks a tier of one."""
    made = []
    for point in points:
        found = archive.seen(point)
        if found is None:
            return None
        made.append(series(archive, point, found, quantity))
    return made
