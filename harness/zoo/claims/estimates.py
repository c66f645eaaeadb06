"""Estimates of a rule's figure, with an interval, from the runs that have its cells. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zoo.claims.evidence import Archive, Observation
from zoo.claims.ledger import ClaimPoint, Rule
from zoo.claims.quantities import QUANTITIES, Quantity, value_at
from zoo.core.entry_id import server_name
from zoo.stats import Ratio, student_ratio, unpaired_ratio
from zoo.stats.interval import difference_interval, mean_interval, median_interval
from zoo.stats.lower_bound import LIMITED, SHARED, limiting_flags
from zoo.stats.metrics import MetricKind, Side, pair_sample

MANY_ROUNDS = 10_000
"""More rounds than a run has, so that each run's rounds keep distinct numbers when several runs are combined."""

Points = tuple[ClaimPoint, ...]


@dataclass(frozen=True)
class Series:
    """A quantity of one cell in one run, with a figure per round, or per start if `starts` has any.

    `at_least` is True if the true figures are these or more. `objection` is the reason why they cannot be judged.
    `window_figures` has the figures of each window of a round, if it had several. `parts` has the series of each run,
    if several runs are combined.
    """

    archive: Archive
    point: ClaimPoint
    values: dict[int, float]
    starts: list[float]
    at_least: bool
    reduction: str | None
    actual: int | None
    shared: bool
    jvm: bool
    lines: tuple[int, ...]
    objection: str | None
    group: Hashable = None
    window_figures: Mapping[int, Sequence[float]] = field(default_factory=dict)
    parts: tuple[Series, ...] = ()

    @property
    def server(self) -> str:
        """Return the folder of the measured program."""
        return self.archive.program or server_name(self.point.entry)

    @property
    def is_outdated(self) -> bool:
        return self.server in self.archive.outdated

    @property
    def sources(self) -> tuple[Series, ...]:
        """Return one series for each run."""
        return self.parts or (self,)

    @property
    def side(self) -> Side:
        return Side(self.values, self.group, self.window_figures)

    @property
    def figures(self) -> list[float]:
        return self.starts or [self.values[number] for number in sorted(self.values)]


@dataclass(frozen=True)
class Estimate:
    """A figure of one cell, or of several cells that are compared.

    `low` and `high` are None without an interval. `noise` is the factor by which a program differs from itself. If
    `objection` is set, nothing can be judged, for this reason. `ratio` is the ratio to which the interval belongs, if
    there is one. `notes` are facts that a reader needs next to the figure.
    """

    label: str
    unit: str = ""
    value: float = math.nan
    low: float | None = None
    high: float | None = None
    n: int = 0
    counts: tuple[float, ...] = ()
    noise: float | None = None
    objection: str | None = None
    notes: tuple[str, ...] = ()
    series: tuple[Series, ...] = field(default=(), repr=False)
    ratio: Ratio | None = field(default=None, repr=False)


# --- the runs that provide the figures


@dataclass(frozen=True)
class ClaimEvidence:
    """The runs that a claim names, in its order of preference."""

    archives: Sequence[Archive]

    @property
    def cores(self) -> float | None:
        return next((archive.machine.cores for archive in self.archives), None)

    def find(self, points: Sequence[ClaimPoint], quantity: Quantity) -> list[Series] | str:
        """Return a series for each point, or the reason why there is none.

        They come from the first run that has all points, and from the runs measured in the same way. If no run has all
        points, each point comes from the first run that has it: memory may be compared between runs.
        """
        if complete := self._series_of_runs(points, quantity):
            same = [found for found in complete if _run_conditions(found) == _run_conditions(complete[0])]
            return [_combine_runs(column) for column in zip(*same, strict=True)] if len(same) > 1 else complete[0]
        singles: list[Series] = []
        for point in points:
            found = self._series_of_runs([point], quantity)
            if not found:
                return f"none of its runs has {point.text}"
            singles += found[0]
        if len({one.archive.machine.identity for one in singles}) > 1:
            return "the runs with its cells come from different machines"
        return singles

    def _series_of_runs(self, points: Sequence[ClaimPoint], quantity: Quantity) -> list[list[Series]]:
        """Return the series of each run that has all points; only runs without an objection, if there are any."""
        candidates = [
            [_read_series(archive, point, tiers, quantity) for point, tiers in zip(points, seen, strict=True)]
            for archive in self.archives
            if (seen := [tiers for point in points if (tiers := archive.observations(point))])
            and len(seen) == len(points)
        ]
        return [each for each in candidates if not any(one.objection for one in each)] or candidates[:1]


