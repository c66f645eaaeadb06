"""Estimates a rule's figure, with its interval, from the runs that have its cells. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zoo.analysis.lower_bound import LIMITED, SHARED, limits
from zoo.analysis.metrics import Class, Side, sample
from zoo.analysis.stats import Ratio, student_ratio, unpaired_ratio
from zoo.analysis.stats.interval import of_difference, of_mean, of_median
from zoo.claims.evidence import Archive, Observation
from zoo.claims.ledger import ClaimPoint, Rule
from zoo.claims.quantities import QUANTITIES, Quantity, at
from zoo.model.entry_id import server_of

MANY_ROUNDS = 10_000
"""More than a run has: so a round of each run keeps a number of its own."""

Points = tuple[ClaimPoint, ...]


@dataclass(frozen=True)
class Series:
    """A quantity of one cell in one run: a figure a round, or a figure a start where `starts` has them.

    `at_least`: the true figures are these or more. `objection`: why it cannot be judged. `turns`: the figures of each
    window of a round, where it had several. `parts`: the series of each run, where several are taken together.
    """

    archive: Archive
    point: ClaimPoint
    values: dict[int, float]
    starts: list[float]
    at_least: bool
    cut: str | None
    actual: int | None
    shared: bool
    jvm: bool
    lines: tuple[int, ...]
    objection: str | None
    group: Hashable = None
    turns: Mapping[int, Sequence[float]] = field(default_factory=dict)
    parts: tuple[Series, ...] = ()

    @property
    def server(self) -> str:
        """The folder of the measured program."""
        return self.archive.program or server_of(self.point.entry)

    @property
    def older(self) -> bool:
        return self.server in self.archive.older

    @property
    def sources(self) -> tuple[Series, ...]:
        """One series for each run."""
        return self.parts or (self,)

    @property
    def side(self) -> Side:
        return Side(self.values, self.group, self.turns)

    @property
    def figures(self) -> list[float]:
        return self.starts or [self.values[number] for number in sorted(self.values)]


@dataclass(frozen=True)
class Estimate:
    """A figure of one cell, or of some that are compared.

    `low` and `high` are None without an interval. `noise`: the factor by which a program differs from itself. `why`:
    nothing can be judged, and what stands in the way. `ratio`: the ratio that the interval is of, if it is of one.
    `notes` are what a reader must know beside the figure.
    """

    label: str
    unit: str = ""
    value: float = math.nan
    low: float | None = None
    high: float | None = None
    n: int = 0
    counts: tuple[float, ...] = ()
    noise: float | None = None
    why: str | None = None
    notes: tuple[str, ...] = ()
    series: tuple[Series, ...] = field(default=(), repr=False)
    ratio: Ratio | None = field(default=None, repr=False)


# --- which runs the figures are taken from


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
        if together := self._having(points, quantity):
            like = [found for found in together if _measured(found) == _measured(together[0])]
            return [_pooled(column) for column in zip(*like, strict=True)] if len(like) > 1 else together[0]
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
        """Return the runs that have all points; only those without an objection, if there are any."""
        found = [
            [_series(archive, point, tiers, quantity) for point, tiers in zip(points, seen, strict=True)]
            for archive in self.archives
            if (seen := [tiers for point in points if (tiers := archive.seen(point))]) and len(seen) == len(points)
        ]
        return [each for each in found if not any(one.objection for one in each)] or found[:1]


def _measured(found: Sequence[Series]) -> tuple[object, ...]:
    """Return what runs must have in common to be taken together."""
    archive, each = found[0].archive, ((s.older, s.cut, s.actual) for s in found)
    return archive.machine.alike, archive.protocol, archive.jdk, archive.window_s, *each


def _pooled(parts: Sequence[Series]) -> Series:
    """Return the runs of one cell taken together, each round an observation; a limit of one run is a limit of all.

    They have no group, because the variance between the rounds of a run leaves out how runs differ.
    """
    return replace(
        parts[0],
        values={MANY_ROUNDS * i + n: value for i, part in enumerate(parts) for n, value in part.values.items()},
        starts=[start for part in parts for start in part.starts],
        at_least=any(part.at_least for part in parts),
        shared=any(part.shared for part in parts),
        group=None,
        turns={},
        parts=tuple(parts),
    )


def _series(
    archive: Archive, point: ClaimPoint, tiers: Sequence[Mapping[int, Observation]], quantity: Quantity
) -> Series:
    """Read a quantity from the observations of a cell's tiers by round; the figures are those of the highest tier."""
    top = tiers[-1]
    objections = [why for tier in tiers for seen in tier.values() if (why := _against(seen, quantity))]
    values: dict[int, float] = {}
    starts: list[float] = []
    bounds = limits([seen.limits for seen in top.values()])
    at_least = quantity.kind is Class.LOAD and bool(LIMITED & bounds)
    for number, seen in top.items():
        figure = quantity.read(seen.data)
        if figure is None and quantity.censored:
            figure = quantity.censored(seen.data)
            at_least = at_least or figure is not None
        if isinstance(figure, list):
            starts += figure
        elif figure is not None:
            values[number] = figure
    if not objections and not starts and len(values) < len(top):
        objections.append(f"{point.text}: a round has no such figure")
    return Series(
        archive=archive,
        point=point,
        values=values,
        starts=starts,
        at_least=at_least,
        cut=next((seen.cut for seen in top.values() if seen.cut), None),
        actual=max((seen.actual for seen in top.values() if seen.actual is not None), default=None),
        shared=quantity.kind in (Class.LOAD, Class.LATENCY) and bool(SHARED & bounds),
        jvm=any(at(seen.data, "measurement.memory.heap_used_kb") is not None for seen in top.values()),
        lines=tuple(seen.line for tier in tiers for seen in tier.values()),
        objection=next(iter(objections), None),
        group=next((seen.groups.get(quantity.metric) for seen in top.values()), None) if quantity.metric else None,
        turns={n: seen.turns.get(quantity.metric, ()) for n, seen in top.items()} if quantity.metric else {},
    )


