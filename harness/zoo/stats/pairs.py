"""Comparisons of a run's entries in pairs, and the noise band of a program compared with itself (A/A). Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from zoo.core.capacity import parse_count
from zoo.core.entry_id import base_id, condition_name, is_aa, server_name, without_aa
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.stats import AdjustedP, Prior, Ratio, Sample, fit_prior, holm, t_quantile
from zoo.stats.metrics import METRICS, Metric, Word, group_of, pair_sample
from zoo.stats.pair_interval import CONFIDENCE
from zoo.stats.summary import Cell, Key, cells, find_obstacle, metric_applies
from zoo.stats.verdict import Verdict, apply_lower_bounds, judge

BandKey = tuple[str, Metric, bool]
"""Scenario, metric, and whether the band is that of JVMs or of native programs."""


@dataclass(frozen=True)
class Band:
    """Standard deviation of a program's log-ratio to itself in one round, over a scenario's connection counts."""

    sd_log: float
    rounds: int
    cells: int

    def factor(self, rounds: int) -> float:
        """Return the factor that bounds a ratio over this many rounds in 95% of cases, if nothing differs.

        The ratio then lies between 1/factor and factor, with the factor exp(t(.975, r) · s / √rounds). s is taken
        around the true value, a log-ratio of 0, so r rounds give r degrees of freedom. The connection counts of a round
        share their processes: they make s steadier but add no degrees of freedom.
        """
        return math.exp(t_quantile(CONFIDENCE, self.rounds) * self.sd_log / math.sqrt(rounds))


class Kind(StrEnum):
    """The reason why two cells are compared."""

    AA = "again"  # an entry over itself: A/A
    GUEST = "guest"  # a server from outside the zoo over an entry of the zoo
    MODEL = "model"  # virtual over platform threads of a server: the named pairs
    VARIANT = "variant"  # a server's other variants over its default
    CONDITION = "condition"  # an entry over itself, under another condition
    RUN = "run"  # an entry in one run over itself in another


@dataclass(frozen=True)
class Comparison:
    """One metric of a pair.

    `adjusted_p` is Holm's, within the metric's family. `sample` has the log-ratios from which the ratio is computed.
    """

    metric: Metric
    ratio: Ratio | None
    verdict: Verdict
    adjusted_p: float | None = None
    sample: Sample | None = None


@dataclass(frozen=True)
class Pair:
    """`a` over `b` in one cell. `rounds` counts those that both have, and `lost` has the missing ones with reasons."""

    kind: Kind
    a: str
    b: str
    scenario: str
    tier: str
    requested: int
    jvm: bool
    rounds: int
    comparisons: dict[Metric, Comparison]
    limits: tuple[frozenset[Flag], frozenset[Flag]] = (frozenset(), frozenset())
    lost: list[str] = field(default_factory=list)

    @property
    def lower_bound(self) -> bool:
        """Return True if something other than the server limited a throughput of the pair."""
        return any(self.limits)


PriorKey = tuple[str, Metric]
"""Scenario and metric."""


@dataclass(frozen=True)
class RunPairs:
    """All pairs of a run, A/A first, with the noise bands from A/A and the priors of the pairs' variance."""

    pairs: list[Pair]
    bands: dict[BandKey, Band]
    priors: dict[PriorKey, Prior] = field(default_factory=dict)

    def of(self, kind: Kind) -> list[Pair]:
        return [p for p in self.pairs if p.kind is kind]


def compare(
    entries: Sequence[str], records: Iterable[Record], reference: str | None = None, guests: Sequence[str] = ()
) -> RunPairs:
    return compare_cells(entries, cells(records, reference), guests)


def compare_cells(entries: Sequence[str], found: Mapping[Key, Cell], guests: Sequence[str] = ()) -> RunPairs:
    """Return the pairs of a run, from its cells. `entries` are in the plan's order: a server's default comes first."""
    models = {entry: cell.records[0].model for (entry, *_), cell in found.items()}
    return compare_named(entry_pairs(entries, models, guests), found)