def _run_conditions(series: Sequence[Series]) -> tuple[object, ...]:
    """Return the facts that runs must share to be combined."""
    archive, each = series[0].archive, ((s.is_outdated, s.reduction, s.actual) for s in series)
    return archive.machine.identity, archive.protocol, archive.jdk, archive.window_s, *each


def _combine_runs(parts: Sequence[Series]) -> Series:
    """Return the combined series of one cell, with each round as an observation. A limit of one run applies to all.

    The result has no group, because the variance between the rounds of one run does not show how runs differ.
    """
    return replace(
        parts[0],
        values={MANY_ROUNDS * i + n: value for i, part in enumerate(parts) for n, value in part.values.items()},
        starts=[start for part in parts for start in part.starts],
        at_least=any(part.at_least for part in parts),
        shared=any(part.shared for part in parts),
        group=None,
        window_figures={},
        parts=tuple(parts),
    )


def _read_series(
    archive: Archive, point: ClaimPoint, tiers: Sequence[Mapping[int, Observation]], quantity: Quantity
) -> Series:
    """Read a quantity from a cell's observations; the figures are those of the highest connection count."""
    top = tiers[-1]
    objections = [why for tier in tiers for seen in tier.values() if (why := _find_objection(seen, quantity))]
    values: dict[int, float] = {}
    starts: list[float] = []
    bounds = limiting_flags([seen.limits for seen in top.values()])
    at_least = quantity.kind is MetricKind.LOAD and bool(LIMITED & bounds)
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
        objections.append(f"{point.text}: this round has no such figure")
    return Series(
        archive=archive,
        point=point,
        values=values,
        starts=starts,
        at_least=at_least,
        reduction=next((seen.reduction for seen in top.values() if seen.reduction), None),
        actual=max((seen.actual for seen in top.values() if seen.actual is not None), default=None),
        shared=quantity.kind in (MetricKind.LOAD, MetricKind.LATENCY) and bool(SHARED & bounds),
        jvm=any(value_at(seen.data, "measurement.memory.heap_used_kb") is not None for seen in top.values()),
        lines=tuple(seen.line for tier in tiers for seen in tier.values()),
        objection=next(iter(objections), None),
        group=next((seen.groups.get(quantity.metric) for seen in top.values()), None) if quantity.metric else None,
        window_figures={n: seen.window_figures.get(quantity.metric, ()) for n, seen in top.items()}
        if quantity.metric
        else {},
    )


def _find_objection(observation: Observation, quantity: Quantity) -> str | None:
    """Return why a quantity cannot be read from an observation; None if it can."""
    if quantity.counts_faults:
        return None if quantity.read(observation.data) is not None else observation.failure
    if observation.failure:
        return f"{observation.entry} failed in round {observation.round}: {observation.failure}"
    if observation.emulated and quantity.kind is not MetricKind.MEMORY:
        return "an emulated host cannot measure speed"
    if quantity.kind is None:
        return next(iter(observation.objections.values()), None)
    return observation.objections.get(quantity.kind)


# --- the figure of each kind of rule


def estimate_rule(rule: Rule, chosen: Sequence[Points], evidence: ClaimEvidence) -> list[Estimate]:
    """Return one estimate for each combination of cells, or one estimate over all of them."""
    if rule.rule == "spread" or rule.together:
        over_all = estimate_spread if rule.rule == "spread" else estimate_mean_ratio
        return [over_all(evidence, chosen, rule.quantity)]
    each = {"ratio": estimate_ratio, "difference": estimate_difference, "gain": estimate_gain}.get(
        rule.rule, estimate_figure
    )
    return [each(evidence, points, rule.quantity) for points in chosen]


def estimate_figure(evidence: ClaimEvidence, points: Points, name: str) -> Estimate:
    """Estimate a quantity of one cell."""
    quantity = QUANTITIES[name]
    estimate = _start_estimate(points[0].text, quantity, evidence.find(points, quantity))
    if estimate.objection:
        return estimate
    [one] = estimate.series
    interval = median_interval(one.starts) if one.starts else mean_interval(one.figures)
    high = math.inf if one.at_least and interval.high is not None else interval.high
    return replace(estimate, value=interval.value, low=interval.low, high=high, n=interval.n, counts=tuple(one.figures))


