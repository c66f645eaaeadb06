"""The generated part of a server's README: what its variants cost, in one table."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.held import Cost
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import REFERENCE, origin
from zoo.docs.scenario_runs import HeldRun
from zoo.report.section import NONE, Table
from zoo.report.summary import Summary
from zoo.report.text.markdown import render_table
from zoo.report.text.wording import number, shown

TIER = "1k"
COLUMNS = ("variant", "hello req/s", "p99 ms", "CPU µs a request", "kB a held connection")


def results(summary: Summary, held: Sequence[HeldRun], catalog: Catalog, server: str) -> str:
    """`hello` at 1,000 connections from the run of the whole zoo; the slope of memory from runs of `held`."""
    rows = {(r.entry, r.scenario, r.tier): r for r in summary.cells.rows.values() if not r.again}
    slopes = {entry: cost for one in held for (entry, quantity), cost in one.costs.items() if quantity == "rss"}
    body = []
    for variant in next(s for s in catalog.servers if s.name == server).manifest.variants:
        entry = f"{server}:{variant.name}"
        row, slope = rows.get((entry, "hello", TIER)), slopes.get(entry)
        body.append(
            [
                f"`{variant.name}`",
                shown(row.rps, bound=row.lower_bound) if row else NONE,
                shown(row.p99_us, 1e-3) if row else NONE,
                shown(row.cpu_s_per_million) if row else NONE,
                _cost(slope) if slope else NONE,
            ]
        )
    sources = [f"[Report](../{REFERENCE}/report.html): {origin(summary.run, catalog, server)}."]
    sources += [
        f"Held connections: {origin(one.run, catalog, server)}."
        for one in held
        if any(entry.startswith(f"{server}:") for entry, _ in one.costs)
    ]
    how = (
        f"1,000 connections; median (lowest–highest) of {summary.run.plan.rounds} rounds, ≥: a lower bound. "
        "Memory: the slope over several counts with its 95 % interval."
    )
    return "\n\n".join([render_table(Table("results", list(COLUMNS), body)), " ".join([how, *sources])])


def _cost(cost: Cost) -> str:
    low, high = cost.interval.low, cost.interval.high
    return number(cost.interval.value) + (
        f" [{number(low)}, {number(high)}]" if low is not None and high is not None else ""
    )
