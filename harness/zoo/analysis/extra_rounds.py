"""How many rounds a wanted precision needs, and how many of them the budget allows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zoo.analysis.metrics import CPU, REQUESTS, Metric
from zoo.analysis.pairs import Kind, Pair, compare
from zoo.analysis.stats import rounds_for, sd_at_most
from zoo.catalog.manifest import Catalog
from zoo.model.errors import BenchError
from zoo.model.record import Record
from zoo.model.run import PlanFacts, Run
from zoo.plan.blocks import blocks_of, profile_of
from zoo.plan.budget import seconds
from zoo.plan.scenario import SCENARIOS
from zoo.plan.windows import MANY

PLANNED = (REQUESTS, CPU)


@dataclass(frozen=True)
class Need:
    """Rounds that one comparison needs: expected, and with 80% assurance given how few rounds the pilot had."""

    a: str
    b: str
    scenario: str
    tier: str
    metric: Metric
    sd_log: float
    expected: int
    assured: int


def rounds_needed(pairs: Iterable[Pair], wanted: float, done: int) -> int:
    """Rounds beside those done until each named pair of throughput is known to ± wanted (0.05: 5 %).

    They follow from the figures' variance and never from their differences, so that a difference is no reason to stop.
    Over `MANY` connections a window is mostly their opening, so no rounds are added for those.
    """
    busy = [p for p in pairs if p.requested <= MANY and SCENARIOS[p.scenario.partition(" ")[0]].settle]
    return max(0, max((need.expected for need in needs(busy, wanted)), default=0) - done)


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
                    sd_log=ratio.sd_log,
                    expected=rounds_for(ratio.sd_log, wanted, prior_df=(ratio.df or 0) - (ratio.rounds - 1)),
                    assured=rounds_for(sd_at_most(ratio.sd_log, ratio.rounds), wanted),
                )
            )
    return found


AT_ONCE = 3
"""Then the noise is estimated anew: three rounds tell little of it."""


@dataclass(frozen=True)
class More:
    """Rounds to add, none where the run is at its end; `text` tells why."""

    rounds: int
    text: str = ""


def rounds(run: Run, records: Sequence[Record], catalog: Catalog) -> More:
    """What a finished run needs beyond its rounds, as far as the budget allows."""
    planned = run.plan
    if planned.precision is None or planned.budget_s is None:
        return More(0)
    pairs = compare(planned.entries, records, catalog.reference_id, planned.guests).pairs
    wanted = rounds_needed(pairs, planned.precision, planned.rounds)
    aim = f"±{100 * planned.precision:g} %"
    if not wanted:
        return More(0, f"{planned.rounds} rounds: throughput is known to {aim}")
    chosen = min(wanted, AT_ONCE)
    while chosen and _seconds(added(planned, chosen), catalog) > planned.budget_s:
        chosen -= 1
    minutes = planned.budget_s / 60
    if not chosen:
        over = f"over the budget of {minutes:.0f} min"
        return More(0, f"{planned.rounds} rounds; {aim} would take about {wanted} more, {over}")
    return More(chosen, f"{planned.rounds} rounds; {aim} needs about {wanted} more, {chosen} of them follow")


def added(planned: PlanFacts, more: int) -> PlanFacts:
    """The plan with further rounds of what measures throughput; the rest keeps its own."""
    kept = {name: planned.rounds_in(name) for name in planned.scenarios if not SCENARIOS[name].settle}
    return planned.model_copy(update={"rounds": planned.rounds + more, "rounds_of": kept})


def lengthened(planned: PlanFacts, rounds: int) -> PlanFacts:
    """The plan with so many rounds in all, of throughput where any is measured, else of everything; `BenchError` where
    it has as many."""
    if rounds <= planned.rounds:
        raise BenchError(f"the run has {planned.rounds} round(s) already; name how many it shall have in all")
    if any(SCENARIOS[name].settle for name in planned.scenarios):
        return added(planned, rounds - planned.rounds)
    return planned.model_copy(update={"rounds": rounds, "rounds_of": {}})


def _seconds(planned: PlanFacts, catalog: Catalog) -> float:
    return seconds(blocks_of(planned), profile_of(planned), catalog)
