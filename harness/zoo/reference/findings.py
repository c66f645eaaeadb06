"""Results of committed runs, rendered for the documents in docs/ with one function for each generated part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.core.flag import Flag
from zoo.core.manifest import Catalog
from zoo.core.record import Record
from zoo.core.run import Soak
from zoo.reference import readmes, reports
from zoo.reference.origin import (
    changed_builds,
    describe_changed,
    describe_origin,
    explain_medians,
    render_quote,
    render_source,
    usual_costs,
)
from zoo.reference.runs import StoredRun
from zoo.report import view
from zoo.report.charts.figure import Figure
from zoo.report.columns import COLUMNS
from zoo.report.formatting import format_interval
from zoo.report.page import svg
from zoo.report.section import NONE, Section, Table
from zoo.report.sentences import QUESTIONS
from zoo.report.text import comparisons, method, soak_and_jvm
from zoo.report.text.markdown import render_body, render_table
from zoo.report.text.planning import sizing_section
from zoo.report.wording import describe_rounds, format_comparison, format_signed
from zoo.scenarios.hello import HELLO
from zoo.stats.method_proof import short_runs, widths
from zoo.stats.metrics import CPU
from zoo.stats.pairs import Kind, Pair, compare_named
from zoo.stats.summary import Row

PEAK = COLUMNS["rss_peak_mb"]

HIGHEST = 25_000
EMULATED = "docs/explanation/method.md#virtual-hosts"

ARTICLE_MB = {"rust-axum:async": 537, "java-vertx:virtual@heap=300m": 484, "java-tomcat:virtual": 3_800}
"""Resident memory in MB with 25,000 requests of 10 s each, for axum, Vert.x with Mutiny and `-Xmx300m`, and Tomcat.

The figures are from the first article, "Benchmarking Java Virtual Thread Performance".
"""

MILLION, GENERATORS = 1_000_000, 9


def render_flags(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the flags that a report may show, with their meanings."""
    return render_table(Table("flags", ["flag", "meaning"], [[f"`{flag}`", flag.text] for flag in Flag], text=2))


