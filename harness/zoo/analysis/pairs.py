"""Entries of one run compared pair by pair, and the noise band of a program compared with itself (A/A). Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from zoo.analysis.metrics import METRICS, Metric, Word, group_of, sample
from zoo.analysis.stats import Adjusted, Prior, Ratio, Sample, fit_prior, holm, t_quantile
from zoo.analysis.stats.ratio import CONFIDENCE
from zoo.analysis.summary import Cell, Key, asked, cells, unfit
from zoo.analysis.verdict import Verdict, bounded, judge
from zoo.model.entry_id import is_twin, name_of, original, plain, server_of
from zoo.model.flag import Flag
from zoo.model.record import Record
from zoo.plan.capacity import count

BandKey = tuple[str, Metric, bool]
"""Scenario, metric, and whether it is a JVM's band or a native program's."""


@dataclass(frozen=True)
class Band:
    """The standard deviation of the log-ratio of a program to itself in one round, over the tiers of a scenario."""

    sd_log: float
    rounds: int
    cells: int

    def factor(self, rounds: int) -> float:
        """A ratio over so many rounds lies between 1/factor and factor in 95 % of cases, if nothing differs.

        exp(t(.975, r) · s / √rounds). s is taken around the true value, a log-ratio of 0, so r rounds give r degrees of
        freedom. The tiers of a round share their processes: they make s steadier but add no degrees of freedom.
        """
        return math.exp(t_quantile(CONFIDENCE, self.rounds) * self.sd_log / math.sqrt(rounds))


class Kind(StrEnum):
    """Why two cells are compared."""

    AGAIN = "again"  # an entry with itself: A/A
    GUEST = "guest"  # a server from outside over an entry of the zoo
    MODEL = "model"  # virtual over platform threads of a server: the named pairs
    VARIANT = "variant"  # a server's other variants over its default
    CONDITION = "condition"  # an entry over itself, under another condition
    RUN = "run"  # an entry in two runs


@dataclass(frozen=True)
class Comparison:
    """One metric of a pair; `adjusted_p` is Holm's within the metric's family, `sample` what the ratio is made of."""

    metric: Metric
    ratio: Ratio | None
    verdict: Verdict
    adjusted_p: float | None = None
    sample: Sample | None = None


@dataclass(frozen=True)
class Pair:
    """`a` over `b` in one cell; `rounds` have both, `lost` says which do not and why."""

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
        """True when a throughput of the pair was not limited by its server."""
        return any(self.limits)


PriorKey = tuple[str, Metric]
"""Scenario and metric."""


@dataclass(frozen=True)
class Compared:
    """All pairs of a run, A/A first, the noise bands that A/A gave, and the priors of the pairs' variance."""

    pairs: list[Pair]
    bands: dict[BandKey, Band]
    priors: dict[PriorKey, Prior] = field(default_factory=dict)

    def of(self, kind: Kind) -> list[Pair]:
        return [p for p in self.pairs if p.kind is kind]


def compare(
    entries: Sequence[str], records: Iterable[Record], reference: str | None = None, guests: Sequence[str] = ()
) -> Compared:
    return compare_cells(entries, cells(records, reference), guests)


def compare_cells(entries: Sequence[str], found: Mapping[Key, Cell], guests: Sequence[str] = ()) -> Compared:
    """Return the pairs of a run, from its cells; `entries` are in the plan's order: a server's default comes first."""
    models = {entry: cell.records[0].model for (entry, *_), cell in found.items()}
    made: list[Pair] = []
    for kind, a, b in named(entries, models, guests):
        wanted = (a,) if kind is Kind.AGAIN else (a, b)
        for scenario, tier in {key[1:]: None for key in found if key[0] in wanted}:
            sides = found.get((a, scenario, tier), Cell()), found.get((b, scenario, tier), Cell())
            made.append(_pair(kind, (a, b), scenario, tier, sides))
    made.sort(key=lambda p: (list(Kind).index(p.kind), p.scenario, p.requested, p.a))
    compared, priors = with_ratios(made)
    return Compared(judged(compared), bands_of(made), priors)


def bands_of(pairs: Iterable[Pair]) -> dict[BandKey, Band]:
    """Return the noise bands that A/A pairs give, from their own variance alone; none from a single round."""
    groups: dict[BandKey, list[Sequence[float]]] = {}
    for pair in pairs:
        for metric, c in pair.comparisons.items():
            if pair.kind is Kind.AGAIN and c.sample is not None and len(c.sample.rounds) > 1:
                groups.setdefault((pair.scenario, metric, pair.jvm), []).append(c.sample.rounds)
    return {key: band_of(cells) for key, cells in groups.items()}


def band_of(cells: Sequence[Sequence[float]]) -> Band:
    """Return the band of a program from its log-ratios to itself, by cell and round."""
    sd_log = math.sqrt(statistics.fmean(log**2 for logs in cells for log in logs))
    return Band(sd_log, max(map(len, cells)), len(cells))


def with_ratios(pairs: Sequence[Pair], *, apart: bool = True) -> tuple[list[Pair], dict[PriorKey, Prior]]:
    """Return the pairs with the ratio of each sample, and the priors that these are made with.

    All pairs of one metric share a prior and, where `apart`, only those of one scenario.
    """
    samples: dict[PriorKey, list[Sample]] = {}
    for pair in pairs:
        for metric, c in pair.comparisons.items():
            if c.sample is not None:
                samples.setdefault((pair.scenario if apart else "", metric), []).append(c.sample)
    fitted = {key: fit_prior(of) for key, of in samples.items()}
    priors: dict[PriorKey, Prior] = {}
    made = []
    for pair in pairs:
        comparisons = dict(pair.comparisons)
        for metric, c in pair.comparisons.items():
            if c.sample is not None:
                prior = priors[pair.scenario, metric] = fitted[pair.scenario if apart else "", metric]
                comparisons[metric] = replace(c, ratio=prior.ratio(c.sample))
        made.append(replace(pair, comparisons=comparisons))
    return made, priors


