"""Renders the parts of docs/method.md: what committed runs show about the method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zoo.analysis.method_proof import short_runs, widths
from zoo.analysis.metrics import first_share
from zoo.analysis.summary import Row, Spread, spread
from zoo.catalog.manifest import Catalog
from zoo.model.record import Record
from zoo.reference.origin import origin, quote, source
from zoo.reference.runs import Committed
from zoo.report.columns import COLUMNS
from zoo.report.formatting import format_interval, format_spread
from zoo.report.section import Table
from zoo.report.text import method
from zoo.report.text.markdown import render_table
from zoo.scenarios.hello import HELLO

WARM_UPS = {"before": "the load alone", "after": "the load, and `/info` after each window"}
"""The requests of the warm-up, by run. The machine was busy during the second, so nothing else quotes it."""


def aa(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the false differences of entries measured twice, and after them those of the run of the whole zoo."""
    first, *others = runs
    text = quote(method.aa(first.run, short_runs(first.run, first.records)), source(first, catalog))
    for whole in others:
        text += f"\n\nIn the [reference run](../{whole.link}/report.md), all scenarios and tiers: "
        text += method.counted(whole.run, short_runs(whole.run, whole.records))
    return text


def power(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render how often a true difference would be found in the same noise."""
    [one] = runs
    short = short_runs(one.run, one.records)
    return quote(method.found_of(one.run, short), source(one, catalog)) if len(short) > 1 else ""


def slowdown(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Compare a server with itself burning 5% more CPU."""
    [one] = runs
    return quote(method.slowdown(one.run, one.summary.compared), source(one, catalog))


def designs(runs: Sequence[Committed], catalog: Catalog) -> str:
    """The width of intervals by design, from one run for each pair and design."""
    found = [width for one in runs for width in widths(one.run, one.summary.compared)]
    links = ", ".join(f"[{one.name}](../{one.link})" for one in runs)
    return quote(method.designs(found), f"Committed runs: {links}; {origin(runs[0].run, catalog)}.")


def first_turns(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render how warm servers are in their first window, before and after warm-up also requested `/info`."""
    if len(runs) < len(WARM_UPS):
        return ""
    body, sources = [], []
    for one in runs:
        records = [r for r in one.records if r.scenario == HELLO.name]
        for tier in dict.fromkeys(record.tier for record in records):
            at = [record for record in records if record.tier == tier]
            shares = (_first_share(at, jvm=jvm) for jvm in (True, False))
            body.append([WARM_UPS[one.name], tier, *map(format_spread, shares)])
        sources.append(f"[{one.name}](../{one.link}): {origin(one.run, catalog)}")
    table = Table("first turns", ["warm-up asked", "connections", "JVM", "native"], body, text=2)
    return f"{render_table(table)}\n\n{'; '.join(sources)}."


def agreement(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Compare the memory per held connection in a process with that in a guest."""
    if len(runs) < 2:
        return ""
    links = " and ".join(f"[{one.name.rpartition('-')[2]}](../{one.link})" for one in runs)
    table = guest_table(*(list(one.summary.cells.rows.values()) for one in runs))
    return f"{table}\n\nFrom committed runs at up to 10,000 connections: {links}."


def guest_table(process: Sequence[Row], guest: Sequence[Row]) -> str:
    """Render the memory per held connection of the entries that have both figures."""
    outside, inside = (
        {row.entry: row.kb_per_connection for row in run if row.kb_per_connection} for run in (process, guest)
    )
    body = [
        [f"`{entry}`", format_interval(here), format_interval(there), f"{there.value / here.value - 1:+.0%}"]
        for entry, here in outside.items()
        if (there := inside.get(entry))
    ]
    cost = COLUMNS["kb_per_request"].title
    columns = ["entry", f"{cost}, process", f"{cost}, guest", "difference"]
    return render_table(Table("agreement", columns, body))


def _first_share(records: Iterable[Record], *, jvm: bool) -> Spread | None:
    """Return the first window's share of the others, over all rounds of cells of one kind."""
    seen = (record.measurement for record in records)
    return spread(first_share(m) for m in seen if m is not None and m.jvm is jvm)
