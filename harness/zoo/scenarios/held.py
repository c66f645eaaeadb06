"""held: every request waits, at more and more connections. How much memory does each one add, and is it freed? Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.core.capacity import parse_count
from zoo.core.entry_id import base_id, condition_name
from zoo.core.measurement import Measurement
from zoo.core.record import Record
from zoo.core.run import Case, Program, Run
from zoo.core.scenario import HELD_WAITS, ProgramOptions, Scenario, sleeping_window
from zoo.report.cells import Cells
from zoo.report.charts import memory
from zoo.report.charts.figure import Group
from zoo.report.columns import title_of
from zoo.report.formatting import format_interval, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.view import Kinds, View, dot_figure, dots, notes
from zoo.report.wording import format_by_server
from zoo.stats.interval import Interval, mean_interval
from zoo.stats.memory_per_request import Cost, costs, freed_share
from zoo.stats.metrics import all_held
from zoo.stats.summary import spread
from zoo.stats.trials import newest_by_round, peak_mb

TIERS = ("1k", "5k", "10k", "15k", "25k")
"""Connection counts, without 20k: where a process may open only 20,000 descriptors, the 25k cell runs at that count."""
DELAY_S, QUICK_S = 10, 2
REST_S, QUICK_REST_S = 30.0, 5.0


def program(asked: ProgramOptions) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    return Program(
        cases=[Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1")],
        tiers=list(asked.tiers or TIERS),
        duration_s=sleeping_window(delay_s, HELD_WAITS),
        rest_s=QUICK_REST_S if asked.quick else REST_S,
    )


TEXT = (
    "kB per waiting request: the slope of a line through the server at rest and all connection "
    "counts, in each round; mean of the rounds with its 95% interval (Student). Only rounds that "
    "held every count are included. Heap is the heap in use, including garbage; RSS excludes the "
    "kernel's socket memory. Given back: the share of the RSS added by the connections that is free "
    "again after the rest."
)
QUANTITIES = {"rss": "RSS", "anon": "anonymous", "heap": "heap in use", "socket": "kernel sockets"}


def section(records: Sequence[Record]) -> Section:
    """Return the section, with one row per entry."""
    found = costs(records)
    by_entry: dict[str, list[Record]] = {}
    for record in newest_by_round(records):
        by_entry.setdefault(record.entry, []).append(record)
    body = []
    for entry, mine in sorted(by_entry.items()):
        seen = [r.measurement for r in mine if r.measurement]
        body.append(
            [
                entry,
                _all_held(mine),
                *(_cost(found.get((entry, name))) for name in QUANTITIES),
                format_spread(spread(m.memory.rss_idle_kb / 1024 for m in seen if m.memory)),
                format_spread(spread(peak_mb(r) for r in mine if parse_count(r.tier) == _top(mine))),
                format_spread(spread(100 * share for share in shares(mine))),
                format_spread(spread(_slowest(m) for m in seen if m.connections.requested == _top(mine))),
            ]
        )
    columns = ["entry", "all held", *(f"{name} kB" for name in QUANTITIES.values())]
    columns += ["RSS at rest MB", title_of("rss_peak_mb"), "given back %", "slowest s"]
    title = f"held · closed, c = {', '.join(sorted({r.tier for r in records}, key=parse_count))}"
    return Section("Scenario held", [TEXT], [Table(title, columns, body, text=2)], notes(records))


def _slowest(seen: Measurement) -> float | None:
    return None if seen.load.latency.max_us is None else seen.load.latency.max_us / 1e6


def shares(records: Sequence[Record]) -> list[float]:
    """Return the share of memory that an entry gave back, for each round that measured it."""
    made = []
    for record in records:
        seen = record.measurement
        if seen and seen.memory and seen.held and seen.held.released:
            share = freed_share(seen.memory.rss_idle_kb, seen.held.rss_kb, seen.held.released.rss_kb)
            made += [] if share is None else [share]
    return made


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return figures of the memory each connection adds, by entry and by count, and of the memory given back."""
    title, found = "Memory of waiting requests", costs(records)
    figures = []
    for name, what in QUANTITIES.items():
        intervals = {entry: cost.interval for (entry, quantity), cost in found.items() if quantity == name}
        data = dots(
            kinds, {e: [i.value] for e, i in intervals.items()}, lambda values: Interval(values[0], None, None, 1)
        )
        for row in data:
            row |= {"low": intervals[row["entry"]].low, "high": intervals[row["entry"]].high}
        figures += dot_figure(f"held-{name}", title, f"{what}, kB per waiting request", data)
    back = {entry: shares([r for r in records if r.entry == entry]) for entry in {r.entry for r in records}}
    data = dots(kinds, {entry: [100 * s for s in of] for entry, of in back.items() if of}, mean_interval)
    figures += dot_figure("held-back", title, "Given back after the rest, % of the added memory", data)
    made = [Group("Memory per waiting request", figures)] if figures else []
    return made + memory.draw_slopes(Cells.of(run, records, None))


def _cost(cost: Cost | None) -> str:
    """Format a cost as in `18.2 [17.9, 18.5]`, with R² if the points are far from a line."""
    if cost is None:
        return NONE
    text = format_interval(cost.interval)
    return text if cost.fit >= 0.9 else f"{text}, R² {cost.fit:.2f}"


def _all_held(records: Sequence[Record]) -> str:
    """Format in how many rounds every count was held. If in none, format the highest count held in every round."""
    rounds = {r.round for r in records}
    held = sum(all_held(r for r in records if r.round == number) for number in rounds)
    if held == len(rounds):
        return "yes"
    if held:
        return f"in {held} of {len(rounds)} rounds"
    most = _most_held(records)
    return f"to {most}" if most else "no"


def _most_held(records: Sequence[Record]) -> str | None:
    """Return the highest count such that it and all lower counts were held in every round, or None."""
    most = None
    for tier in sorted({r.tier for r in records}, key=parse_count):
        if not all_held(r for r in records if r.tier == tier):
            return most
        most = tier
    return most


def _top(records: Sequence[Record]) -> int:
    return max(parse_count(r.tier) for r in records)


def answers(records: Sequence[Record]) -> list[str]:
    of: dict[str, dict[str, float]] = {"": {}}
    for (entry, name), cost in costs(records).items():
        if name == "rss":
            of.setdefault(condition_name(entry), {})[base_id(entry)] = cost.interval.value
    parts = [(f"with {name} " if name else "") + format_by_server(found) for name, found in of.items() if found]
    return [f"Memory per waiting request, kB: {'; '.join(parts)}."] if parts else []


VIEW = View("Memory of waiting requests", section, groups, answers)
HELD = Scenario(
    name="held",
    title="every request waits, with a rising number of connections, followed by a rest",
    delay_s=DELAY_S,
    speed=False,
    holds=True,
    program=program,
    view=VIEW,
)
