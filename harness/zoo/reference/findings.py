"""Renders what committed runs found, for the documents in docs/: one function for each generated part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zoo.analysis.method_proof import short_runs, widths
from zoo.analysis.metrics import first_share
from zoo.analysis.pairs import Kind
from zoo.analysis.summary import Row, Spread, spread
from zoo.catalog.manifest import Catalog
from zoo.model.record import Record
from zoo.model.run import Soak
from zoo.reference import reports
from zoo.reference.origin import changed, medians, origin, quote, source, usual
from zoo.reference.runs import Committed
from zoo.report import view
from zoo.report.columns import COLUMNS
from zoo.report.formatting import format_interval, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.text import comparisons, method, soak_and_jvm
from zoo.report.text.markdown import body, render_table
from zoo.report.text.planning import sizing
from zoo.report.text.sentences import QUESTIONS
from zoo.scenarios.hello import HELLO

PEAK = COLUMNS["rss_peak_mb"]

HIGHEST = 25_000
EMULATED = "method.md#a-host-of-its-own-where-this-one-forbids-the-tier"

ARTICLE_MB = {"rust-axum:async": 537, "java-vertx:virtual@heap=300m": 484, "java-tomcat:virtual": 3_800}
"""Resident memory with 25,000 requests of 10 s each, from the first article, "Benchmarking Java Virtual Thread
Performance": axum, Vert.x with Mutiny and `-Xmx300m`, Tomcat."""

MILLION, GENERATORS = 1_000_000, 9


