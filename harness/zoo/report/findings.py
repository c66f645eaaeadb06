"""What a run found of each pair: verdicts by load, their reasons, and what limited the servers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zoo.analysis.lower_bound import LOWER_BOUND
from zoo.analysis.metrics import Class, Metric, Word
from zoo.analysis.pairs import Band, Compared, Comparison, Kind, Pair
from zoo.analysis.stats import Ratio
from zoo.analysis.summary import Row
from zoo.model.entry_id import server_of
from zoo.model.flag import Flag
from zoo.report.cells import Cells, Level, variant
from zoo.report.formatting import format_interval, format_margin, format_ratio
from zoo.report.text.wording import words

GOOD, BAD = (Word.FASTER, Word.LESS), (Word.SLOWER, Word.MORE)

MOST_NAMES = 3
"""More entries than this are counted, not named."""

SIDES = {**dict.fromkeys(GOOD, "ahead"), **dict.fromkeys(BAD, "behind"), Word.SAME: "same"}
"""Whom a verdict speaks for: the first of its pair, the second, or that they are alike."""


@dataclass(frozen=True)
class Finding:
    """One metric of one pair at one load; `band` is what noise alone fills, as a factor."""

    pair: Pair
    comparison: Comparison
    band: float | None

    @property
    def metric(self) -> Metric:
        return self.comparison.metric

    @property
    def title(self) -> str:
        return self.metric.title

    @property
    def server(self) -> str:
        return server_of(self.pair.a)

    @property
    def who(self) -> str:
        """Of whom a verdict speaks: the server where its thread models are compared, else the first of the pair.

        A server from outside has a pair with every entry, so there it is both.
        """
        if self.pair.kind is Kind.GUEST:
            return self.names
        return self.server if self.pair.kind is Kind.MODEL else self.pair.a

    @property
    def names(self) -> str:
        """`java-tomcat, virtual ÷ platform`, or both in full where they are of different servers"""
        if self.pair.kind is Kind.GUEST:
            return f"{self.pair.a} ÷ {self.pair.b}"
        return f"{self.server}, {variant(self.pair.a)} ÷ {variant(self.pair.b)}"

    @property
    def bound(self) -> bool:
        """True where something other than the servers limited what is compared."""
        return self.pair.lower_bound and self.metric.kind in (Class.LOAD, Class.LATENCY)

    @property
    def ratio(self) -> Ratio | None:
        """None where the figures cannot be compared, though there may be some."""
        return None if self.comparison.verdict.word is Word.NOT_MEASURED else self.comparison.ratio

    @property
    def side(self) -> str:
        """Of A/A nobody is ahead: one program can only differ from itself by noise."""
        if self.pair.kind is Kind.AGAIN and self.comparison.verdict.differs:
            return "open"
        return SIDES.get(self.comparison.verdict.word, "open")

    @property
    def figure(self) -> str:
        """`×1.21 [1.10, 1.33]`"""
        return "" if self.ratio is None else f"×{format_interval(self.ratio, format_ratio)}"


def findings(compared: Compared, kind: Kind) -> list[Finding]:
    """Every metric of every pair of a kind, in the order of the pairs."""
    return [
        Finding(pair, comparison, _factor(compared.bands.get((pair.scenario, metric, pair.jvm)), comparison))
        for pair in compared.of(kind)
        for metric, comparison in pair.comparisons.items()
    ]


def at(found: Iterable[Finding], level: Level) -> list[Finding]:
    return [f for f in found if (f.pair.scenario, f.pair.tier) == (level.scenario, level.tier)]


def reasons(found: Sequence[Finding]) -> dict[str, int]:
    """Why some could not be compared, each with a number to refer to."""
    whys = dict.fromkeys(f.comparison.verdict.why or "" for f in found if f.ratio is None)
    return {why: number for number, why in enumerate(whys, start=1)}


def bands(compared: Compared, rounds: int) -> list[str]:
    """By how much one and the same program differed from itself, in words."""
    groups: dict[str, list[str]] = {}
    for (scenario, metric, jvm), band in compared.bands.items():
        name = f"{scenario}, {'JVM' if jvm else 'native'}"
        groups.setdefault(name, []).append(f"{metric.name} {format_margin(band.factor(rounds))}")
    return [f"{name}: {', '.join(told)}" for name, told in groups.items()]


LIMITS = (*(flag for flag in Flag if flag in LOWER_BOUND), Flag.POOL_CEILING)
"""What stands between a load and a server, or within it."""


def limiting(row: Row) -> set[Flag]:
    """What limited a cell: what makes it a lower bound, and its pool in any round."""
    return {*row.limits, *(flag for flag, _ in row.flags if flag is Flag.POOL_CEILING)}


def limits(cells: Cells, level: Level) -> list[str]:
    """What stood between a load and the servers: flags that make a figure a lower bound, ceilings, failures."""
    rows = cells.at(level)
    made = []
    for flag in LIMITS:
        names = [row.entry for row in rows if flag in limiting(row)]
        if names:
            said = ", ".join(names) if len(names) <= MOST_NAMES else f"{len(names)} of {len(rows)} entries"
            made.append(f"{words(flag)}: {said}")
    failed = [row.entry for row in rows if row.failures]
    if failed:
        made.append(f"failed cells: {', '.join(failed)}")
    return made


def _factor(band: Band | None, comparison: Comparison) -> float | None:
    return None if band is None or comparison.ratio is None else band.factor(comparison.ratio.rounds)
