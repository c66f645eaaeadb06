"""The findings of a run for each pair: verdicts by load, their reasons, and what limited the servers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zoo.core.entry_id import server_name
from zoo.core.flag import Flag
from zoo.report.cells import Cells, Level, variant_of
from zoo.report.formatting import format_margin
from zoo.report.wording import format_change, format_flag
from zoo.stats import Ratio
from zoo.stats.lower_bound import LOWER_BOUND
from zoo.stats.metrics import Metric, MetricKind, Word
from zoo.stats.pairs import Band, Comparison, Kind, Pair, RunPairs
from zoo.stats.summary import Row

GOOD, BAD = (Word.FASTER, Word.LESS), (Word.SLOWER, Word.MORE)

MAX_NAMES = 3
"""Largest number of entries that are named; more are only counted."""

SIDES = {**dict.fromkeys(GOOD, "ahead"), **dict.fromkeys(BAD, "behind"), Word.SAME: "same"}
"""The first of a pair by verdict: ahead, behind, or the same as the second."""


@dataclass(frozen=True)
class Finding:
    """One metric of one pair at one load; `band` is the noise band, as a factor."""

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
        return server_name(self.pair.a)

    @property
    def subject(self) -> str:
        """Return the subject of a verdict.

        This is the server if its thread models are compared, otherwise the first of the pair. A server from outside
        has a pair with every entry, so both are named.
        """
        if self.pair.kind is Kind.GUEST:
            return self.names
        return self.server if self.pair.kind is Kind.MODEL else self.pair.a

    @property
    def names(self) -> str:
        """Return `java-tomcat, virtual ÷ platform`, or both names in full if one server is from outside."""
        if self.pair.kind is Kind.GUEST:
            return f"{self.pair.a} ÷ {self.pair.b}"
        return f"{self.server}, {variant_of(self.pair.a)} ÷ {variant_of(self.pair.b)}"

    @property
    def is_lower_bound(self) -> bool:
        """Return whether something other than the servers limited the compared figures."""
        return self.pair.lower_bound and self.metric.kind in (MetricKind.LOAD, MetricKind.LATENCY)

    @property
    def ratio(self) -> Ratio | None:
        """Return the ratio, or None if the figures cannot be compared."""
        return None if self.comparison.verdict.word is Word.NOT_MEASURED else self.comparison.ratio

    @property
    def side(self) -> str:
        """Return whether the first of the pair is `ahead`, `behind` or the `same`, otherwise `open`.

        An A/A difference is `open`, because a program differs from itself only by noise.
        """
        if self.pair.kind is Kind.AA and self.comparison.verdict.differs:
            return "open"
        return SIDES.get(self.comparison.verdict.word, "open")

    @property
    def figure(self) -> str:
        """Return the change with its interval: `+21% (+10 to +33%)`; empty without a ratio."""
        return "" if self.ratio is None else format_change(self.ratio)


def list_findings(compared: RunPairs, kind: Kind) -> list[Finding]:
    """Return every metric of every pair of a kind, in the order of the pairs."""
    return [
        Finding(pair, comparison, _band_factor(compared.bands.get((pair.scenario, metric, pair.jvm)), comparison))
        for pair in compared.of(kind)
        for metric, comparison in pair.comparisons.items()
    ]


def findings_at(found: Iterable[Finding], level: Level) -> list[Finding]:
    return [f for f in found if (f.pair.scenario, f.pair.tier) == (level.scenario, level.tier)]


def number_reasons(found: Sequence[Finding]) -> dict[str, int]:
    """Return the reasons why findings could not be compared, each with a number to refer to."""
    texts = dict.fromkeys(f.comparison.verdict.why or "" for f in found if f.ratio is None)
    return {reason: number for number, reason in enumerate(texts, start=1)}


def format_bands(compared: RunPairs, rounds: int) -> list[str]:
    """Return the noise bands in words: by how much the same program differed from itself."""
    groups: dict[str, list[str]] = {}
    for (scenario, metric, jvm), band in compared.bands.items():
        name = f"{scenario}, {'JVM' if jvm else 'native'}"
        groups.setdefault(name, []).append(f"{metric.name} {format_margin(band.factor(rounds))}")
    return [f"{name}: {', '.join(margins)}" for name, margins in groups.items()]


LIMITING_FLAGS = (*(flag for flag in Flag if flag in LOWER_BOUND), Flag.POOL_CEILING)
"""The flags for a limit between the load and the server, or within the server."""


def limiting_flags(row: Row) -> set[Flag]:
    """Return what limited a cell: the flags that make it a lower bound, and the pool ceiling if any round has it."""
    return {*row.limits, *(flag for flag, _ in row.flags if flag is Flag.POOL_CEILING)}


def describe_limits(cells: Cells, level: Level) -> list[str]:
    """Return what limited the servers at a load: flags that make a figure a lower bound, pool ceilings, failures."""
    rows = cells.rows_at(level)
    texts = []
    for flag in LIMITING_FLAGS:
        names = [row.entry for row in rows if flag in limiting_flags(row)]
        if names:
            affected = ", ".join(names) if len(names) <= MAX_NAMES else f"{len(names)} of {len(rows)} entries"
            texts.append(f"{format_flag(flag)}: {affected}")
    failed = [row.entry for row in rows if row.failures]
    if failed:
        texts.append(f"failed cells: {', '.join(failed)}")
    return texts


def _band_factor(band: Band | None, comparison: Comparison) -> float | None:
    return None if band is None or comparison.ratio is None else band.factor(comparison.ratio.rounds)