def compare_named(named: Iterable[tuple[Kind, str, str]], found: Mapping[Key, Cell]) -> RunPairs:
    """Return the pairs that are named by their two entries, from the cells of runs that measured both."""
    pairs: list[Pair] = []
    for kind, a, b in named:
        entries_of_pair = (a,) if kind is Kind.AA else (a, b)
        for scenario, tier in {key[1:]: None for key in found if key[0] in entries_of_pair}:
            sides = found.get((a, scenario, tier), Cell()), found.get((b, scenario, tier), Cell())
            pairs.append(_pair(kind, (a, b), scenario, tier, sides))
    pairs.sort(key=lambda p: (list(Kind).index(p.kind), p.scenario, p.requested, p.a))
    compared, priors = with_ratios(pairs)
    return RunPairs(with_verdicts(compared), noise_bands(pairs), priors)


def noise_bands(pairs: Iterable[Pair]) -> dict[BandKey, Band]:
    """Return the noise bands of the A/A pairs, from their own variance alone; a single round gives no band."""
    groups: dict[BandKey, list[Sequence[float]]] = {}
    for pair in pairs:
        for metric, c in pair.comparisons.items():
            if pair.kind is Kind.AA and c.sample is not None and len(c.sample.rounds) > 1:
                groups.setdefault((pair.scenario, metric, pair.jvm), []).append(c.sample.rounds)
    return {key: noise_band(cells) for key, cells in groups.items()}


def noise_band(cells: Sequence[Sequence[float]]) -> Band:
    """Return the band of a program from its log-ratios to itself, by cell and round."""
    sd_log = math.sqrt(statistics.fmean(log**2 for logs in cells for log in logs))
    return Band(sd_log, max(map(len, cells)), len(cells))


def with_ratios(pairs: Sequence[Pair], *, by_scenario: bool = True) -> tuple[list[Pair], dict[PriorKey, Prior]]:
    """Return the pairs with the ratio of each sample, and the priors used for them.

    All pairs of one metric share a prior. With `by_scenario`, each scenario has its own.
    """
    samples: dict[PriorKey, list[Sample]] = {}
    for pair in pairs:
        for metric, c in pair.comparisons.items():
            if c.sample is not None:
                samples.setdefault((pair.scenario if by_scenario else "", metric), []).append(c.sample)
    fitted = {key: fit_prior(of) for key, of in samples.items()}
    priors: dict[PriorKey, Prior] = {}
    result = []
    for pair in pairs:
        comparisons = dict(pair.comparisons)
        for metric, c in pair.comparisons.items():
            if c.sample is not None:
                prior = priors[pair.scenario, metric] = fitted[pair.scenario if by_scenario else "", metric]
                comparisons[metric] = replace(c, ratio=prior.ratio(c.sample))
        result.append(replace(pair, comparisons=comparisons))
    return result, priors


def entry_pairs(
    entries: Sequence[str], models: Mapping[str, str], guests: Sequence[str] = ()
) -> list[tuple[Kind, str, str]]:
    """Return the entries to compare: A/A, conditions, guests over others, then the variants of each server.

    The first variant on virtual threads is compared with platform threads, and others with the first variant.
    """
    known = [e for e in entries if e in models]
    pairs = [(Kind.AA, twin, without_aa(twin)) for twin in models if is_aa(twin)]
    pairs += [
        (Kind.CONDITION, e, base_id(e)) for e in models if condition_name(e) and not is_aa(e) and base_id(e) in models
    ]
    pairs += [(Kind.GUEST, e, other) for e in known if e in guests for other in known if other not in guests]
    for server in dict.fromkeys(server_name(e) for e in known):
        mine = [e for e in known if e.startswith(f"{server}:")]
        platform = next((e for e in mine if models[e] == "platform-thread"), None)
        virtual = next((e for e in mine if models[e] == "virtual-thread"), None)
        if platform and virtual:
            pairs.append((Kind.MODEL, virtual, platform))
        pairs += [(Kind.VARIANT, e, mine[0]) for e in mine[1:] if {e, mine[0]} != {virtual, platform}]
    return pairs