def named(entries: Sequence[str], models: Mapping[str, str], guests: Sequence[str] = ()) -> list[tuple[Kind, str, str]]:
    """Which entries are compared with which: A/A, guests over others, then within a server."""
    known = [e for e in entries if e in models]
    pairs = [(Kind.AGAIN, twin, original(twin)) for twin in models if is_twin(twin)]
    pairs += [(Kind.CONDITION, e, plain(e)) for e in models if name_of(e) and not is_twin(e) and plain(e) in models]
    pairs += [(Kind.GUEST, e, other) for e in known if e in guests for other in known if other not in guests]
    for server in dict.fromkeys(server_of(e) for e in known):
        mine = [e for e in known if e.startswith(f"{server}:")]
        platform = next((e for e in mine if models[e] == "platform-thread"), None)
        virtual = [e for e in mine if models[e] == "virtual-thread"] if platform else []
        pairs += [(Kind.MODEL, e, platform) for e in virtual if platform]
        done = [{e, platform} for e in virtual]
        pairs += [(Kind.VARIANT, e, mine[0]) for e in mine[1:] if {e, mine[0]} not in done]
    return pairs


def _pair(kind: Kind, names: tuple[str, str], scenario: str, tier: str, sides: tuple[Cell, Cell]) -> Pair:
    a, b = sides
    variants = names[0].partition(":")[2], names[1].partition(":")[2]

    def logs(metric: Metric) -> Sample | None:
        group = group_of(metric, scenario, tier)
        return sample(a.side(metric, group), b.side(metric, group))

    return pair_of(kind, names, (scenario, tier), sides, variants, logs, len(set(a.seen) & set(b.seen)))


def pair_of(
    kind: Kind,
    names: tuple[str, str],
    at: tuple[str, str],
    sides: tuple[Cell, Cell],
    labels: tuple[str, str],
    figure: Callable[[Metric], Sample | Ratio | None],
    rounds: int,
) -> Pair:
    """A pair before its verdicts. `labels` name its sides in reasons, and `figure` compares them in a metric."""
    comparisons = {}
    for metric in METRICS:
        if asked(metric, sides):
            reason = unfit(metric, labels, sides) or (None if rounds else "no round has both")
            comparisons[metric] = unjudged(metric, None if reason else figure(metric), reason)
    return Pair(
        kind=kind,
        a=names[0],
        b=names[1],
        scenario=at[0],
        tier=at[1],
        requested=count(at[1]),
        jvm=any(m.jvm for cell in sides for m in cell.seen.values()),
        rounds=rounds,
        comparisons=comparisons,
        limits=(sides[0].limits, sides[1].limits),
        lost=lost(names, sides),
    )


def unjudged(metric: Metric, found: Sample | Ratio | None, reason: str | None) -> Comparison:
    """A comparison before its family is known, or the reason why there is none."""
    if found is None:
        return Comparison(metric, None, Verdict(Word.NOT_MEASURED, reason or "too little was seen for a figure"))
    if isinstance(found, Sample):
        return Comparison(metric, None, Verdict(Word.OPEN), sample=found)
    return Comparison(metric, found, Verdict(Word.OPEN))


def lost(names: tuple[str, str], sides: tuple[Cell, Cell]) -> list[str]:
    return [
        f"{name} failed in round {number}: {cell.failures[number].text}"
        for name, cell in zip(names, sides, strict=True)
        for number in sorted(cell.failures)
    ]


def judged(pairs: Sequence[Pair], *, apart: bool = True) -> list[Pair]:
    """All verdicts, with what the families decide; `apart`: each scenario is a family of its own."""
    decisions = _decisions(pairs, apart=apart)
    made = []
    for index, pair in enumerate(pairs):
        comparisons = dict(pair.comparisons)
        for metric, c in pair.comparisons.items():
            if c.ratio is None:
                continue
            adjusted, family = decisions.get((index, metric), (None, 1))
            verdict = judge(metric, c.ratio, rejected=adjusted is not None and adjusted.rejected, family=family)
            verdict = bounded(verdict, metric, *pair.limits)
            comparisons[metric] = replace(c, verdict=verdict, adjusted_p=adjusted.p if adjusted else None)
        made.append(replace(pair, comparisons=comparisons))
    return made


def _decisions(pairs: Sequence[Pair], *, apart: bool) -> dict[tuple[int, Metric], tuple[Adjusted, int]]:
    """Holm's decision and the size of the family, by place of the pair and metric.

    A family is one metric over all pairs of one kind: each metric is a question of its own, and so is each scenario.
    """
    families: dict[tuple[Kind, str, Metric], list[tuple[int, float]]] = {}
    for index, pair in enumerate(pairs):
        for metric, c in pair.comparisons.items():
            if c.ratio is not None and c.ratio.p is not None:
                families.setdefault((pair.kind, pair.scenario if apart else "", metric), []).append((index, c.ratio.p))
    return {
        (index, metric): (adjusted, len(family))
        for (*_, metric), family in families.items()
        for (index, _), adjusted in zip(family, holm([p for _, p in family]), strict=True)
    }
