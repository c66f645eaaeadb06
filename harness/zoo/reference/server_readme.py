"""Renders the generated parts of the READMEs of servers and of java-jdbc."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.catalog.manifest import Catalog
from zoo.jdbc.store import JdbcStore
from zoo.model.entry_id import server_of, varied
from zoo.reference.origin import HeldRun, held, origin, preferred
from zoo.reference.runs import Committed
from zoo.report.columns import COLUMNS, title_of
from zoo.report.formatting import format_interval
from zoo.report.jdbc import text as databases
from zoo.report.section import NONE, Table
from zoo.report.summary import Summary
from zoo.report.text.markdown import render_table
from zoo.report.text.sentences import ending

TIER = "1k"
LEAN = "BUFFERS=lean"
KEYS = ("rps", "p99_ms", "cpu_us_per_request")
TITLES = ["variant", *map(title_of, (*KEYS, "kb_per_request"))]


def server_results(runs: Sequence[Committed], catalog: Catalog, server: str) -> str:
    """Render the results of a server, from the run of the whole zoo and from runs that held connections."""
    whole, *others = runs
    summary = whole.summary
    if server not in summary.cells.servers:
        return ""
    return results(summary, held(others), catalog, server, f"../{whole.link}/report.html")


def last_lines(runs: Sequence[Committed], catalog: Catalog, server: str) -> str:
    """Render the last lines of a run as a paragraph."""
    [one] = runs
    _, *said = (line.strip().rstrip(".") for line in ending(one.summary.cells, one.summary.compared))
    where = f"[{one.run.plan.rounds} rounds](../{one.link}): {origin(one.run, catalog, server)}"
    return f"{'. '.join([*said, where])}."


def database_results(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render each published table that a database run measured."""
    [one] = runs
    store = JdbcStore.open(one.folder)
    return databases.results(store.run(), store.records(), f"../{one.link}")


def results(summary: Summary, held: Sequence[HeldRun], catalog: Catalog, server: str, report: str) -> str:
    """Render `hello` at 1,000 connections from the run of the whole zoo, and the slope of memory of held runs."""
    rows = {(r.entry, r.scenario, r.tier): r for r in summary.cells.rows.values() if not r.again}
    slopes = {entry: found for (entry, quantity), found in preferred(held).items() if quantity == "rss"}
    body, lean = [], []
    for variant in next(s for s in catalog.servers if s.name == server).manifest.variants:
        entry = f"{server}:{variant.name}"
        row, slope = rows.get((entry, "hello", TIER)), slopes.get(entry)
        body.append(
            [
                f"`{variant.name}`",
                *(COLUMNS[key].text(row) if row else NONE for key in KEYS),
                format_interval(slope[1].interval) if slope else NONE,
            ]
        )
        lean += _lean(held, entry, variant.name)
    sources = [f"[Report]({report}): {origin(summary.run, catalog, server)}."]
    runs = {one.link: one.run for entry, (one, _) in slopes.items() if server_of(entry) == server}
    sources += [f"Held connections: {origin(run, catalog, server)}." for run in runs.values()]
    how = (
        f"`hello` at 1,000 connections; median (lowest–highest) of {summary.run.plan.rounds} rounds, ≥: a lower bound. "
        "Memory per waiting request: the slope over several counts with its 95 % interval."
    )
    return "\n\n".join([render_table(Table("results", TITLES, body)), " ".join([how, *lean, *sources])])


def _lean(held: Sequence[HeldRun], entry: str, variant: str) -> list[str]:
    """Render what lean buffers save, from the preferred run that has both; empty if no run has."""
    usual, thin = (entry, "rss"), (varied(entry, LEAN), "rss")
    both = preferred([one for one in held if usual in one.costs and thin in one.costs])
    if not both:
        return []
    return [
        f"With `{LEAN}`, `{variant}` takes {format_interval(both[thin][1].interval)} kB per waiting request "
        f"instead of {format_interval(both[usual][1].interval)}, in the same run."
    ]