def _pair(kind: Kind, names: tuple[str, str], scenario: str, tier: str, sides: tuple[Cell, Cell]) -> Pair:
    a, b = sides
    variants = names[0].partition(":")[2], names[1].partition(":")[2]

    def logs(metric: Metric) -> Sample | None:
        group = group_of(metric, scenario, tier)
        return pair_sample(a.side(metric, group), b.side(metric, group))

    return make_pair(
        kind, names, (scenario, tier), sides, variants, logs, len(set(a.measurements) & set(b.measurements))
    )


def make_pair(
    kind: Kind,
    names: tuple[str, str],
    at: tuple[str, str],
    sides: tuple[Cell, Cell],
    labels: tuple[str, str],
    figure: Callable[[Metric], Sample | Ratio | None],
    rounds: int,
) -> Pair:
    """Return a pair before its verdicts. `labels` name its sides in reasons, and `figure` compares them in a metric."""
    comparisons = {}
    for metric in METRICS:
        if metric_applies(metric, sides):
            reason = find_obstacle(metric, labels, sides) or (None if rounds else "no round measured both")
            comparisons[metric] = new_comparison(metric, None if reason else figure(metric), reason)
    return Pair(
        kind=kind,
        a=names[0],
        b=names[1],
        scenario=at[0],
        tier=at[1],
        requested=parse_count(at[1]),
        jvm=any(m.is_jvm for cell in sides for m in cell.measurements.values()),
        rounds=rounds,
        comparisons=comparisons,
        limits=(sides[0].limits, sides[1].limits),
        lost=missing_rounds(names, sides),
    )


def new_comparison(metric: Metric, found: Sample | Ratio | None, reason: str | None) -> Comparison:
    """Return a comparison before its family is known, or the reason why there is none."""
    if found is None:
        return Comparison(metric, None, Verdict(Word.NOT_MEASURED, reason or "too few samples for a figure"))
    if isinstance(found, Sample):
        return Comparison(metric, None, Verdict(Word.UNCLEAR), sample=found)
    return Comparison(metric, found, Verdict(Word.UNCLEAR))


def missing_rounds(names: tuple[str, str], sides: tuple[Cell, Cell]) -> list[str]:
    return [
        f"{name} failed in round {number}: {cell.failures[number].text}"
        for name, cell in zip(names, sides, strict=True)
        for number in sorted(cell.failures)
    ]


def with_verdicts(pairs: Sequence[Pair], *, by_scenario: bool = True) -> list[Pair]:
    """Return the pairs with all verdicts, as their families decide.

    With `by_scenario`, each scenario is its own family.
    """
    decisions = _decisions(pairs, by_scenario=by_scenario)
    result = []
    for index, pair in enumerate(pairs):
        comparisons = dict(pair.comparisons)
        for metric, c in pair.comparisons.items():
            if c.ratio is None:
                continue
            adjusted, family = decisions.get((index, metric), (None, 1))
            verdict = judge(metric, c.ratio, rejected=adjusted is not None and adjusted.rejected, family=family)
            verdict = apply_lower_bounds(verdict, metric, *pair.limits)
            comparisons[metric] = replace(c, verdict=verdict, adjusted_p=adjusted.p if adjusted else None)
        result.append(replace(pair, comparisons=comparisons))
    return result


def _decisions(pairs: Sequence[Pair], *, by_scenario: bool) -> dict[tuple[int, Metric], tuple[AdjustedP, int]]:
    """Return Holm's decision and the size of the family, by index of the pair and metric.

    A family is one metric over all pairs of one kind. Each metric is a separate question, and with `by_scenario` so is
    each scenario.
    """
    families: dict[tuple[Kind, str, Metric], list[tuple[int, float]]] = {}
    for index, pair in enumerate(pairs):
        for metric, c in pair.comparisons.items():
            if c.ratio is not None and c.ratio.p is not None:
                families.setdefault((pair.kind, pair.scenario if by_scenario else "", metric), []).append(
                    (index, c.ratio.p)
                )
    return {
        (index, metric): (adjusted, len(family))
        for (*_, metric), family in families.items()
        for (index, _), adjusted in zip(family, holm([p for _, p in family]), strict=True)
    }