def _against(seen: Observation, quantity: Quantity) -> str | None:
    """Return why a quantity cannot be read off an observation."""
    if quantity.counts_faults:
        return None if quantity.read(seen.data) is not None else seen.failure
    if seen.failure:
        return f"{seen.entry} failed in round {seen.round}: {seen.failure}"
    if seen.emulated and quantity.kind is not Class.MEMORY:
        return "an emulated host tells nothing of speed"
    if quantity.kind is None:
        return next(iter(seen.objections.values()), None)
    return seen.objections.get(quantity.kind)


# --- the figure of each kind of rule


def estimates(rule: Rule, chosen: Sequence[Points], evidence: ClaimEvidence) -> list[Estimate]:
    """Return one estimate for each combination of cells, or one over all of them."""
    if rule.rule == "spread" or rule.together:
        over_all = spread if rule.rule == "spread" else mean_ratio
        return [over_all(evidence, chosen, rule.quantity)]
    each = {"ratio": ratio, "difference": difference, "gain": gain}.get(rule.rule, figure)
    return [each(evidence, points, rule.quantity) for points in chosen]


def figure(evidence: ClaimEvidence, points: Points, name: str) -> Estimate:
    """Estimate a quantity of one cell."""
    quantity = QUANTITIES[name]
    made = _begun(points[0].text, quantity, evidence.find(points, quantity))
    if made.why:
        return made
    [one] = made.series
    interval = of_median(one.starts) if one.starts else of_mean(one.figures)
    high = math.inf if one.at_least and interval.high is not None else interval.high
    return replace(made, value=interval.value, low=interval.low, high=high, n=interval.n, counts=tuple(one.figures))


