"""From a pilot run: how many rounds a wanted precision costs, pair by pair. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.metrics import CPU, REQUESTS, Metric
from zoo.pairs import Kind, Pair
from zoo.plan import PlanError
from zoo.stats import rounds_for, sd_at_most

PLANNED = (REQUESTS, CPU)


@dataclass(frozen=True)
class Need:
    """Rounds that one comparison needs: expected, and with 80 % assurance given how few rounds the pilot had."""

    a: str
    b: str
    scenario: str
    tier: str
    metric: Metric
    pilot_rounds: int
    sd_log: float
    expected: int
    assured: int


def half_width(text: str) -> float:
    """Read a precision; `PlanError` for what is none."""
    return percent(text, "a precision")


def percent(text: str, what: str) -> float:
    """Read `3%` or `0.03`; `PlanError` for anything outside 0.1–50 %."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(found.group(1)) / (100 if found.group(2) else 1) if found else 0.0
    if not 0.001 <= value <= 0.5:
        raise PlanError(f'{what} must be a share such as 3% (0.1% to 50%), got "{text}"')
    return value


def needs(pairs: Iterable[Pair], wanted: float) -> list[Need]:
    """What each named pair and guest needs in each cell; comparisons without two rounds in the pilot tell nothing."""
    found = []
    for pair in pairs:
        for metric in PLANNED:
            comparison = pair.comparisons.get(metric)
            ratio = comparison.ratio if comparison else None
            if pair.kind not in (Kind.MODEL, Kind.GUEST) or ratio is None or ratio.sd_log is None:
                continue
            found.append(
                Need(
                    a=pair.a,
                    b=pair.b,
                    scenario=pair.scenario,
                    tier=pair.tier,
                    metric=metric,
                    pilot_rounds=ratio.rounds,
                    sd_log=ratio.sd_log,
                    expected=rounds_for(ratio.sd_log, wanted),
                    assured=rounds_for(sd_at_most(ratio.sd_log, ratio.rounds), wanted),
                )
            )
    return found