def estimate_ratio(evidence: ClaimEvidence, points: Points, name: str) -> Estimate:
    """Estimate a quantity of the first point over that of the second."""
    quantity = QUANTITIES[name]
    label = f"{points[0].text} ÷ {points[1].text}"
    estimate = _start_estimate(
        label, None, evidence.find(points, quantity), same_connections=points[0].tiers == points[1].tiers
    )
    if estimate.objection:
        return estimate
    a, b = estimate.series
    if a.archive is not b.archive and quantity.kind is not MetricKind.MEMORY:
        return replace(estimate, objection="the two are in different runs, and speed is not compared between runs")
    if a.archive.protocol != b.archive.protocol:
        return replace(estimate, objection="the two were measured under different protocols")
    if min(*a.figures, *b.figures) <= 0:
        return replace(estimate, objection="a figure is 0, so there is no ratio")
    if not _are_paired(estimate.series):
        return _with_ratio(estimate, unpaired_ratio(a.figures, b.figures))
    logs = pair_sample(a.side, b.side)
    assert logs is not None  # otherwise `_find_objections` has reported that no round has both
    return _with_ratio(estimate, a.archive.prior(a.point, quantity.metric).ratio(logs), quantity)


def estimate_mean_ratio(evidence: ClaimEvidence, pairs: Sequence[Points], name: str) -> Estimate:
    """Estimate the geometric mean of the ratios of all pairs, round by round."""
    ratios = _estimate_ratios(evidence, pairs, name)
    whole = _combine_ratios(f"mean over {len(ratios)} cells of {_format_sides(pairs)}", ratios)
    if whole.objection:
        return whole
    mean = student_ratio([sum(_log_ratio(e, n) for e in ratios) / len(ratios) for n in _common_rounds(whole.series)])
    estimate = _with_ratio(whole, mean, QUANTITIES[name])
    # The noise of a mean over independent cells is lower by the square root of their number.
    return replace(estimate, noise=estimate.noise and estimate.noise ** (1 / math.sqrt(len(ratios))))


def estimate_gain(evidence: ClaimEvidence, points: Points, name: str) -> Estimate:
    """Estimate the ratio of the first two points over that of the last two."""
    first, second = _estimate_ratios(evidence, [points[:2], points[2:]], name)
    whole = _combine_ratios(f"({first.label}) ÷ ({second.label})", [first, second])
    if whole.objection:
        return whole
    if any(s.at_least for s in whole.series):
        return replace(whole, objection="one side is a lower bound, so there is no ratio of ratios")
    return _with_ratio(
        whole, student_ratio([_log_ratio(first, n) - _log_ratio(second, n) for n in _common_rounds(whole.series)])
    )


def estimate_spread(evidence: ClaimEvidence, pairs: Sequence[Points], name: str) -> Estimate:
    """Estimate the highest ratio less the lowest; the interval combines those of the two and is rather too wide."""
    each = _estimate_ratios(evidence, pairs, name)
    whole = _combine_ratios(f"highest minus lowest of {len(each)} cells of {_format_sides(pairs)}", each)
    if whole.objection:
        return whole
    most, least = max(each, key=lambda e: e.value), min(each, key=lambda e: e.value)
    if most.low is None or most.high is None or least.low is None or least.high is None:
        return replace(whole, value=most.value - least.value, n=most.n)
    low = max(most.low - least.high, 0.0)
    return replace(whole, value=most.value - least.value, low=low, high=most.high - least.low, n=min(e.n for e in each))


def estimate_difference(evidence: ClaimEvidence, points: Points, name: str) -> Estimate:
    """Estimate a quantity of the first point less that of the second.

    It is computed round by round. For starts of programs, it is the difference of their means.
    """
    quantity = QUANTITIES[name]
    label = f"{points[0].text} minus {points[1].text}"
    estimate = _start_estimate(label, quantity, evidence.find(points, quantity))
    if estimate.objection:
        return estimate
    a, b = estimate.series
    if any(s.at_least for s in estimate.series):
        return replace(estimate, objection="one side is a lower bound, so there is no difference")
    if a.archive.id != b.archive.id:
        return replace(estimate, objection="the two are in different runs")
    if _are_paired(estimate.series):
        interval = mean_interval([a.values[n] - b.values[n] for n in _common_rounds(estimate.series)])
    else:
        interval = difference_interval(a.figures, b.figures)
    return replace(estimate, value=interval.value, low=interval.low, high=interval.high, n=interval.n)


def _estimate_ratios(evidence: ClaimEvidence, pairs: Sequence[Points], name: str) -> list[Estimate]:
    """Estimate the ratio of each pair from one run that has them all, even if another run has some better ones."""
    found = evidence.find([point for pair in pairs for point in pair], QUANTITIES[name])
    if not isinstance(found, str) and len({s.archive.id for s in found}) == 1:
        evidence = replace(evidence, archives=[source.archive for source in found[0].sources])
    return [estimate_ratio(evidence, pair, name) for pair in pairs]