def ratio(evidence: ClaimEvidence, over: Points, name: str) -> Estimate:
    """Estimate a quantity of the first point over that of the second."""
    quantity = QUANTITIES[name]
    label = f"{over[0].text} ÷ {over[1].text}"
    made = _begun(label, None, evidence.find(over, quantity), alike=over[0].tiers == over[1].tiers)
    if made.why:
        return made
    a, b = made.series
    if a.archive is not b.archive and quantity.kind is not Class.MEMORY:
        return replace(made, why="the two are not in one run, and speed is not compared between runs")
    if a.archive.protocol != b.archive.protocol:
        return replace(made, why="the two were measured under different protocols")
    if min(*a.figures, *b.figures) <= 0:
        return replace(made, why="a figure is 0, so there is no ratio")
    if not _paired(made.series):
        return _with_ratio(made, unpaired_ratio(a.figures, b.figures))
    logs = sample(a.side, b.side)
    assert logs is not None  # else `_objections` has said that no round has both
    return _with_ratio(made, a.archive.prior(a.point, quantity.metric).ratio(logs), quantity)


def mean_ratio(evidence: ClaimEvidence, pairs: Sequence[Points], name: str) -> Estimate:
    """Estimate the geometric mean of the ratios of all pairs, round by round."""
    each = _ratios(evidence, pairs, name)
    whole = _gathered(f"mean over {len(each)} cells of {_sides(pairs)}", each)
    if whole.why:
        return whole
    made = student_ratio([sum(_log(e, n) for e in each) / len(each) for n in _common(whole.series)])
    found = _with_ratio(whole, made, QUANTITIES[name])
    # of a mean over cells that vary each by itself, noise is so much less
    return replace(found, noise=found.noise and found.noise ** (1 / math.sqrt(len(each))))


def gain(evidence: ClaimEvidence, four: Points, name: str) -> Estimate:
    """Estimate the ratio of the first two points over that of the last two."""
    first, second = _ratios(evidence, [four[:2], four[2:]], name)
    whole = _gathered(f"({first.label}) ÷ ({second.label})", [first, second])
    if whole.why:
        return whole
    if any(s.at_least for s in whole.series):
        return replace(whole, why="a side is a lower bound, so there is no ratio of ratios")
    return _with_ratio(whole, student_ratio([_log(first, n) - _log(second, n) for n in _common(whole.series)]))


def spread(evidence: ClaimEvidence, pairs: Sequence[Points], name: str) -> Estimate:
    """Estimate the highest ratio less the lowest; the interval is that of the two apart, which is rather too wide."""
    each = _ratios(evidence, pairs, name)
    whole = _gathered(f"highest less lowest of {len(each)} cells of {_sides(pairs)}", each)
    if whole.why:
        return whole
    most, least = max(each, key=lambda e: e.value), min(each, key=lambda e: e.value)
    if most.low is None or most.high is None or least.low is None or least.high is None:
        return replace(whole, value=most.value - least.value, n=most.n)
    low = max(most.low - least.high, 0.0)
    return replace(whole, value=most.value - least.value, low=low, high=most.high - least.low, n=min(e.n for e in each))


def difference(evidence: ClaimEvidence, less: Points, name: str) -> Estimate:
    """Estimate a quantity of the first point less that of the second.

    It is taken round by round; of starts of programs, it is the difference of their means.
    """
    quantity = QUANTITIES[name]
    label = f"{less[0].text} less {less[1].text}"
    made = _begun(label, quantity, evidence.find(less, quantity))
    if made.why:
        return made
    a, b = made.series
    if any(s.at_least for s in made.series):
        return replace(made, why="a side is a lower bound, so there is no difference")
    if a.archive.id != b.archive.id:
        return replace(made, why="the two are not in one run")
    if _paired(made.series):
        interval = of_mean([a.values[n] - b.values[n] for n in _common(made.series)])
    else:
        interval = of_difference(a.figures, b.figures)
    return replace(made, value=interval.value, low=interval.low, high=interval.high, n=interval.n)


def _ratios(evidence: ClaimEvidence, pairs: Sequence[Points], name: str) -> list[Estimate]:
    """Estimate the ratio of each pair, from one run that has them all, even where another has a better one of some."""
    found = evidence.find([point for pair in pairs for point in pair], QUANTITIES[name])
    if not isinstance(found, str) and len({s.archive.id for s in found}) == 1:
        evidence = replace(evidence, archives=[source.archive for source in found[0].sources])
    return [ratio(evidence, pair, name) for pair in pairs]