def render_allocators(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the peak memory of rust-axum with each of three allocators while all its connections wait."""
    [one] = runs
    rows = sorted(one.summary.cells.rows.values(), key=lambda row: row.entry)
    columns = ["entry", *dict.fromkeys(f"{PEAK.title}, {row.scenario} {row.tier}" for row in rows)]
    table = Table("results", columns, [[f"`{row.entry}`", PEAK.text(row)] for row in rows])
    return f"{render_table(table)}\n\n[Committed run]({one.link}). {explain_medians(one.run, rows, catalog)}"


def render_pairs(
    runs: Sequence[StoredRun], catalog: Catalog, *, kind: Kind = Kind.CONDITION, engine: bool = False
) -> str:
    """Render the comparisons of one kind in a run.

    Examples are a container compared with a process, and a server compared with itself slowed down by 5%.
    """
    [one] = runs
    section = comparisons.verdict_section(kind, one.summary.compared.of(kind), one.run.plan.rounds)
    version = one.run.host.engine.version if one.run.host.engine else "unknown"
    return render_quote(section, render_source(one, catalog, f"; engine {version}" if engine else ""))


OLD = "old-"
"""The names of servers that a run builds from earlier sources begin with this: `old-tomcat` for `java-tomcat`."""


def render_builds(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render each entry over itself as it was built earlier; both were loaded in alternating windows."""
    rounds = max(one.run.plan.rounds for one in runs)
    section = comparisons.verdict_section(Kind.CONDITION, pair_builds(runs), rounds)
    return render_quote(section, _render_runs(runs, catalog))


def pair_builds(runs: Sequence[StoredRun]) -> list[Pair]:
    """Return a pair for each entry: as it is built now, over its earlier build."""
    cells = {key: cell for one in runs for key, cell in one.summary.cells.by_key.items()}
    old = {entry: f"{OLD}{entry.partition('-')[2]}" for one in runs for entry in one.run.plan.entries}
    named = [(Kind.CONDITION, new, before) for new, before in old.items() if not new.startswith(OLD)]
    return compare_named(named, cells).pairs


def render_conditions(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render all entries under other conditions, run by run: a scenario's own table, otherwise the comparisons."""
    parts = []
    for one in runs:
        viewed = view.records_by_view(one.records)
        quotes = [render_quote(found.section(records), render_source(one, catalog)) for _, found, records in viewed]
        parts += quotes or [render_pairs([one], catalog)]
    return "\n\n".join(parts)


def render_study(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the questions of a study about one server, each with its answers and, below them, the folded tables."""
    server = runs[0].listing.path.parent.name
    parts: list[str] = []
    for one in runs:
        compared = one.summary.compared
        ratios = [
            comparisons.verdict_section(k, compared.of(k), one.run.plan.rounds) for k in QUESTIONS if compared.of(k)
        ]
        viewed = [scenario_view.section(records) for _, scenario_view, records in view.records_by_view(one.records)]
        sections = [*viewed, *ratios]
        details = Section(
            "Tables",
            sections[0].paragraphs,
            [table for each in sections for table in each.tables],
            [text for each in sections for text in each.bullets],
        )
        origin = _render_origin(one, catalog, server)
        found = _render_answers(one, one.records) or _render_list([_compare_cpu(pair) for pair in compared.pairs])
        answers = [f"**{one.listing.asks}**", *found, origin]
        parts += render_body(Section("", answers, details=details))
    return "\n\n".join(parts)


def render_soak(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render whether the servers' use of memory, threads and descriptors grew under load."""
    [one] = runs
    stored = Soak.model_validate_json(one.folder.read_text(encoding="utf-8"))
    others = changed_builds(stored.builds, stored.builds, catalog)
    older = f" {describe_changed(others)}." if others else ""
    origin_text = (
        f"[{stored.minutes:g} minutes]({one.link}), all servers at once: {stored.host.cpu_model}, "
        f"{stored.host.processors}, commit {(stored.commit or 'unknown')[:12]}, JDK {stored.jdk}.{older}"
    )
    return "\n\n".join([*render_body(soak_and_jvm.soak_section(stored)), origin_text])


def render_million(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render what a million connections would require of ten hosts, calculated from the measured costs."""
    costs = usual_costs(runs)
    if not costs:
        return ""
    runs_by_link = {one.link: one.run for one, _ in costs.values()}
    sources = "; ".join(
        f"[{link.rpartition('/')[2]}]({link}): {describe_origin(run, catalog)}" for link, run in runs_by_link.items()
    )
    section = sizing_section(MILLION, GENERATORS, {key: cost for key, (_, cost) in costs.items()})
    return render_quote(section, f"Sources of memory per waiting request: {sources}.")


def render_experiments(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render a heading for each scenario, in order, and below it each run's answers, first chart and folded tables."""
    by_scenario: dict[str, list[str]] = {name: [] for name in view.views()}
    for one in runs:
        for name, scenario_view, records in view.records_by_view(one.records):
            tables = replace(scenario_view.section(records), heading="Tables")
            pictures = [readmes.render_picture(figure, file) for file, figure in _first_chart(one).items()]
            answers = [*_render_answers(one, records), *pictures, _render_origin(one, catalog)]
            by_scenario[name] += render_body(Section(name, answers, details=tables))
    return "\n\n".join("\n\n".join([f"### {name}", *parts]) for name, parts in by_scenario.items() if parts)


def render_experiment_charts(runs: Sequence[StoredRun], catalog: Catalog) -> dict[Path, str]:
    """Render the first chart of each run."""
    return {
        readmes.CHARTS / f"{name}.svg": svg.render_standalone(figure)
        for one in runs
        for name, figure in _first_chart(one).items()
    }


def _first_chart(one: StoredRun) -> dict[str, Figure]:
    """Return the first chart of a run of one scenario, by the name of its file; empty if there is none."""
    figures = one.contents.figures[:1] if len(one.run.plan.scenarios) == 1 else ()
    return {readmes.chart_file(one, figure): figure for figure in figures}


def _render_answers(one: StoredRun, records: Sequence[Record]) -> list[str]:
    """Return the answers that these records give, as one Markdown list; an empty list if there are none."""
    cases = {record.workload for record in records}
    found = view.answers(records, [pair for pair in one.summary.compared.pairs if pair.scenario in cases])
    return _render_list(found)


def _compare_cpu(pair: Pair) -> str:
    return f"{pair.a} vs. {pair.b}: CPU per request {format_comparison(pair.comparisons[CPU])}."


def _render_list(texts: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {text}" for text in texts)] if texts else []


def _render_origin(one: StoredRun, catalog: Catalog, server: str | None = None) -> str:
    return f"[Committed run]({one.link}), {describe_rounds(one.run.plan)}: {describe_origin(one.run, catalog, server)}."


# --- the memory of each server with 25,000 waiting requests


def render_highest_tier(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the table of all runs at 25,000 connections."""
    return render_tier(
        {_report_link(one): (one.run.plan.condition.env, list(one.summary.cells.rows.values())) for one in runs}
    )


def render_highest_tier_reports(runs: Sequence[StoredRun], catalog: Catalog) -> dict[Path, str]:
    """Render the reports that the table at 25,000 connections links to."""
    table = render_highest_tier(runs, catalog)
    return {
        one.listing.path / "report.md": reports.render_markdown(one.contents)
        for one in runs
        if _report_link(one) in table
    }


def _report_link(committed: StoredRun) -> str:
    return f"{committed.link}/report.md"


def render_tier(by_report: Mapping[str, tuple[Mapping[str, str], Sequence[Row]]]) -> str:
    """Render each server's memory at 25,000 connections, next to the article's figure.

    `by_report` has the settings and rows of each run by the link to its report. An entry that several runs measured
    with the same settings gets one row, preferably from a run in which it held all connections.
    """
    every = [
        (f"`{row.entry}`" + "".join(f" with `{key}={value}`" for key, value in sorted(env.items())), report, row)
        for report, (env, of_run) in by_report.items()
        for row in of_run
        if row.requested == HIGHEST
    ]
    rows: dict[str, list[str]] = {}
    for name, report, row in sorted(every, key=lambda one: (not one[2].held, not one[2].ceiling_rps)):
        rows.setdefault(name, [name, *_tier_cells(row, report)])
    host = f", in an [emulated host]({EMULATED})" if all(row.emulated for *_, row in every if row.held) else ""
    columns = ["one server", "held of 25,000", PEAK.title, "first article, MB"]
    table = Table("tier", columns, list(rows.values()), text=2)
    return (
        f"Resident memory of one server with 25,000 requests at once{host}. The first article's "
        f"figures come from its own hardware.\n\n{render_table(table)}"
    )


def _tier_cells(row: Row, report: str) -> list[str]:
    if row.held:
        article = f"{ARTICLE_MB[row.entry]:,}" if row.entry in ARTICLE_MB else NONE
        return ["all", f"[{PEAK.text(row)}]({report})", article]
    fewer = "as many as it has threads" if row.ceiling_rps else "not all connections, or not all in time"
    return [f"{fewer} ([report]({report}))", NONE, NONE]


# --- results about the method itself


def render_aa(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the false differences of entries measured twice (A/A), followed by those of the run of the whole zoo."""
    first, *others = runs
    text = render_quote(
        method.aa_section(first.run, short_runs(first.run, first.records)), render_source(first, catalog)
    )
    for whole in others:
        text += f"\n\nIn the [reference run]({whole.link}/report.md), all scenarios and connection counts: "
        text += method.describe_alarms(whole.run, short_runs(whole.run, whole.records))
    return text


def render_noise(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the parts of the noise in `hello` for the pairs of thread models and the entries measured twice."""
    [one] = runs
    pairs = [p for p in one.summary.compared.pairs if p.scenario == HELLO.name and p.kind in (Kind.MODEL, Kind.AA)]
    return render_quote(method.noise_section(pairs), render_source(one, catalog))


def render_power(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render how often the method would find a true difference in the same noise."""
    [one] = runs
    short = short_runs(one.run, one.records)
    return render_quote(method.power_section(one.run, short), render_source(one, catalog)) if len(short) > 1 else ""


def render_designs(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the width of intervals by design, from one run for each pair and design."""
    found = [width for one in runs for width in widths(one.run, one.summary.compared)]
    return render_quote(method.design_section(found), _render_runs(runs, catalog))


def _render_runs(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Link committed runs, together if they share an origin, and describe it."""
    links: dict[str, list[str]] = {}
    for one in runs:
        links.setdefault(describe_origin(one.run, catalog), []).append(f"[{one.name}]({one.link})")
    return " ".join(f"Committed run{'s' * (len(of) > 1)}: {', '.join(of)}; {origin}." for origin, of in links.items())


def render_agreement(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the memory per waiting request in a process next to that in a guest."""
    if len(runs) < 2:
        return ""
    links = " and ".join(f"[{one.name.rpartition('-')[2]}]({one.link})" for one in runs)
    table = render_guest_table(*(list(one.summary.cells.rows.values()) for one in runs))
    return f"{table}\n\nFrom committed runs with up to 10,000 connections: {links}."


def render_guest_table(process: Sequence[Row], guest: Sequence[Row]) -> str:
    """Render the memory per waiting request of the entries that have both figures."""
    outside, inside = (
        {row.entry: row.kb_per_connection for row in run if row.kb_per_connection} for run in (process, guest)
    )
    body = [
        [f"`{entry}`", *map(format_interval, (in_process, in_guest)), format_signed(in_guest.value / in_process.value)]
        for entry, in_process in outside.items()
        if (in_guest := inside.get(entry))
    ]
    cost = COLUMNS["kb_per_request"].title
    columns = ["entry", f"{cost}, process", f"{cost}, guest", "difference"]
    return render_table(Table("agreement", columns, body))
