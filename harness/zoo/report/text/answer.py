"""A one-paragraph answer: should this server change its thread model, and what would that cost? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.core.answer_runs import ARRIVING, COST, WAITING
from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.report.formatting import format_number
from zoo.report.summary import Summary
from zoo.report.wording import MODELS, capitalize, format_comparison, join_names
from zoo.stats.all_answered import ALL, AnsweredShare, share_of_row
from zoo.stats.metrics import CPU, REQUESTS, cpu_per_million
from zoo.stats.pairs import Kind, Pair
from zoo.stats.summary import Row, spread
from zoo.stats.trials import answered_shares, newest_results

Found = Mapping[str, Summary]
"""The summary of the run behind each part of the answer."""


@dataclass(frozen=True)
class Variants:
    """The entry with a pool, and the entry that would replace it."""

    pool: str
    other: str
    other_name: str


def paragraph(server: str, found: Found, if_requests_wait: str = "") -> str:
    """Return the paragraph: whether to switch, how much each side serves, what it costs, and how certain that is.

    `if_requests_wait` is the recommendation of a run that compared pool sizes. Without it, the paragraph compares the
    pool with the other variant; if waiting requests were not measured, it says so.
    """
    records = [r for summary in found.values() for r in summary.records if server_name(r.entry) == server]
    models = {r.entry: r.model for r in records}
    sides = sides_of(models)
    if sides is None:
        return f"{server}: it has no variant other than a pool of platform threads."
    cost = _cost(sides, found)
    if if_requests_wait:
        return " ".join([f"{server}: {if_requests_wait}", *cost, _how(found)])
    seen, served = _served(sides, found)
    if not seen:
        advice = "not known, because the run did not measure waiting requests"
    elif any(other.complete and not pool.complete for pool, other in seen):
        advice = f"yes, if its requests wait; {sides.other_name} answer requests that the pool keeps waiting"
    elif all(pool.complete for pool, _ in seen):
        advice = "not necessary, as long as the pool has a thread for each waiting request"
    else:
        advice = f"not for requests that wait: {sides.other_name} do not answer all of them in time"
    sentences = [
        f"{server}: switch from the pool to {sides.other_name}? {capitalize(advice)}.",
        *served,
        *cost,
        _how(found),
    ]
    return " ".join(sentences)


def rounds_needed(found: Found) -> int | None:
    """Return how many rounds of the cost run would decide every comparison that a few more rounds can decide.

    Return None if there is no such comparison.
    """
    if COST not in found:
        return None
    pairs = found[COST].compared.of(Kind.MODEL)
    of_switch = [c for p in pairs for m, c in p.comparisons.items() if m in (REQUESTS, CPU)]
    more = max((c.verdict.more or 0 for c in of_switch), default=0)
    return found[COST].run.plan.rounds + more if more else None


def sides_of(models: Mapping[str, str]) -> Variants | None:
    """Return the pool and the entry to compare it with, or None if either is missing.

    That entry is the one with virtual threads if there is one, otherwise the first with another thread model.
    """
    pool = next((e for e, model in models.items() if model == "platform-thread"), None)
    others = [e for e, model in models.items() if model != "platform-thread"]
    other = next((e for e in others if models[e] == "virtual-thread"), next(iter(others), None))
    return Variants(pool, other, MODELS[models[other]]) if pool and other else None


def _served(sides: Variants, found: Found) -> tuple[list[tuple[AnsweredShare, AnsweredShare]], list[str]]:
    """Return what the pool and the other entry answered under each load, and a sentence for each load."""
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
    arriving = answered_shares(found[ARRIVING].records) if ARRIVING in found else {}
    if {sides.pool, sides.other} <= set(arriving):
        by_pool, by_other = arriving[sides.pool], arriving[sides.other]
        one = newest_results(found[ARRIVING].records)[sides.pool]
        seen.append((by_pool, by_other))
        told.append(
            f"At {one.rate:,} requests per second for {one.duration_s:g} s, which wait {one.delay_s:g} s each, "
            f"the pool answered {by_pool.text} within {one.timeout_s:g} s, {sides.other_name} {by_other.text}."
        )
    return seen, told


def _waiting(sides: Variants, found: Found) -> list[tuple[Row, AnsweredShare]] | None:
    """Return the pool and the other entry, in this order, or None if not both were measured."""
    if WAITING not in found:
        return None
    seen = {row.entry: (row, share) for row in found[WAITING].cells.rows.values() if (share := share_of_row(row))}
    both = [seen[entry] for entry in (sides.pool, sides.other) if entry in seen]
    return both if len(both) == 2 else None


def _count(row: Row, seen: AnsweredShare) -> str:
    """Return how many requests were answered: `all`, `200` or `all, but half of them only after 25 s`."""
    return f"{seen.share * (row.actual or 0):,.0f}" if seen.share < ALL else seen.text


def _memory(pool: Row, other: Row) -> str:
    if not pool.rss_peak_mb or not other.rss_peak_mb:
        return ""
    return f" (peak memory {format_number(pool.rss_peak_mb.median)} and {format_number(other.rss_peak_mb.median)} MB)"


def _cost(sides: Variants, found: Found) -> list[str]:
    """Return what the switch costs or gains if no request waits, at each connection count."""
    if COST not in found:
        return []
    summary, asked = found[COST], (sides.other, sides.pool)
    pairs = [p for kind in (Kind.MODEL, Kind.VARIANT) for p in summary.compared.of(kind) if (p.a, p.b) == asked]
    at = [f"at {p.requested:,} connections, {join_names(_changes(p))}" for p in pairs]
    if not at:
        return []
    return [f"If no request waits, the switch means {'; '.join(at)}.", *_levels(sides, summary.records)]


def _changes(pair: Pair) -> list[str]:
    return [
        f"{noun} {format_comparison(pair.comparisons[metric], above='higher', below='lower')}"
        for metric, noun in ((REQUESTS, "throughput"), (CPU, "CPU per request"))
        if metric in pair.comparisons
    ]


def _levels(sides: Variants, records: Sequence[Record]) -> list[str]:
    """Return the CPU time per request in absolute terms, in microseconds."""
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
    return f"({rounds} rounds for the cost, one for the rest; 95% intervals; {run.cores}.)"
