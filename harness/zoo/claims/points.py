"""The single cells that a rule reads, and which of them it sets against each other. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from zoo.claims.ledger import AXES, CellSpec
from zoo.claims.quantities import QUANTITIES
from zoo.claims.rules import Rule
from zoo.plan.tier import count


def asked(scenario: str, case: str) -> str:
    """The scenario with its case."""
    return f"{scenario} {case}".strip()


class ClaimPoint(NamedTuple):
    """One cell; several tiers where a quantity takes them together."""

    scenario: str
    entry: str
    case: str
    tiers: tuple[str, ...]
    vary: str
    jdk: str = ""
    duration: int | None = None
    window: int | None = None

    @property
    def asked(self) -> str:
        return asked(self.scenario, self.case)

    @property
    def text(self) -> str:
        """`java-tomcat:virtual, held 1k–25k, heap=300m`"""
        tiers = "–".join(dict.fromkeys([self.tiers[0], self.tiers[-1]]))
        jdk = f"JDK {self.jdk}" if self.jdk else ""
        return ", ".join(filter(None, [self.entry, f"{self.asked} {tiers}".strip(), self.vary, jdk]))


def points(cells: CellSpec, *, over_tiers: bool = False) -> list[ClaimPoint]:
    """All that the lists of a cell stand for."""
    tiers = [tuple(cells.axis("tier"))] if over_tiers else [(tier,) for tier in cells.axis("tier")]
    return [
        ClaimPoint(cells.scenario, entry, case, tier, vary, cells.jdk, cells.duration, cells.window)
        for entry, case, tier, vary in itertools.product(
            cells.axis("entry"), cells.axis("case"), tiers, cells.axis("vary")
        )
    ]


def combinations(rule: Rule, of: Sequence[CellSpec], cores: float | None = None) -> Iterator[tuple[ClaimPoint, ...]]:
    """The points that are judged with each other: those that agree where their cells list the same axis.

    `cores` of the host leaves out tiers that the cells do not want there; None takes all.
    """
    over_tiers = QUANTITIES[rule.quantity].over_tiers
    sides = [[p for p in points(cells, over_tiers=over_tiers) if _wanted(p, cells, cores)] for cells in of]
    for chosen in itertools.product(*sides):
        if all(
            _agree(chosen[0], of[0], other, cells, over_tiers) for other, cells in zip(chosen[1:], of[1:], strict=True)
        ):
            yield chosen


def _wanted(point: ClaimPoint, cells: CellSpec, cores: float | None) -> bool:
    if cores is None or cells.tiers_from_cores is None:
        return True
    return count(point.tiers[0]) >= cells.tiers_from_cores * cores


def _agree(a: ClaimPoint, of_a: CellSpec, b: ClaimPoint, of_b: CellSpec, over_tiers: bool) -> bool:
    axes = [axis for axis in AXES if not (over_tiers and axis == "tier")]
    shared = [axis for axis in axes if of_a.listed(axis) and of_b.listed(axis)]
    return all(_value(a, axis) == _value(b, axis) for axis in shared)


def _value(point: ClaimPoint, axis: str) -> str:
    return point.tiers[0] if axis == "tier" else str(getattr(point, axis))
