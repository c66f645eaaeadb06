"""Estimates a rule's figure, with its interval, from the runs that have its cells. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zoo.analysis.metrics import Class
from zoo.analysis.samples import sample
from zoo.analysis.stats import Ratio, student_ratio, unpaired_ratio
from zoo.analysis.stats.interval import of_difference, of_mean, of_median
from zoo.claims.points import ClaimPoint
from zoo.claims.quantities import QUANTITIES, Quantity
from zoo.claims.series import Series
from zoo.claims.sources import ClaimEvidence


@dataclass(frozen=True)
class Estimate:
    """A figure of one cell, or of some that are compared.

    `low` and `high` are None without an interval. `noise`: the factor by which a program differs from itself. `why`:
    nothing can be judged, and what stands in the way. `ratio`: what the interval is of, where it is of a ratio. `notes`
    are what a reader must know beside the figure.
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


def figure(evidence: ClaimEvidence, point: ClaimPoint, name: str) -> Estimate:
    """A quantity of one cell."""
    quantity = QUANTITIES[name]
    found = evidence.find([point], quantity)
    made = _begun(point.text, quantity.unit, found, absolute=not quantity.per_connection)
    if made.why:
        return made
    one = made.series[0]
    interval = of_median(one.starts) if one.starts else of_mean(one.figures)
    high = math.inf if one.at_least and interval.high is not None else interval.high
    return replace(made, value=interval.value, low=interval.low, high=high, n=interval.n, counts=tuple(one.figures))


def ratio(evidence: ClaimEvidence, over: tuple[ClaimPoint, ...], name: str) -> Estimate:
    """A quantity of the first point over that of the second."""
    quantity = QUANTITIES[name]
    label = f"{over[0].text} ÷ {over[1].text}"
    made = _begun(label, "×", evidence.find(over, quantity), alike=over[0].tiers == over[1].tiers)
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
        return _with(made, unpaired_ratio(a.figures, b.figures), made.series)
    logs = sample(a.side, b.side)
    assert logs is not None  # else `_objections` has said that no round has both
    return _with(made, a.archive.prior(a.point, quantity.metric).ratio(logs), made.series, quantity)


def mean_ratio(evidence: ClaimEvidence, pairs: Sequence[tuple[ClaimPoint, ...]], name: str) -> Estimate:
    """The geometric mean of the ratios of all pairs, round by round."""
    each = _ratios(evidence, pairs, name)
    whole = _gathered(f"mean over {len(each)} cells of {_sides(pairs)}", each)
    if whole.why:
        return whole
    made = student_ratio([sum(_log(e, n) for e in each) / len(each) for n in _common(whole.series)])
    found = _with(whole, made, whole.series, QUANTITIES[name])
    # of a mean over cells that vary each by itself, noise is so much less
    return replace(found, noise=found.noise and found.noise ** (1 / math.sqrt(len(each))))


def gain(evidence: ClaimEvidence, four: tuple[ClaimPoint, ...], name: str) -> Estimate:
    """The ratio of the first two points over that of the last two."""
    first, second = _ratios(evidence, [four[:2], four[2:]], name)
    whole = _gathered(f"({first.label}) ÷ ({second.label})", [first, second])
    if whole.why:
        return whole
    if any(s.at_least for s in whole.series):
        return replace(whole, why="a side is a lower bound, so there is no ratio of ratios")
    made = student_ratio([_log(first, n) - _log(second, n) for n in _common(whole.series)])
    return replace(whole, value=made.value, low=made.low, high=made.high, n=made.rounds, ratio=made)


def spread(evidence: ClaimEvidence, pairs: Sequence[tuple[ClaimPoint, ...]], name: str) -> Estimate:
    """The highest ratio less the lowest; the interval is that of the two taken apart, which is rather too wide."""
    each = _ratios(evidence, pairs, name)
    whole = _gathered(f"highest less lowest of {len(each)} cells of {_sides(pairs)}", each)
    if whole.why:
        return whole
    most, least = max(each, key=lambda e: e.value), min(each, key=lambda e: e.value)
    if most.low is None or most.high is None or least.low is None or least.high is None:
        return replace(whole, value=most.value - least.value, n=most.n)
    low = max(most.low - least.high, 0.0)
    return replace(whole, value=most.value - least.value, low=low, high=most.high - least.low, n=min(e.n for e in each))