def _start_estimate(
    label: str, quantity: Quantity | None, series: list[Series] | str, *, same_connections: bool = False
) -> Estimate:
    """Return an estimate that has no figure yet, with the first objection to one. Without a quantity it is a ratio."""
    unit = quantity.unit if quantity else "×"
    if isinstance(series, str):
        return Estimate(label, unit, objection=series)
    absolute = quantity is not None and not quantity.per_connection
    objection = next(_find_objections(series, absolute=absolute, same_connections=same_connections), None)
    return Estimate(label, unit, objection=objection, series=tuple(series), notes=_collect_notes(series))


def _find_objections(series: Sequence[Series], *, absolute: bool, same_connections: bool) -> Iterator[str]:
    """Yield the objections to a figure.

    If `absolute` is set, a reduced connection count cannot replace the published one. If `same_connections` is set, all
    series must have had the same number of connections.
    """
    yield from (s.objection for s in series if s.objection)
    if absolute:
        yield from (
            f"{s.reduction}: only ratios and costs per connection are judged there" for s in series if s.reduction
        )
    counts = {s.actual for s in series if s.actual is not None}
    if same_connections and len(counts) > 1:
        yield f"ran at different connection counts: {', '.join(f'{n:,}' for n in sorted(counts))}"
    if not all(s.figures for s in series):
        yield "no round has its figure"
    elif _are_paired(series) and not _common_rounds(series):
        yield "no round measured both"


def _collect_notes(series: Iterable[Series]) -> tuple[str, ...]:
    notes: list[str | None] = []
    for one in series:
        notes += [
            one.reduction,
            "server and generator shared the cores" if one.shared else None,
            f"{one.point.text}: lower bound" if one.at_least else None,
            f"{one.server} measured with an earlier build" if one.is_outdated else None,
            f"{len(one.parts)} runs combined" if one.parts else None,
        ]
    if len({one.archive.id for one in series}) > 1:
        notes.append("from different runs")
    return tuple(dict.fromkeys(filter(None, notes)))


def _common_rounds(series: Iterable[Series]) -> list[int]:
    """Return the rounds that all series have."""
    return sorted(set.intersection(*(set(s.values) for s in series)))


def _are_paired(series: Sequence[Series]) -> bool:
    """Return True if the series belong to one run, so that its rounds can be compared with each other."""
    return len({s.archive.id for s in series}) == 1 and not any(s.starts for s in series)


def _with_ratio(estimate: Estimate, ratio: Ratio, quantity: Quantity | None = None) -> Estimate:
    """Fill in a ratio's figures. If a side is a lower bound, the interval is open in that direction.

    With a quantity, the noise is that of the first cell's scenario in its run.
    """
    tops, bottoms = estimate.series[0::2], estimate.series[1::2]
    low = 0.0 if ratio.low is not None and any(s.at_least for s in bottoms) else ratio.low
    high = math.inf if ratio.high is not None and any(s.at_least for s in tops) else ratio.high
    one, noise = estimate.series[0], None
    if quantity and quantity.metric:
        band = one.archive.bands.get((one.point.load, quantity.metric, one.jvm))
        noise = band.factor(ratio.rounds) if band else None
    return replace(estimate, unit="×", value=ratio.value, low=low, high=high, n=ratio.rounds, noise=noise, ratio=ratio)


def _combine_ratios(label: str, ratios: Sequence[Estimate]) -> Estimate:
    """Combine several ratios into the basis of one figure; one that cannot be judged spoils it."""
    sides = tuple(s for e in ratios for s in e.series)
    objection = next((e.objection for e in ratios if e.objection), None)
    if not objection and not (_are_paired(sides) and _common_rounds(sides)):
        objection = "no run has all of its cells in one round"
    return Estimate(
        label, "×", objection=objection, notes=tuple(dict.fromkeys(n for e in ratios for n in e.notes)), series=sides
    )


def _log_ratio(pair: Estimate, number: int) -> float:
    a, b = pair.series
    return math.log(a.values[number] / b.values[number])


def _format_sides(pairs: Sequence[Points]) -> str:
    """Return both sides in words: `java-tomcat:virtual ÷ java-tomcat:platform`."""
    return " ÷ ".join(", ".join(dict.fromkeys(pair[i].entry for pair in pairs)) for i in (0, 1))