def allocators(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the peak memory of rust-axum with each of three allocators while all its connections wait."""
    [one] = runs
    rows = sorted(one.summary.cells.rows.values(), key=lambda row: row.entry)
    columns = ["entry", *dict.fromkeys(f"{PEAK.title}, {row.scenario} {row.tier}" for row in rows)]
    table = Table("results", columns, [[f"`{row.entry}`", PEAK.text(row)] for row in rows])
    return f"{render_table(table)}\n\n[Committed run](../{one.link}). {medians(one.run, rows, catalog)}"


def pairs(runs: Sequence[Committed], catalog: Catalog, *, kind: Kind = Kind.CONDITION, engine: bool = False) -> str:
    """Compare the pairs of a kind in a run: a container with a process, a server with itself slowed by 5%."""
    [one] = runs
    section = comparisons.verdicts(kind, one.summary.compared.of(kind), one.run.plan.rounds)
    version = one.run.host.engine.version if one.run.host.engine else "unknown"
    return quote(section, source(one, catalog, f"; engine {version}" if engine else ""))


def study(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the questions of a study about one server: the answers, and below them the folded tables."""
    server = runs[0].listed.path.parent.name
    parts: list[str] = []
    for one in runs:
        compared = one.summary.compared
        ratios = [comparisons.verdicts(k, compared.of(k), one.run.plan.rounds) for k in QUESTIONS if compared.of(k)]
        [(_, shown, records)] = view.viewed(one.records)
        section = shown.section(records)
        found = [section, *ratios]
        details = Section(
            "",
            section.paragraphs,
            [table for each in found for table in each.tables],
            [text for each in found for text in each.bullets],
        )
        parts += [f"**{one.listed.asks}**", *_answers(one, records), _where(one, catalog, server)]
        parts.append(_folded("Tables", details))
    return "\n\n".join(parts)


def soak(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render whether a server grew under load."""
    [one] = runs
    seen = Soak.model_validate_json(one.folder.read_text(encoding="utf-8"))
    others = changed(seen.builds, [server for server in catalog.servers if server.name in seen.builds])
    older = f" **Older build**: {', '.join(others)} changed since." if others else ""
    where = (
        f"[{seen.minutes:g} minutes](../{one.link}), all servers at once: {seen.host.cpu_model}, "
        f"{seen.host.processors}, commit {(seen.commit or 'unknown')[:12]}, JDK {seen.jdk}.{older}"
    )
    return "\n\n".join([*body(soak_and_jvm.soaked(seen)), where])


def million(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Calculate what a million connections would take of ten hosts, from the measured costs."""
    found = usual(runs)
    if not found:
        return ""
    used = {one.link: one.run for one, _ in found.values()}
    sources = "; ".join(f"[{link.rpartition('/')[2]}](../{link}): {origin(run, catalog)}" for link, run in used.items())
    section = sizing(MILLION, GENERATORS, {key: cost for key, (_, cost) in found.items()})
    return quote(section, f"Cost of a connection: {sources}.")


def experiments(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render a heading for each scenario in their order, and below it the answers and the folded tables of each run."""
    found: dict[str, list[str]] = {name: [] for name in view.views()}
    for one in runs:
        for name, shown, records in view.viewed(one.records):
            tables = _folded("Tables", shown.section(records))
            found[name] += [*_answers(one, records), _where(one, catalog), tables]
    return "\n\n".join("\n\n".join([f"### {name}", *parts]) for name, parts in found.items() if parts)


def _answers(one: Committed, records: Sequence[Record]) -> list[str]:
    """Return the answers to the scenario of these records as one list in Markdown, if there are any."""
    asked = {record.asked for record in records}
    found = view.answers(records, [pair for pair in one.summary.compared.pairs if pair.scenario in asked])
    return ["\n".join(f"- {answer}" for answer in found)] if found else []


def _where(one: Committed, catalog: Catalog, server: str | None = None) -> str:
    rounds = one.run.plan.rounds
    return f"[Committed run](../{one.link}), {rounds} round(s): {origin(one.run, catalog, server)}."


def _folded(summary: str, section: Section) -> str:
    return "\n\n".join([f"<details><summary>{summary}</summary>", *body(section), "</details>"])


# --- what a true 25,000 held requests cost each server


def highest_tier(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the table of all runs at 25,000 connections."""
    return tier({_report(one): (one.run.plan.condition.env, list(one.summary.cells.rows.values())) for one in runs})


def highest_tier_reports(runs: Sequence[Committed], catalog: Catalog) -> dict[Path, str]:
    """Render the reports that the table links."""
    table = highest_tier(runs, catalog)
    return {one.listed.path / "report.md": reports.text(one.contents) for one in runs if _report(one) in table}


def _report(committed: Committed) -> str:
    return f"../{committed.link}/report.md"


def tier(found: Mapping[str, tuple[Mapping[str, str], Sequence[Row]]]) -> str:
    """Render the cost of the highest tier for each server, next to the article's figure.

    `found` has a run's settings and rows by the link to its report. An entry that several runs measured with the same
    settings has one row: held if one of them held it.
    """
    every = [
        (f"`{row.entry}`" + "".join(f" with `{key}={value}`" for key, value in sorted(env.items())), report, row)
        for report, (env, of_run) in found.items()
        for row in of_run
        if row.requested == HIGHEST
    ]
    told: dict[str, list[str]] = {}
    for name, report, row in sorted(every, key=lambda one: (not one[2].held, not one[2].ceiling_rps)):
        told.setdefault(name, [name, *_cells(row, report)])
    where = f", in an [emulated host]({EMULATED})" if all(row.emulated for *_, row in every if row.held) else ""
    columns = ["one server", "held of 25,000", PEAK.title, "first article, MB"]
    table = Table("tier", columns, list(told.values()), text=2)
    return (
        f"Resident memory of one server that was asked 25,000 requests at once{where}. The first article's figures are "
        f"of its own hardware.\n\n{render_table(table)}"
    )


def _cells(row: Row, report: str) -> list[str]:
    if row.held:
        article = f"{ARTICLE_MB[row.entry]:,}" if row.entry in ARTICLE_MB else NONE
        return ["all", f"[{PEAK.text(row)}]({report})", article]
    fewer = "as many as it has threads" if row.ceiling_rps else "not all, or not all answered"
    return [f"{fewer} ([report]({report}))", NONE, NONE]


# --- what runs show about the method

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
