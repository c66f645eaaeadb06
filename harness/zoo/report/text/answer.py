"""One paragraph for a hurried reader: should this server change its thread model, and what does that cost? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.analysis.answered import ALL, Answered, of_row
from zoo.analysis.metrics import CPU, REQUESTS, cpu_per_million
from zoo.analysis.pairs import Kind, Pair
from zoo.analysis.summary import Row, spread
from zoo.analysis.trials import answered, newest
from zoo.model.record import Record
from zoo.plan.answer import ARRIVING, COST, WAITING
from zoo.report.formatting import format_number
from zoo.report.summary import Summary
from zoo.report.text.wording import MODELS, capitalized, compared, listed

Found = Mapping[str, Summary]
"""The run of each part of the answer."""


@dataclass(frozen=True)
class Sides:
    """The entry with a pool, and the one that would take its place."""

    pool: str
    other: str
    other_name: str


def paragraph(server: str, found: Found) -> str:
    """Whether to switch, how much is served, what it costs, how surely; what was not measured is said to be open."""
    models = {r.entry: r.model for summary in found.values() for r in summary.records}
    sides = sides_of(models)
    if sides is None:
        return f"{server}: it has no variant beside a pool of platform threads to switch to."
    seen, served = _served(sides, found)
    cost = _cost(sides, found)
    if not seen:
        advice = "not known, because nobody measured who is served while requests wait"
    elif any(other.complete and not pool.complete for pool, other in seen):
        advice = f"yes, if its requests wait; {sides.other_name} serve what the pool keeps waiting"
    elif all(pool.complete for pool, _ in seen):
        advice = "no need to, as long as the pool has a thread for each waiting request"
    else:
        advice = f"not for requests that wait: {sides.other_name} do not answer all of them in time"
    sentences = [
        f"{server}: switch from the pool to {sides.other_name}? {capitalized(advice)}.",
        *served,
        *cost,
        _how(found),
    ]
    return " ".join(sentences)


def rounds_needed(found: Found) -> int | None:
    """Rounds of the cost that would decide all that a few more can decide; None where there is nothing such."""
    if COST not in found:
        return None
    pairs = found[COST].compared.of(Kind.MODEL)
    of_switch = [c for p in pairs for m, c in p.comparisons.items() if m in (REQUESTS, CPU)]
    more = max((c.verdict.more or 0 for c in of_switch), default=0)
    return found[COST].run.plan.rounds + more if more else None


def sides_of(models: Mapping[str, str]) -> Sides | None:
    """By thread models. Beside the pool: virtual threads where there are any, else the first of another model."""
    pool = next((e for e, model in models.items() if model == "platform-thread"), None)
    others = [e for e, model in models.items() if model != "platform-thread"]
    other = next((e for e in others if models[e] == "virtual-thread"), next(iter(others), None))
    return Sides(pool, other, MODELS[models[other]]) if pool and other else None


def _served(sides: Sides, found: Found) -> tuple[list[tuple[Answered, Answered]], list[str]]:
    """Return what the pool and the other answered under each load, and a sentence for each."""
    seen, told = [], []
    waiting = _waiting(sides, found)
    if waiting:
        (pool, by_pool), (other, by_other) = waiting
        seen.append((by_pool, by_other))
        told.append(
            f"Of {pool.actual or 0:,} requests that wait {pool.delay_s:g} s each, the pool answered "
            f"{_count(pool, by_pool)} in the first wait and {sides.other_name} {_count(other, by_other)}"
            f"{_memory(pool, other)}."
        )
    arriving = answered(found[ARRIVING].records) if ARRIVING in found else {}
    if {sides.pool, sides.other} <= set(arriving):
        by_pool, by_other = arriving[sides.pool], arriving[sides.other]
        one = newest(found[ARRIVING].records)[sides.pool]
        seen.append((by_pool, by_other))
        told.append(
            f"At {one.rate:,} requests per second for {one.duration_s:g} s, which wait {one.delay_s:g} s each, "
            f"the pool answered {by_pool.text} within {one.timeout_s:g} s, {sides.other_name} {by_other.text}."
        )
    return seen, told


def _waiting(sides: Sides, found: Found) -> list[tuple[Row, Answered]] | None:
    """Return the pool and the other, in this order, where both were measured."""
    if WAITING not in found:
        return None
    seen = {row.entry: (row, share) for row in found[WAITING].cells.rows.values() if (share := of_row(row))}
    both = [seen[entry] for entry in (sides.pool, sides.other) if entry in seen]
    return both if len(both) == 2 else None


def _count(row: Row, seen: Answered) -> str:
    """`all`, `200`, `all, but half of them only after 25 s`"""
    return f"{seen.share * (row.actual or 0):,.0f}" if seen.share < ALL else seen.text


def _memory(pool: Row, other: Row) -> str:
    if not pool.rss_peak_mb or not other.rss_peak_mb:
        return ""
    return f" (peak memory {format_number(pool.rss_peak_mb.median)} and {format_number(other.rss_peak_mb.median)} MB)"


def _cost(sides: Sides, found: Found) -> list[str]:
    """What the switch costs or gains where nothing waits, at each connection count."""
    if COST not in found:
        return []
    summary, asked = found[COST], (sides.other, sides.pool)
    pairs = [p for kind in (Kind.MODEL, Kind.VARIANT) for p in summary.compared.of(kind) if (p.a, p.b) == asked]
    at = [f"at {p.requested:,} connections {listed(_changes(p))}" for p in pairs]
    if not at:
        return []
    return [f"Where nothing waits the switch means {'; '.join(at)}.", *_levels(sides, summary.records)]


def _changes(pair: Pair) -> list[str]:
    return [
        f"{noun} {compared(pair.comparisons[metric], above='higher', below='lower')}"
        for metric, noun in ((REQUESTS, "throughput"), (CPU, "CPU per request"))
        if metric in pair.comparisons
    ]


def _levels(sides: Sides, records: Sequence[Record]) -> list[str]:
    """Microseconds of CPU a request, for whoever wants to reckon with it."""
    told = []
    for entry in (sides.pool, sides.other):
        seen = spread(cpu_per_million(r.measurement) for r in records if r.entry == entry and r.measurement)
        if seen:
            told.append(
                f"{format_number(seen.median)} µs with {'the pool' if entry == sides.pool else sides.other_name}"
            )
    return [f"A request takes {' and '.join(told)} of CPU time."] if len(told) == 2 else []


def _how(found: Found) -> str:
    run = next(iter(found.values())).run
    rounds = found[COST].run.plan.rounds if COST in found else 1
    return f"({rounds} rounds for the cost, one for the rest; 95 % intervals; {run.cores}.)"