def difference(evidence: ClaimEvidence, less: tuple[ClaimPoint, ...], name: str) -> Estimate:
    """A quantity of the first point less that of the second, round by round; of starts of programs, of their means."""
    quantity = QUANTITIES[name]
    label = f"{less[0].text} less {less[1].text}"
    found = evidence.find(less, quantity)
    made = _begun(label, quantity.unit, found, absolute=not quantity.per_connection)
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


def _ratios(evidence: ClaimEvidence, pairs: Sequence[tuple[ClaimPoint, ...]], name: str) -> list[Estimate]:
    """Those of all pairs, from one run that has them all, even where another has a better one of some."""
    found = evidence.find([point for pair in pairs for point in pair], QUANTITIES[name])
    if not isinstance(found, str) and len({s.archive.id for s in found}) == 1:
        evidence = replace(evidence, archives=[source.archive for source in found[0].sources])
    return [ratio(evidence, pair, name) for pair in pairs]


def _begun(
    label: str, unit: str, found: list[Series] | str, *, absolute: bool = False, alike: bool = False
) -> Estimate:
    """An estimate without a figure yet, and with the first objection to one."""
    if isinstance(found, str):
        return Estimate(label, unit, why=found)
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


def _common(found: Iterable[Series]) -> list[int]:
    """The rounds that all of them have."""
    return sorted(set.intersection(*(set(s.values) for s in found)))


def _notes(found: Iterable[Series]) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for one in found:
        if one.cut:
            notes[one.cut] = None
        if one.shared:
            notes["server and generator shared the cores"] = None
        if one.at_least:
            notes[f"{one.point.text}: at least this"] = None
        if one.older:
            notes[f"an older build of {one.server}"] = None
        if one.parts:
            notes[f"{len(one.parts)} runs together"] = None
    if len({one.archive.id for one in found}) > 1:
        notes["from different runs"] = None
    return tuple(notes)


def _paired(found: Sequence[Series]) -> bool:
    """Whether rounds of the same run are set against each other."""
    return len({s.archive.id for s in found}) == 1 and not any(s.starts for s in found)


def _with(made: Estimate, found: Ratio, sides: Sequence[Series], quantity: Quantity | None = None) -> Estimate:
    """With a ratio's figures. A side that is a lower bound leaves the ratio open in its direction."""
    tops, bottoms = sides[0::2], sides[1::2]
    low = 0.0 if found.low is not None and any(s.at_least for s in bottoms) else found.low
    high = math.inf if found.high is not None and any(s.at_least for s in tops) else found.high
    noise = _noise(sides, quantity, found.rounds) if quantity else None
    return replace(made, unit="×", value=found.value, low=low, high=high, n=found.rounds, noise=noise, ratio=found)


def _noise(sides: Sequence[Series], quantity: Quantity, rounds: int) -> float | None:
    """Of the first cell's scenario, in its run."""
    one = sides[0]
    bands: Mapping[str, float] = {
        scenario: band.factor(rounds)
        for (scenario, metric, jvm), band in one.archive.bands.items()
        if metric is quantity.metric and jvm is one.jvm
    }
    return bands.get(one.point.asked)


def _gathered(label: str, each: Sequence[Estimate]) -> Estimate:
    """Several ratios as the ground of one figure; one that cannot be judged spoils it."""
    sides = tuple(s for e in each for s in e.series)
    why = next((e.why for e in each if e.why), None)
    if not why and not (_paired(sides) and _common(sides)):
        why = "no run has all of its cells in one round"
    return Estimate(label, "×", why=why, notes=tuple(dict.fromkeys(n for e in each for n in e.notes)), series=sides)


def _log(pair: Estimate, number: int) -> float:
    a, b = pair.series
    return math.log(a.values[number] / b.values[number])


def _sides(pairs: Sequence[tuple[ClaimPoint, ...]]) -> str:
    """`java-tomcat:virtual ÷ java-tomcat:platform`"""
    return " ÷ ".join(", ".join(dict.fromkeys(pair[i].entry for pair in pairs)) for i in (0, 1))