def _begun(label: str, quantity: Quantity | None, found: list[Series] | str, *, alike: bool = False) -> Estimate:
    """Return an estimate without a figure yet, and with the first objection to one; without a quantity, of a ratio."""
    unit = quantity.unit if quantity else "×"
    if isinstance(found, str):
        return Estimate(label, unit, why=found)
    absolute = quantity is not None and not quantity.per_connection
    why = next(_objections(found, absolute=absolute, alike=alike), None)
    return Estimate(label, unit, why=why, series=tuple(found), notes=_notes(found))


def _objections(found: Sequence[Series], *, absolute: bool, alike: bool) -> Iterator[str]:
    """`absolute`: a cut tier cannot stand for the one published. `alike`: all must have had as many connections."""
    yield from (s.objection for s in found if s.objection)
    if absolute:
        yield from (f"{s.cut}: only ratios and costs per connection are judged there" for s in found if s.cut)
    counts = {s.actual for s in found if s.actual is not None}
    if alike and len(counts) > 1:
        yield f"ran at different connection counts: {', '.join(f'{n:,}' for n in sorted(counts))}"
    if not all(s.figures for s in found):
        yield "no round has its figure"
    elif _paired(found) and not _common(found):
        yield "no round has both"


def _notes(found: Iterable[Series]) -> tuple[str, ...]:
    notes: list[str | None] = []
    for one in found:
        notes += [
            one.cut,
            "server and generator shared the cores" if one.shared else None,
            f"{one.point.text}: at least this" if one.at_least else None,
            f"an older build of {one.server}" if one.older else None,
            f"{len(one.parts)} runs together" if one.parts else None,
        ]
    if len({one.archive.id for one in found}) > 1:
        notes.append("from different runs")
    return tuple(dict.fromkeys(filter(None, notes)))


def _common(found: Iterable[Series]) -> list[int]:
    """Return the rounds that all of them have."""
    return sorted(set.intersection(*(set(s.values) for s in found)))


def _paired(found: Sequence[Series]) -> bool:
    """Whether rounds of the same run are compared with each other."""
    return len({s.archive.id for s in found}) == 1 and not any(s.starts for s in found)


def _with_ratio(made: Estimate, found: Ratio, quantity: Quantity | None = None) -> Estimate:
    """Fill in a ratio's figures. A side that is a lower bound leaves the ratio open in its direction.

    With a quantity, the noise is that of the first cell's scenario in its run.
    """
    tops, bottoms = made.series[0::2], made.series[1::2]
    low = 0.0 if found.low is not None and any(s.at_least for s in bottoms) else found.low
    high = math.inf if found.high is not None and any(s.at_least for s in tops) else found.high
    one, noise = made.series[0], None
    if quantity and quantity.metric:
        band = one.archive.bands.get((one.point.asked, quantity.metric, one.jvm))
        noise = band.factor(found.rounds) if band else None
    return replace(made, unit="×", value=found.value, low=low, high=high, n=found.rounds, noise=noise, ratio=found)


def _gathered(label: str, each: Sequence[Estimate]) -> Estimate:
    """Take several ratios as the ground of one figure; one that cannot be judged spoils it."""
    sides = tuple(s for e in each for s in e.series)
    why = next((e.why for e in each if e.why), None)
    if not why and not (_paired(sides) and _common(sides)):
        why = "no run has all of its cells in one round"
    return Estimate(label, "×", why=why, notes=tuple(dict.fromkeys(n for e in each for n in e.notes)), series=sides)


def _log(pair: Estimate, number: int) -> float:
    a, b = pair.series
    return math.log(a.values[number] / b.values[number])


def _sides(pairs: Sequence[Points]) -> str:
    """`java-tomcat:virtual ÷ java-tomcat:platform`"""
    return " ÷ ".join(", ".join(dict.fromkeys(pair[i].entry for pair in pairs)) for i in (0, 1))
