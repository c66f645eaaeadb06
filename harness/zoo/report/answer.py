"""The answer for one server: should it change its thread model, and what would that cost? Pure.

One model is rendered as lines on the terminal, as a page, as JSON and as pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from zoo.core.answer_runs import ARRIVING, COLD, COST, HELD, POOLS, WAITING
from zoo.core.data import Data
from zoo.core.entry_id import server_name
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.core.trial_results import ColdResult
from zoo.report.formatting import format_interval, format_number
from zoo.report.summary import Summary
from zoo.report.wording import MODELS, capitalize, format_change, format_comparison, undecided_lines
from zoo.stats.all_answered import ALL, AnsweredShare, share_of_row
from zoo.stats.interval import Interval
from zoo.stats.metrics import CPU, P99, REQUESTS, Metric, Word
from zoo.stats.pairs import Comparison, Kind, Pair
from zoo.stats.summary import Row, Spread, spread
from zoo.stats.trials import answered_shares, each_result, list_loads, newest_results

Found = Mapping[str, Summary]
"""The summary of the run behind each part of the answer."""

FORMAT = 1
"""Version of the format, which changes if a key is removed or gets another meaning."""

QUOTED = 1_000
"""The number of connections at which a sentence quotes the cost; the lines below it have the others."""

NOT_MEASURED = "not measured"
"""The verdict of a block without lines."""


class AnswerFigure(Data):
    """A figure with its ends; null ends: one round gives no interval."""

    value: float
    low: float | None = None
    high: float | None = None
    unit: str = Field(default="", description="empty for a ratio")


class Line(Data):
    """One figure of a block, for both sides where both were measured."""

    subject: str
    text: str = Field(description="the estimate with its interval, then the word for it")
    pool: AnswerFigure | None = Field(default=None, description="geometric mean with the lowest and highest round")
    other: AnswerFigure | None = Field(default=None, description="the same of the variant without a pool")
    ratio: AnswerFigure | None = Field(default=None, description="other ÷ pool with its 95% interval")
    verdict: str | None = None
    quoted: bool = Field(default=False, description="the summary of its block quotes it")


class AnswerBlock(Data):
    """The answer to one question. Without lines, it was not measured, and the reason says why."""

    name: Literal["waiting", "cost", "cold", "memory", "database"]
    heading: str
    verdict: str = Field(default="", description="a few words; empty if the figures need none")
    reason: str = Field(default="", description="of the verdict")
    lines: list[Line] = Field(default=[])
    notes: list[str] = Field(default=[], description="what comes next after the change")
    source: str = Field(default="", description="where it was measured, if not in the runs of this answer")
    run: str = Field(default="", description="the run behind it, relative to the checkout, if it is a committed one")
    command: str = Field(default="", description="measures what is missing")

    @property
    def summary(self) -> str:
        """Return the verdict with its reason, then the lines that it quotes."""
        verdict = ": ".join(filter(None, [self.verdict, self.reason]))
        texts = [verdict, *(f"{line.subject}: {line.text}" for line in self.lines if line.quoted)]
        return " ".join(f"{capitalize(text)}." for text in texts if text)


class Answer(Data):
    """The answer for one server. `pool` and `other` are the entries that it compares."""

    format: int = FORMAT
    server: str
    pool: str
    other: str
    other_name: str
    blocks: list[AnswerBlock] = Field(description="one for each question, in the order in which they are shown")
    certainty: list[str]
    limits: list[str] = Field(description="what limited the measurement")
    rounds_needed: int | None = Field(description="rounds of the cost that would decide more; null: none would")
    command: str = Field(default="", description="makes the answer more certain; empty if no command would")

    def block(self, name: str) -> AnswerBlock:
        return next(block for block in self.blocks if block.name == name)

    @property
    def text(self) -> str:
        """Return the first two blocks as one paragraph."""
        waiting, cost = self.block("waiting"), self.block("cost")
        parts = [f"{self.server}: {waiting.heading}: {waiting.summary}"]
        if cost.lines:
            parts.append(f"{cost.heading}: {cost.summary}")
        return " ".join([*parts, *self.certainty])


def schema() -> dict[str, Any]:
    """Return the JSON schema of `answer.json`."""
    return Answer.model_json_schema()


@dataclass(frozen=True)
class Variants:
    """The entry with a pool, and the entry that would replace it."""

    pool: str
    other: str
    other_name: str

    @property
    def server(self) -> str:
        return server_name(self.pool)

    def name(self, entry: str) -> str:
        return "the pool" if entry == self.pool else self.other_name

    def __iter__(self) -> Iterator[str]:
        return iter((self.pool, self.other))


def sides_of(models: Mapping[str, str]) -> Variants | None:
    """Return the pool and the entry to compare it with, or None if either is missing.

    That entry is the one with virtual threads if there is one, otherwise the first with another thread model.
    """
    pool = next((e for e, model in models.items() if model == "platform-thread"), None)
    others = [e for e, model in models.items() if model != "platform-thread"]
    other = next((e for e in others if models[e] == "virtual-thread"), next(iter(others), None))
    return Variants(pool, other, MODELS[models[other]]) if pool and other else None


def make_answer(sides: Variants, found: Found, others: Sequence[AnswerBlock] = ()) -> Answer:
    """Return the answer for one server.

    `others` are blocks that other runs fill: the comparison of pool sizes, and what only the reference machine
    measured. A block from the runs of the answer comes before one of `others` with the same name, except that the
    comparison of pool sizes replaces that of the two variants.
    """
    own = [
        _cost_block(sides, found),
        cold_block(sides, found[COLD].records if COLD in found else []),
        memory_block(sides, _held(sides, found)),
    ]
    by_name = {block.name: block for block in (*others, *own) if block.lines}
    pools = next((block for block in others if block.name == "waiting"), None)
    by_name["waiting"] = pools or _waiting_block(sides, found)
    missing = {block.name: block for block in (*own, _no_database())}
    needed = rounds_needed(sides, found)
    return Answer(
        server=sides.server,
        pool=sides.pool,
        other=sides.other,
        other_name=sides.other_name,
        blocks=[by_name.get(name) or missing[name] for name in ("waiting", "cost", "cold", "memory", "database")],
        certainty=_certainty(sides, found),
        limits=_limits(sides, found),
        rounds_needed=needed,
        command=f"make answer SERVER={sides.server} ROUNDS={needed}" if needed else "",
    )


def rounds_needed(sides: Variants, found: Found) -> int | None:
    """Return how many rounds of the cost run would decide every comparison that a few more rounds can decide.

    Return None if there is no such comparison.
    """
    more = max((c.verdict.more or 0 for c in _decisive(sides, found)), default=0)
    return found[COST].run.plan.rounds + more if more else None


# --- requests that wait


def _waiting_block(sides: Variants, found: Found) -> AnswerBlock:
    """Return what the pool and the other entry served under each load, and the recommendation that follows."""
    seen: list[tuple[AnsweredShare, AnsweredShare]] = []
    lines: list[Line] = []
    if waiting := _waiting(sides, found):
        (pool, by_pool), (other, by_other) = waiting
        seen.append((by_pool, by_other))
        lines.append(
            Line(
                subject=f"{pool.actual or 0:,} requests at once, each waits {pool.delay_s:g} s",
                text=f"in the first wait, the pool answers {_count(pool, by_pool)} and {sides.other_name} "
                f"{_count(other, by_other)}{_memory(pool, other)}",
                quoted=True,
            )
        )
    arriving = answered_shares(found[ARRIVING].records) if ARRIVING in found else {}
    if {sides.pool, sides.other} <= set(arriving):
        by_pool, by_other = arriving[sides.pool], arriving[sides.other]
        one = newest_results(found[ARRIVING].records)[sides.pool]
        seen.append((by_pool, by_other))
        lines.append(
            Line(
                subject=f"{one.rate:,} requests per second for {one.duration_s:g} s, each waits {one.delay_s:g} s",
                text=f"within {one.timeout_s:g} s, the pool answers {by_pool.text} and {sides.other_name} "
                f"{by_other.text}",
                quoted=True,
            )
        )
    verdict, reason = _advise(sides, seen)
    return AnswerBlock(
        name="waiting",
        heading="If requests wait",
        verdict=verdict,
        reason=reason,
        lines=lines,
        command="" if lines else f"make answer SERVER={sides.server}",
    )


def _advise(sides: Variants, seen: Sequence[tuple[AnsweredShare, AnsweredShare]]) -> tuple[str, str]:
    """Return the recommendation and its reason."""
    if not seen:
        return NOT_MEASURED, "the runs have no requests that wait"
    if any(other.complete and not pool.complete for pool, other in seen):
        return f"switch to {sides.other_name}, or enlarge the pool", "the pool keeps requests waiting"
    if all(pool.complete for pool, _ in seen):
        return "leave it", "the pool has a thread for each waiting request"
    return "do not switch for this", f"{sides.other_name} do not answer all of them in time"


def _waiting(sides: Variants, found: Found) -> list[tuple[Row, AnsweredShare]] | None:
    """Return the pool and the other entry, in this order, or None if not both were measured."""
    if WAITING not in found:
        return None
    seen = {row.entry: (row, share) for row in found[WAITING].cells.rows.values() if (share := share_of_row(row))}
    both = [seen[entry] for entry in sides if entry in seen]
    return both if len(both) == 2 else None


def _count(row: Row, seen: AnsweredShare) -> str:
    """Return how many requests were answered: `all`, `200` or `all (half of them only after 25 s)`."""
    return f"{seen.share * (row.actual or 0):,.0f}" if seen.share < ALL else seen.text


def _memory(pool: Row, other: Row) -> str:
    if not pool.rss_peak_mb or not other.rss_peak_mb:
        return ""
    return f" (peak memory {format_number(pool.rss_peak_mb.median)} and {format_number(other.rss_peak_mb.median)} MB)"


# --- requests that do not wait

COST_FIGURES: Mapping[Metric, tuple[str, float, str]] = {
    CPU: ("cpu_s_per_million", 1.0, "µs"),
    REQUESTS: ("rps", 1.0, "/s"),
    P99: ("p99_us", 1e-3, "ms"),
}
"""For each metric of the cost: the field of a row, its scale and its unit."""

DECISIVE = (CPU, REQUESTS)
"""Metrics on which more rounds are spent."""

GAINS = (Word.LESS, Word.FASTER)
MIXED = "some figures are better and some worse"


def _cost_block(sides: Variants, found: Found) -> AnswerBlock:
    """Return what the switch costs or gains if no request waits, at each connection count."""
    heading, pairs = "If nothing waits", _cost_pairs(sides, found)
    if not pairs:
        return _missing(
            "cost", heading, "the runs have no requests without a wait", f"make answer SERVER={sides.server}"
        )
    rows = {(row.entry, row.tier): row for row in found[COST].cells.rows.values()}
    quoted = next((pair for pair in pairs if pair.requested == QUOTED), pairs[-1])
    lines = [
        _cost_line(sides, metric, pair, rows, quoted=pair is quoted)
        for pair in pairs
        for metric in COST_FIGURES
        if metric in pair.comparisons
    ]
    verdict, reason = _cost_advice([(_connections(sides, pair, rows), pair) for pair in pairs], quoted)
    return AnswerBlock(name="cost", heading=heading, verdict=verdict, reason=reason, lines=lines)


def _connections(sides: Variants, pair: Pair, rows: Mapping[tuple[str, str], Row]) -> str:
    """Return the number of connections that there really were."""
    actual = rows[sides.pool, pair.tier].actual
    return f"{pair.requested if actual is None else actual:,}"


def _cost_advice(pairs: Sequence[tuple[str, Pair]], quoted: Pair) -> tuple[str, str]:
    """Return the verdict at the quoted connection count, and those at the others if they differ.

    `pairs` have the number of connections that there really were, which may be the same for several.
    """
    verdicts = [
        (at, pair, _cost_verdict([c for m, c in pair.comparisons.items() if m in COST_FIGURES])) for at, pair in pairs
    ]
    count, verdict = next((at, word) for at, pair, word in verdicts if pair is quoted)
    others = dict.fromkeys(f"at {at}, {word}" for at, _, word in verdicts if word != verdict)
    return verdict, "; ".join([f"judged at {count} connections", *others]) if others else ""


def _cost_pairs(sides: Variants, found: Found) -> list[Pair]:
    if COST not in found:
        return []
    compared = found[COST].compared
    pairs = [p for kind in (Kind.MODEL, Kind.VARIANT) for p in compared.of(kind)]
    return [p for p in pairs if (p.a, p.b) == (sides.other, sides.pool)]


def _cost_line(
    sides: Variants, metric: Metric, pair: Pair, rows: Mapping[tuple[str, str], Row], *, quoted: bool
) -> Line:
    """Return one metric at one connection count: both levels, their ratio with its interval, then the word."""
    name, scale, unit = COST_FIGURES[metric]
    pool, other = (_estimate(getattr(rows[entry, pair.tier], name), scale, unit) for entry in sides)
    compared = pair.comparisons[metric]
    ratio, at = compared.ratio, f"{_connections(sides, pair, rows)} connections"
    return Line(
        subject=f"{metric.title} at {at}",
        text=", ".join(filter(None, [format_levels(pool, other), format_estimate(compared)])),
        pool=pool,
        other=other,
        ratio=AnswerFigure(value=ratio.value, low=ratio.low, high=ratio.high) if ratio else None,
        verdict=compared.verdict.text,
        quoted=quoted,
    )


def format_levels(pool: AnswerFigure | None, other: AnswerFigure | None) -> str:
    """Format the figures of both sides: `19 → 23 µs`; empty if one is missing."""
    if pool is None or other is None:
        return ""
    unit = pool.unit if pool.unit.startswith("/") else f" {pool.unit}"
    return f"{format_number(pool.value)} → {format_number(other.value)}{unit}"


def format_estimate(comparison: Comparison) -> str:
    """Format a comparison with the estimate first: `+21% (+11 to +31%): more`."""
    if comparison.ratio is None or comparison.verdict.word is Word.NOT_MEASURED:
        return format_comparison(comparison)
    least = "at least " if comparison.verdict.at_least else ""
    return f"{format_change(comparison.ratio)}: {least}{comparison.verdict.label}"


def _estimate(seen: Spread | None, scale: float, unit: str) -> AnswerFigure | None:
    if seen is None or seen.mean is None:
        return None
    return AnswerFigure(value=seen.mean * scale, low=seen.low * scale, high=seen.high * scale, unit=unit)


def _cost_verdict(compared: Sequence[Comparison]) -> str:
    """Return what to do about CPU time, throughput and latency: by the certain differences, if there are any."""
    known = [c for c in compared if c.ratio is not None and c.verdict.word is not Word.NOT_MEASURED]
    if not known:
        return NOT_MEASURED
    certain = [c.verdict.word for c in known if c.verdict.differs]
    # More rounds cannot decide another metric, so none is called probable.
    words = certain or [c.verdict.likely for c in known if c.verdict.likely and c.metric in DECISIVE]
    if not words:
        return "no difference" if all(c.verdict.word is Word.SAME for c in known) else "no clear difference"
    gains = [word for word in words if word in GAINS]
    if len(gains) == len(words):
        action = "switching saves CPU time" if Word.LESS in words else "switching is faster"
    else:
        action = MIXED if gains else "keep the pool"
    return action if certain else f"probably {action}"


# --- a cold start, memory, databases


def cold_block(sides: Variants, records: Sequence[Record], source: str = "", run: str = "") -> AnswerBlock:
    """Return after how many seconds under load each side reached its full speed."""
    heading = "Starting cold"
    lines = []
    for level in list_loads(records):
        found = each_result(records, level, ColdResult)
        for entry in sides:
            if each := found.get(entry):
                lines.append(Line(subject=capitalize(sides.name(entry)), text=_reached(each), quoted=True))
    if not lines:
        command = f"make bench SERVER={sides.server} SCENARIO=cold"
        return _missing("cold", heading, "the runs have no cold start", command)
    return AnswerBlock(name="cold", heading=heading, lines=lines, source=source, run=run)


def _reached(each: Sequence[ColdResult]) -> str:
    known = spread(result.t95_s for result in each)
    if known is None or known.rounds < len(each):
        where = " in every round" if len(each) > 1 else ""
        return f"95% of full speed was not reached within {each[0].duration_s:g} s{where}"
    return f"95% of full speed after {format_number(known.median)} s"


def _held(sides: Variants, found: Found) -> dict[str, Interval]:
    if HELD not in found:
        return {}
    rows = found[HELD].cells.rows.values()
    return {row.entry: row.kb_per_connection for row in rows if row.entry in sides and row.kb_per_connection}


def memory_block(sides: Variants, costs: Mapping[str, Interval], source: str = "", run: str = "") -> AnswerBlock:
    """Return the memory per waiting request of each side that has a figure, in kB."""
    heading = "Memory per waiting request"
    lines = []
    for entry in sides:
        if cost := costs.get(entry):
            figure = AnswerFigure(value=cost.value, low=cost.low, high=cost.high, unit="kB")
            lines.append(
                Line(
                    subject=capitalize(sides.name(entry)),
                    text=format_interval(cost, unit="kB"),
                    pool=figure if entry == sides.pool else None,
                    other=figure if entry == sides.other else None,
                    quoted=True,
                )
            )
    if not lines:
        command = f"make bench SERVER={sides.server} SCENARIO=held"
        return _missing("memory", heading, "no run held thousands of requests", command)
    return AnswerBlock(name="memory", heading=heading, lines=lines, source=source, run=run)


def _no_database() -> AnswerBlock:
    return _missing("database", "A database pool of 10 behind it", "no run has a database", "make bench-jdbc")


def _missing(
    name: Literal["cost", "cold", "memory", "database"], heading: str, reason: str, command: str
) -> AnswerBlock:
    return AnswerBlock(name=name, heading=heading, verdict=NOT_MEASURED, reason=reason, command=command)


# --- how certain it is


def _certainty(sides: Variants, found: Found) -> list[str]:
    """Return how many rounds there were, and how many comparisons are not decided."""
    rounds = [f"{found[part].run.plan.rounds} for the {part}" for part in (COST, POOLS) if part in found]
    made = f"Rounds: {', '.join(rounds)}" if rounds else "The cost was not measured"
    undecided = undecided_lines(_decisive(sides, found), " of CPU time and throughput")
    return [f"{made}; brackets contain 95% intervals.", *undecided]


def _decisive(sides: Variants, found: Found) -> list[Comparison]:
    """Return the comparisons of CPU time and throughput, on which more rounds are spent."""
    return [c for p in _cost_pairs(sides, found) for m, c in p.comparisons.items() if m in DECISIVE]


def _limits(sides: Variants, found: Found) -> list[str]:
    """Return what the sides share with the load generator, and the flags of their cells."""
    runs = [summary.run for summary in found.values()]
    unknown = [run.host.unknown_machine for run in runs if run.host.unknown_machine]
    told = list(dict.fromkeys([*(f"{capitalize(run.cores)}." for run in runs), *unknown]))
    rows = [row for summary in found.values() for row in summary.cells.rows.values() if row.entry in sides]
    raised = {flag for row in rows for flag, _ in row.flags}
    reduced = {
        f"{row.requested:,} connections were requested, but {row.actual:,} were possible ({row.limited_by})."
        for row in rows
        if row.limited_by and row.actual is not None
    }
    failed = sorted({f"{row.entry}: {failure}" for row in rows for failure in row.failures})
    return [*told, *sorted(reduced), *(f"{capitalize(flag.text)}." for flag in Flag if flag in raised), *failed]
