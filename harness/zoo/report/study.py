"""What the runs of a study about one server say, in sentences and short tables for its document. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from zoo.analysis.held import LEAST_COUNTS, costs
from zoo.analysis.metrics import CPU, PEAK_RSS, REQUESTS, Metric, Word
from zoo.analysis.open import rate_made
from zoo.analysis.pairs import Kind, Pair, compare
from zoo.analysis.stats import student_ratio
from zoo.analysis.summary import spread
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import OpenResult, RampResult
from zoo.report.columns import title_of
from zoo.report.formatting import format_interval, format_number, format_percent, format_ratio, format_spread
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table
from zoo.report.text.wording import listed
from zoo.report.trial_rows import levels, peak_mb, results

SAID = {
    Word.FASTER: "virtual threads serve more",
    Word.SLOWER: "platform threads serve more",
    Word.SAME: "the same (within 5%)",
    Word.OPEN: "undecided",
    Word.NOT_MEASURED: "not comparable",
}
CURVE_S = (2, 5, 10, 20, 30, 60, 90, 120, 180, 240)


@dataclass(frozen=True)
class Answered:
    """A question with the run that answers it and where that is kept."""

    asks: str
    run: Run
    records: Sequence[Record]
    link: str


def told(questions: Iterable[Answered], where: Callable[[Run], str]) -> str:
    """All questions as Markdown; `where` says on what machine a run was made."""
    made = []
    for one in questions:
        [scenario] = one.run.plan.scenarios
        made += [f"**{one.asks}**", *TELLERS[scenario](one.run, one.records)]
        rounds = one.run.plan.rounds
        count = f"{rounds} rounds" if rounds > 1 else "One round"
        made.append(f"[Committed run]({one.link}): {count}. {where(one.run)}.")
    return "\n\n".join(made)


def sweep(run: Run, records: Sequence[Record]) -> list[str]:
    """Throughput and CPU of virtual over platform threads, by connections."""
    pairs = compare(run.plan.entries, records).of(Kind.MODEL)
    if not pairs:
        return ["No pair was measured."]
    sentences = [f"At {listed(tiers)} clients: {word}." for word, tiers in _by_word(pairs).items()]
    if any(p.comparisons[REQUESTS].verdict.shared for p in pairs):
        sentences.append(
            "Server and wrk shared the cores, so requests a second say who is ahead with wrk beside it; CPU per "
            "request is the server's own."
        )
    body = [[p.tier, _word(p), _ratio(p, REQUESTS), _ratio(p, CPU)] for p in pairs]
    columns = ["clients", "", "req/s, virtual ÷ platform", "CPU per request, virtual ÷ platform"]
    return [" ".join(sentences), render_table(Table("", columns, body, text=2)), *_failed(records)]


def ramp_up(run: Run, records: Sequence[Record]) -> list[str]:
    """When all connections were served, and the way there."""
    made = []
    for level in levels(records):
        found = {entry: [r for _, r in of] for entry, of in sorted(results(records, level, RampResult).items())}
        if found:
            made.append(" ".join(_reached(entry, each) for entry, each in found.items()))
            made.append(render_table(_curves(found)))
    return [*made, *_failed(records)]


def held(run: Run, records: Sequence[Record]) -> list[str]:
    """What a waiting connection costs, and the memory at each count."""
    found = costs(records)
    entries = sorted({r.entry for r in records})
    sentences = []
    for entry in entries:
        cost = found.get((entry, "rss"))
        sentences.append(
            f"`{_name(entry)}` takes {format_interval(cost.interval)} kB of resident memory for each."
            if cost
            else f"What one takes of `{_name(entry)}` is not known: {LEAST_COUNTS} counts must be held in every round."
        )
    pairs = {p.tier: p for p in compare(run.plan.entries, records).of(Kind.MODEL)}
    body = [
        [tier, *(_peak(records, entry, tier) for entry in entries), _ratio(pair, PEAK_RSS)]
        for tier, pair in pairs.items()
    ]
    columns = [
        "connections",
        *(f"{_name(entry)}, {title_of('rss_peak_mb')}" for entry in entries),
        "virtual ÷ platform",
    ]
    return [" ".join(sentences), render_table(Table("", columns, body)), *_failed(records)]


def load(run: Run, records: Sequence[Record]) -> list[str]:
    """Memory at two constant rates, and how much of it is in direct buffers."""
    body: list[list[str]] = []
    sentences = []
    for entry, steps in _steps(records).items():
        body += [
            [_name(entry), f"{rate:,}", _spread(seen.values(), peak_mb), _spread(seen.values(), _direct_mb)]
            for rate, seen in steps.items()
        ]
        low, high = min(steps), max(steps)
        peak, direct = (_change(steps[low], steps[high], read) for read in (peak_mb, _direct_mb))
        sentences.append(
            f"From {low:,} to {high:,} requests a second, the peak of `{_name(entry)}` is {peak}, "
            f"its direct buffers {direct}."
        )
    columns = ["variant", "requests a second", title_of("rss_peak_mb"), "direct buffers MB"]
    return [
        " ".join([*sentences, *_late(records), *_not_made(records)]),
        render_table(Table("", columns, body)),
        *_failed(records),
    ]


Teller = Callable[[Run, Sequence[Record]], list[str]]
TELLERS: dict[str, Teller] = {"cpu": sweep, "ramp": ramp_up, "held": held, "rate": load}
"""By scenario."""


def _name(entry: str) -> str:
    """The variant, with the condition where there is one."""
    return entry.partition(":")[2]


def _by_word(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        found.setdefault(_word(pair), []).append(pair.tier)
    return found


def _word(pair: Pair) -> str:
    return SAID[pair.comparisons[REQUESTS].verdict.word]


def _ratio(pair: Pair, metric: Metric) -> str:
    """`0.93 [0.89, 0.97]`"""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None or comparison.ratio is None else format_interval(comparison.ratio, format_ratio)


def _reached(entry: str, each: Sequence[RampResult]) -> str:
    """When 95 % were served; else how far it came."""
    times = [r.t95_s for r in each if r.t95_s is not None]
    threads = format_number(statistics.median(max(r.threads, default=0) for r in each))
    with_threads = f"with up to {threads} OS threads"
    if len(times) == len(each):
        return f"`{_name(entry)}` serves 95 % of them from second {format_spread(spread(times))} on, {with_threads}."
    rounds = f" in {len(each) - len(times)} of {len(each)} rounds" if times else ""
    late = spread(None if r.late is None else 100 * r.late for r in each)
    return (
        f"`{_name(entry)}` does not come to serve 95 % of them within {each[0].duration_s:g} s{rounds}: in the last "
        f"third of the time it gives {format_spread(late)} % of the answers that are possible, {with_threads}."
    )


def _curves(found: dict[str, list[RampResult]]) -> Table:
    """Medians over rounds at some times, the entries side by side."""
    duration_s = min(r.duration_s for each in found.values() for r in each)
    times = [t for t in CURVE_S if t <= duration_s]
    columns = ["seconds", *(f"{_name(e)}, {what}" for e in found for what in ("served %", "threads"))]
    body = [
        [str(t), *(text for each in found.values() for text in (_served(each, t), _threads(each, t)))] for t in times
    ]
    return Table("", columns, body)


def _served(each: Sequence[RampResult], at_s: float) -> str:
    """The share of the connections that were answered within the last wait."""
    shares = []
    for result in each:
        end, size = round(at_s / result.window_s), round(result.delay_s / result.window_s)
        shares.append(100 * sum(result.windows[max(0, end - size) : end]) / result.connections)
    return f"{statistics.median(shares):.0f}"


def _threads(each: Sequence[RampResult], at_s: float) -> str:
    counts = []
    for result in each:
        seen = [n for t, n in zip(result.threads_t, result.threads, strict=True) if t <= at_s]
        counts += seen[-1:]
    return f"{statistics.median(counts):.0f}" if counts else NONE


def _peak(records: Sequence[Record], entry: str, tier: str) -> str:
    return format_spread(spread(peak_mb(r) for r in records if (r.entry, r.tier) == (entry, tier)))


ReadMemory = Callable[[Record], float | None]


def _direct_mb(record: Record) -> float | None:
    known = record.memory.direct_used_kb if record.memory else None
    return None if known is None else known / 1024


def _steps(records: Sequence[Record]) -> dict[str, dict[int, dict[int, Record]]]:
    """By entry and rate, the rounds in which the generator made it."""
    found: dict[str, dict[int, dict[int, Record]]] = {}
    for record, result in _opened(records):
        seen = found.setdefault(record.entry, {}).setdefault(result.rate, {})
        if rate_made(result):
            seen[record.round] = record
    return {entry: dict(sorted(steps.items())) for entry, steps in sorted(found.items())}


def _late(records: Sequence[Record]) -> list[str]:
    found = _opened(records)
    late_ms = [result.lag.p99_us / 1000 for _, result in found if result.behind and rate_made(result)]
    if not late_ms:
        return []
    return [
        f"In {len(late_ms)} of {len(found)} cells the generator made the rate but sent one request in a hundred "
        f"{statistics.median(late_ms):.1f} ms late or more (at worst {max(late_ms):.1f}): there are no latencies, but "
        "memory is told."
    ]


def _not_made(records: Sequence[Record]) -> list[str]:
    return [
        f"`{_name(record.entry)}` at {result.rate:,} requests a second, round {record.round}: no data, {result.behind}."
        for record, result in _opened(records)
        if not rate_made(result)
    ]


def _opened(records: Sequence[Record]) -> list[tuple[Record, OpenResult]]:
    return [one for level in levels(records) for of in results(records, level, OpenResult).values() for one in of]


def _spread(records: Iterable[Record], read: ReadMemory) -> str:
    return format_spread(spread(map(read, records)))


def _change(less: dict[int, Record], more: dict[int, Record], read: ReadMemory) -> str:
    """`12 % smaller [20 % smaller, 3 % smaller]`, from the rounds that have both."""
    both = [(read(less[n]), read(more[n])) for n in sorted(less.keys() & more.keys())]
    known = [(a, b) for a, b in both if a and b]
    if not known:
        return "not known"
    return format_interval(student_ratio([math.log(b / a) for a, b in known]), _percent)


def _percent(ratio: float) -> str:
    return f"{format_percent(abs(ratio - 1))} {'larger' if ratio >= 1 else 'smaller'}"


def _failed(records: Iterable[Record]) -> list[str]:
    """A sentence for each cell without figures."""
    said = [
        f"`{_name(r.entry)}`, {r.asked} at {r.tier}, failed in round {r.round}: {r.failure.text}."
        for r in records
        if r.failure
    ]
    return [" ".join(said)] if said else []
