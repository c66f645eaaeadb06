"""How many turns a round should have, from what a run's figures vary by. Pure.

Where a round of n turns costs a start c₁ and n turns of c₂ each, and its mean varies by process + turn ÷ n, most is
learnt in a given time with n = √(c₁ ÷ c₂ × turn ÷ process) (T. Kalibera and R. Jones, "Rigorous benchmarking in
reasonable time", ISMM 2013, section 4).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zoo.analysis.metrics import CPU, REQUESTS
from zoo.analysis.pairs import Kind, Pair
from zoo.analysis.stats.spread import variance
from zoo.model.measurement import Measurement

FEWEST, MOST = 4, 40
"""Fewer do not cancel a machine's drift; of more the rounds become so few that nothing is known of processes."""

LEAST_ROUNDS, LEAST_PAIRS = 3, 3
"""With fewer, the process variance is a difference of two numbers that nobody knows."""


@dataclass(frozen=True)
class Components:
    """Variances of the log-ratio of two server variants: of one turn, and of a process beyond its turns."""

    turn: float
    process: float


def components(pairs: Iterable[Pair]) -> dict[str, Components]:
    """By connection count, of throughput and CPU per request of virtual against platform threads, in the mean.

    A count of which too few pairs, or pairs of too few rounds, are known is left out.
    """
    seen: dict[str, list[Components]] = {}
    for pair in pairs:
        if pair.kind is not Kind.MODEL or pair.scenario != "hello":
            continue
        for metric in (REQUESTS, CPU):
            comparison = pair.comparisons.get(metric)
            sample = comparison.sample if comparison else None
            if sample is None or len(sample.rounds) < LEAST_ROUNDS or not sample.turn_variance:
                continue
            turn = statistics.fmean(variance(of) for of in sample.turns if len(of) > 1)
            seen.setdefault(pair.tier, []).append(Components(turn, variance(sample.rounds) - sample.turn_variance))
    return {
        tier: Components(statistics.fmean(c.turn for c in found), statistics.fmean(c.process for c in found))
        for tier, found in seen.items()
        if len(found) >= 2 * LEAST_PAIRS
    }


def best(found: Mapping[str, Components], start_s: float, turn_s: float) -> dict[str, int]:
    """Turns a round, an even number, by connection count; `start_s` is what a start costs each count, `turn_s` a turn,
    both in seconds. Processes that differ by nothing that can be seen ask for the most."""
    return {tier: _even(_optimum(parts, start_s / turn_s)) for tier, parts in found.items()}


def first_share(seen: Measurement) -> float | None:
    """Throughput of a cell's first turn over the mean of its others, below 1 where it was cold; None of one turn."""
    rates = [turn.goodput / turn.loaded_s for turn in seen.windows if turn.loaded_s > 0]
    others = rates[1:]
    return rates[0] / statistics.fmean(others) if any(others) else None


def _optimum(parts: Components, cost: float) -> float:
    return math.sqrt(cost * parts.turn / parts.process) if parts.process > 0 else math.inf


def _even(turns: float) -> int:
    return 2 * round(min(max(turns, FEWEST), MOST) / 2)
