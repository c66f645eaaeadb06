"""The number of rounds that a precision needs, and how many of them the budget allows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from zoo.core.blocks import blocks_of, profile_of
from zoo.core.budget import estimate_seconds
from zoo.core.entry_id import aa_id
from zoo.core.errors import BenchError
from zoo.core.manifest import Catalog
from zoo.core.record import Record
from zoo.core.run import LaterRounds, PlanFacts, Run
from zoo.core.scenario import SCENARIOS
from zoo.core.windows import MANY
from zoo.stats import rounds_for, rounds_for_ratio, sd_upper_bound
from zoo.stats.metrics import CPU, REQUESTS, Metric
from zoo.stats.pairs import Kind, Pair, compare

PLANNED = (REQUESTS, CPU)


@dataclass(frozen=True)
class Need:
    """The rounds that one comparison needs. `done` is the number that it has.

    `expected` follows from the pilot's variance. `assured` is the number needed for 80% assurance, given how few
    rounds the pilot had.
    """

    a: str
    b: str
    scenario: str
    tier: str
    metric: Metric
    sd_log: float
    done: int
    expected: int
    assured: int


def missing_rounds(pairs: Iterable[Pair], wanted: float) -> dict[Need, int]:
    """Return the needs that are not met, with how many rounds each lacks to be known to ± wanted (0.05: 5%).

    The number depends on the figures' variance and never on their differences, so a difference is no reason to stop.
    With more than `MANY` connections, a window mostly opens them, so no rounds are added for these cells.
    """
    busy = [p for p in pairs if p.requested <= MANY and SCENARIOS[p.scenario.partition(" ")[0]].measures_throughput]
    return {need: more for need in find_needs(busy, wanted) if (more := need.expected - need.done) > 0}


def find_needs(pairs: Iterable[Pair], wanted: float) -> list[Need]:
    """Return the need of each named pair and guest in each cell, if the pilot has at least two rounds of it."""
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
                    done=ratio.rounds,
                    expected=rounds_for_ratio(ratio, wanted),
                    assured=rounds_for(sd_upper_bound(ratio.sd_log, ratio.rounds), wanted),
                )
            )
    return found


AT_ONCE = 3
"""Number of rounds to add before the noise is estimated again: three rounds say little about it."""


@dataclass(frozen=True)
class ExtraRounds:
    """The rounds to add, which measure only what still needs them; none if the run is complete. `text` says why."""

    rounds: int
    text: str = ""
    entries: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()

    def add_to(self, planned: PlanFacts) -> PlanFacts:
        """Return the plan with these rounds of the scenarios that measure throughput; the others keep their rounds."""
        limits = LaterRounds(after=planned.rounds, entries=list(self.entries), tiers=list(self.tiers))
        return _add_rounds(planned, self.rounds).model_copy(update={"later": [*planned.later, limits]})


def plan_extra_rounds(run: Run, records: Sequence[Record], catalog: Catalog, pace: float = 1.0) -> ExtraRounds:
    """Return the rounds that a finished run needs in addition, as far as the budget allows.

    They measure the pairs that are not known to the precision, so that the budget is spent on these. `pace` is the time
    that the cells took so far, divided by its estimate.
    """
    planned = run.plan
    if planned.precision is None or planned.budget_s is None:
        return ExtraRounds(0)
    missing = missing_rounds(
        compare(planned.entries, records, catalog.reference_id, planned.guests).pairs, planned.precision
    )
    aim = f"±{100 * planned.precision:g}%"
    if not missing:
        return ExtraRounds(0, f"{planned.rounds} rounds: throughput and CPU time are known to {aim}")
    wanted = max(missing.values())
    entries = tuple(dict.fromkeys(name for need in missing for name in (need.a, need.b)))
    tiers = tuple(dict.fromkeys(need.tier for need in missing))
    chosen = ExtraRounds(min(wanted, AT_ONCE), "", entries, tiers)
    while chosen.rounds and pace * _seconds(chosen.add_to(planned), catalog) > planned.budget_s:
        chosen = replace(chosen, rounds=chosen.rounds - 1)
    minutes, needed = planned.budget_s / 60, f"{aim} in {len(missing)} more comparisons"
    if not chosen.rounds:
        over = f"over the budget of {minutes:.0f} min"
        return ExtraRounds(0, f"{planned.rounds} rounds; {needed} would take about {wanted} more, {over}")
    text = f"{planned.rounds} rounds; {needed} needs about {wanted} more; {chosen.rounds} follow"
    return replace(chosen, text=text)


def _add_rounds(planned: PlanFacts, more: int) -> PlanFacts:
    """Return the plan with more rounds of the scenarios that measure throughput; the others keep their rounds."""
    kept = {name: planned.rounds_in(name) for name in planned.scenarios if not SCENARIOS[name].measures_throughput}
    return planned.model_copy(update={"rounds": planned.rounds + more, "rounds_of": kept})


def extend_rounds(planned: PlanFacts, rounds: int) -> PlanFacts:
    """Return the plan with this total number of rounds; `BenchError` if it already has as many.

    They apply to the scenarios that measure throughput if there are any, otherwise to all. Every cell is measured,
    even if the last rounds were limited.
    """
    if rounds <= planned.rounds:
        raise BenchError(
            f"cannot resume: give ROUNDS a number above {planned.rounds}, which the run already has; it is the total "
            "of all rounds"
        )
    if any(SCENARIOS[name].measures_throughput for name in planned.scenarios):
        longer = _add_rounds(planned, rounds - planned.rounds)
        return longer.model_copy(update={"later": [*planned.later, _everything(planned)]}) if planned.later else longer
    return planned.model_copy(update={"rounds": rounds, "rounds_of": {}})


def _everything(planned: PlanFacts) -> LaterRounds:
    """Return limits that leave nothing out."""
    entries = [*planned.entries, *planned.varied_entries, *map(aa_id, planned.twins)]
    return LaterRounds(after=planned.rounds, entries=entries, tiers=planned.connection_counts)


def _seconds(planned: PlanFacts, catalog: Catalog) -> float:
    return estimate_seconds(blocks_of(planned), profile_of(planned), catalog)
