"""The view of `held`: what a held connection costs in memory, and whether it is given back. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.held import Cost, costs, given_back
from zoo.analysis.metrics import held_throughout
from zoo.analysis.stats.interval import Interval, of_mean
from zoo.analysis.summary import spread
from zoo.analysis.trials import latest, peak_mb
from zoo.model.entry_id import name_of, plain
from zoo.model.measurement import Measurement
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.plan.capacity import count
from zoo.report.cells import Cells
from zoo.report.charts import memory
from zoo.report.charts.figure import Group
from zoo.report.columns import title_of
from zoo.report.formatting import format_interval, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.text.wording import ranged
from zoo.report.view import Kinds, View, dot_figure, dots, notes

TEXT = (
    "kB per waiting request: the slope of a line through the server at rest and all connection counts, in each round; "
    "mean of the rounds with its 95 % interval (Student). Only rounds in which every count was held. Heap is what was "
    "in use, garbage included; the kernel's socket memory is no part of RSS. Given back: of what the connections added "
    "to RSS, the share that is free again after the rest."
)
QUANTITIES = {"rss": "RSS", "anon": "anonymous", "heap": "heap in use", "socket": "kernel sockets"}


def section(records: Sequence[Record]) -> Section:
    """An entry a row."""
    found = costs(records)
    by_entry: dict[str, list[Record]] = {}
    for record in latest(records):
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
                format_spread(spread(peak_mb(r) for r in mine if count(r.tier) == _top(mine))),
                format_spread(spread(100 * share for share in shares(mine))),
                format_spread(spread(_slowest(m) for m in seen if m.connections.requested == _top(mine))),
            ]
        )
    columns = ["entry", "all held", *(f"{name} kB" for name in QUANTITIES.values())]
    columns += ["RSS at rest MB", title_of("rss_peak_mb"), "given back %", "slowest s"]
    title = f"held · closed, c = {', '.join(sorted({r.tier for r in records}, key=count))}"
    return Section("Scenario held", [TEXT], [Table(title, columns, body, text=2)], notes(records))


def _slowest(seen: Measurement) -> float | None:
    return None if seen.load.latency.max_us is None else seen.load.latency.max_us / 1e6


def shares(records: Sequence[Record]) -> list[float]:
    """Of an entry: what was given back, for each round that saw it."""
    made = []
    for record in records:
        seen = record.measurement
        if seen and seen.memory and seen.held and seen.held.released:
            share = given_back(seen.memory.rss_idle_kb, seen.held.rss_kb, seen.held.released.rss_kb)
            made += [] if share is None else [share]
    return made


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return what a connection costs, by entry and over the connection counts, and what is given back."""
    title, found = "Memory of held connections", costs(records)
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
    data = dots(kinds, {entry: [100 * s for s in of] for entry, of in back.items() if of}, of_mean)
    figures += dot_figure("held-back", title, "Given back after the rest, % of what was added", data)
    made = [Group("Memory per waiting request", figures)] if figures else []
    return made + memory.slopes(Cells.of(run, records, None))


def _cost(cost: Cost | None) -> str:
    """`18.2 [17.9, 18.5]`, with the fit where the points are far from a line."""
    if cost is None:
        return NONE
    text = format_interval(cost.interval)
    return text if cost.fit >= 0.9 else f"{text}, R² {cost.fit:.2f}"


def _all_held(records: Sequence[Record]) -> str:
    """In how many rounds every count was held; where in none, up to which it was in each."""
    rounds = {r.round for r in records}
    held = sum(held_throughout(r for r in records if r.round == number) for number in rounds)
    if held == len(rounds):
        return "yes"
    if held:
        return f"in {held} of {len(rounds)} rounds"
    most = _most_held(records)
    return f"to {most}" if most else "no"


def _most_held(records: Sequence[Record]) -> str | None:
    """The highest count up to which every one was held in every round."""
    most = None
    for tier in sorted({r.tier for r in records}, key=count):
        if not held_throughout(r for r in records if r.tier == tier):
            return most
        most = tier
    return most


def _top(records: Sequence[Record]) -> int:
    return max(count(r.tier) for r in records)


def answers(records: Sequence[Record]) -> list[str]:
    of: dict[str, dict[str, float]] = {"": {}}
    for (entry, name), cost in costs(records).items():
        if name == "rss":
            of.setdefault(name_of(entry), {})[plain(entry)] = cost.interval.value
    told = [(f"with {name} " if name else "") + ranged(found) for name, found in of.items() if found]
    return [f"Memory per waiting request, kB: {'; '.join(told)}."] if told else []


VIEW = View("Memory of held connections", section, groups, answers)
