"""The generated parts of the READMEs: variants, results, and the answer to “Should I switch?” per server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from zoo.core.entry_id import server_name, with_condition
from zoo.core.manifest import Catalog
from zoo.core.run import Run
from zoo.explain.files import PAGE, read_paragraph
from zoo.reference import reports
from zoo.reference.answers import PAGE as ANSWER_PAGE
from zoo.reference.answers import answer_files, read_answer, read_found, records_of, server_sides
from zoo.reference.origin import (
    EARLIER_PROTOCOL,
    changed_builds,
    current_protocol,
    describe_age,
    describe_changed,
    describe_earlier,
    describe_origin,
    explain_medians,
    preference_key,
    preferred_costs,
    quoted_database,
    usual_costs,
)
from zoo.reference.runs import COMMITTED, StoredRun
from zoo.report.answer import Answer
from zoo.report.charts.figure import Figure
from zoo.report.columns import COLUMNS, title_of
from zoo.report.formatting import format_interval
from zoo.report.page import svg
from zoo.report.page.tables import ranking
from zoo.report.section import NONE, SYNTHETIC, Table
from zoo.report.sentences import last_lines
from zoo.report.summary import Summary
from zoo.report.text import switch
from zoo.report.text.answer import render_lines
from zoo.report.text.markdown import render_table
from zoo.report.wording import describe_rounds, format_comparison
from zoo.scenarios.held import HELD
from zoo.scenarios.hello import HELLO
from zoo.scenarios.jdbc import view as databases
from zoo.scenarios.pool_size import POOL_SIZE
from zoo.scenarios.pool_size.view import switch_advice
from zoo.stats.metrics import CPU, P99, PEAK_RSS, REQUESTS, Metric
from zoo.stats.pairs import Kind, Pair

TIER = "1k"
"""The number of connections at which tables quote `hello`."""

FAST_TIERS = ("100", TIER)
"""The numbers of connections at which sentences quote `hello`, because the difference may change its sign."""

CHARTS = Path("docs/charts")
REPORT = "report.html"

README_CHARTS = ("forest-model-hello-cpu-per-request",)
"""Names of the charts that the README shows."""

ANSWER_RUNS = "answers/"
"""Beginning of the names of runs of `make answer`."""

FAST_RUNS = ("bench-all", ANSWER_RUNS)
"""Beginnings of the names of runs that documents quote for fast requests."""

METRICS = {REQUESTS: "requests per second", CPU: "CPU per request", P99: "p99 latency", PEAK_RSS: "peak memory"}


def render_entries(_: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the table of all servers with their variants, and name those that are measured only on request."""
    body, on_request = [], []
    for server in catalog.servers:
        link = f"[{server.name}]({server.name}/)"
        variants = server.manifest.variants
        if usual := [f"`{v.name}`: {v.description}" for v in variants if not v.on_request]:
            body.append([link, "<br>".join(usual)])
        if named := [f"`{v.name}`" for v in variants if v.on_request]:
            on_request.append(f"{link} {', '.join(named)}")
    table = render_table(Table("entries", ["server", "variants, and how each runs a request"], body, text=2))
    more = f"\n\nMeasured only if named, or with `SERVER=all`: {' · '.join(on_request)}" if on_request else ""
    return table + more


def render_results(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the run of the whole zoo: for each server a row comparing virtual with platform threads."""
    [whole] = runs
    summary = whole.summary
    pairs = _quoted_pairs(whole)
    body = [
        [f"[{p.a.partition(':')[0]}]({p.a.partition(':')[0]}/)", *(_format_pair(p, m) for m in METRICS)] for p in pairs
    ]
    table = Table("pairs", ["virtual ÷ platform threads", *METRICS.values()], body)
    return "\n\n".join(
        [
            *([render_table(table)] if body else []),
            f"`hello` at 1,000 connections, 95% intervals. [Report]({whole.link}/{REPORT}) of all "
            "entries and loads (download it and open it in a browser; [as "
            f"text]({whole.link}/report.md)). "
            f"{explain_medians(summary.run, list(summary.cells.rows.values()), catalog)}",
        ]
    )


def chart_file(one: StoredRun, figure: Figure) -> str:
    """Return the name of the file with a figure of a run, without its suffix."""
    return f"{one.listing.name.replace('/', '-')}-{figure.name}"


def _readme_charts(whole: StoredRun) -> list[Figure]:
    return [figure for figure in whole.contents.figures if figure.name in README_CHARTS]


def render_files(runs: Sequence[StoredRun], catalog: Catalog) -> dict[Path, str]:
    """Render the reports of the run of the whole zoo, and the README's charts."""
    [whole] = runs
    charts = {CHARTS / f"{chart_file(whole, f)}.svg": svg.render_standalone(f) for f in _readme_charts(whole)}
    folder = whole.listing.path
    return {
        folder / "report.md": reports.render_markdown(whole.contents),
        folder / REPORT: reports.render_html(whole.contents),
        **charts,
    }


def _quoted_pairs(whole: StoredRun) -> list[Pair]:
    """Return the pairs of thread models in `hello`, at the number of connections that tables quote."""
    return [pair for pair in _hello_pairs(whole) if pair.tier == TIER]


def _hello_pairs(whole: StoredRun) -> list[Pair]:
    return [pair for pair in whole.summary.compared.of(Kind.MODEL) if pair.scenario == HELLO.name]


def _format_pair(pair: Pair, metric: Metric) -> str:
    """Return the comparison of a pair in words, with its interval."""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None else format_comparison(comparison)


def render_picture(figure: Figure, name: str) -> str:
    """Render the picture of a chart in the file of this name, without brackets, which would end its description."""
    return f"![{figure.description.replace('[', '(').replace(']', ')')}]({CHARTS}/{name}.svg)"


# --- should I switch?

Found = tuple[switch.Situation | None, str]
"""A case, None if nothing was measured, and its source."""


def render_answers(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the charts and the table of the cases that were measured; the first run must be that of the whole zoo."""
    whole, *others = runs
    found = [(case, source) for case, source in list_cases(whole, others, catalog) if case]
    if not found:
        return ""
    sources = " · ".join(f"{case.requests.partition(',')[0]} {source}" for case, source in found)
    table = render_table(switch.render_cases([case for case, _ in found]))
    pictures = [render_picture(f, chart_file(whole, f)) for f in _readme_charts(whole)]
    chart = f"chart {_render_source(f'{whole.link}/{REPORT}', whole.run, catalog)} · " if pictures else ""
    return "\n\n".join([*pictures, table, f"Runs: {chart}{sources}."])


def list_cases(whole: StoredRun, others: Sequence[StoredRun], catalog: Catalog) -> Iterator[Found]:
    servers = [one for one in others if one.listing.words[0] == "bench"]
    fast = fast_pairs([whole, *servers], catalog)
    yield _waiting_case(servers, catalog)
    sources = ((one.link, one.run, server) for server, (one, _) in fast.items())
    pairs = {server: pairs for server, (_, pairs) in fast.items()}
    yield switch.fast_case(pairs, _fast_levels(fast.values())), _render_sources(sources, catalog)
    yield _database_case([one for one in others if one.listing.words[0] == "jdbc"], catalog)
    held = [one for one in servers if one.listing.name.startswith("scenarios/")]
    yield _memory_case(held, list(pairs), catalog)


def fast_pairs(runs: Sequence[StoredRun], catalog: Catalog) -> dict[str, tuple[StoredRun, list[Pair]]]:
    """Return the pairs of thread models that documents quote for fast requests, with their run, by server.

    There is a pair for each of `FAST_TIERS`. Runs of the current build and protocol come first, then `preference_key`
    decides.
    """
    found = [
        (server_name(pair.a), one, pair)
        for one in runs
        if one.listing.name.startswith(FAST_RUNS) and HELLO.name in one.run.plan.scenarios
        for pair in _quoted_pairs(one)
    ]
    found.sort(key=lambda item: (not describe_age(item[1].run, catalog, {item[0]}), *_preference(*item[1:])))
    by_server = {server: (one, pair) for server, one, pair in found}
    return {
        server: (one, [p for p in _hello_pairs(one) if p.a == pair.a and p.tier in FAST_TIERS])
        for server, (one, pair) in sorted(by_server.items())
    }


def _preference(one: StoredRun, pair: Pair) -> tuple[int, int, str]:
    return preference_key(pair.rounds, one.run.started_at)


def _fast_levels(quoted: Iterable[tuple[StoredRun, Sequence[Pair]]]) -> dict[tuple[str, str], float]:
    """Return the CPU time per request in µs, by entry and connection count: means, whose ratio is that of the pair."""
    keys = ((one, e, p.tier) for one, pairs in quoted for p in pairs if p.comparisons[CPU].ratio for e in (p.a, p.b))
    rows = (one.summary.cells.rows[entry, HELLO.name, tier] for one, entry, tier in keys)
    costs = {(row.entry, row.tier): row.cpu_s_per_million for row in rows}
    return {key: cost.mean for key, cost in costs.items() if cost and cost.mean is not None}


def _waiting_case(runs: Sequence[StoredRun], catalog: Catalog) -> Found:
    """Say what to do about requests that wait.

    Each server is quoted from a run of `make answer`, which has the same load for all; `preference_key` selects one.
    """
    own = [one for one in runs if one.listing.name.startswith(ANSWER_RUNS)]
    pools = [one for one in own if POOL_SIZE.name in one.run.plan.scenarios and not one.run.plan.condition.env]
    best = {
        server: one
        for one in sorted(pools, key=lambda one: preference_key(one.run.plan.rounds, one.run.started_at))
        for server in map(server_name, one.run.plan.entries)
    }
    found = {
        server: (advised, one)
        for server, one in sorted(best.items())
        if (advised := switch_advice(records_of(one.records, server)))
    }
    advice = {server: advised for server, (advised, _) in found.items()}
    sources = _render_sources(((one.link, one.run, server) for server, (_, one) in found.items()), catalog)
    return switch.waiting_case(advice), sources


def _database_case(runs: Sequence[StoredRun], catalog: Catalog) -> Found:
    """Compare virtual threads with a cached pool, with few connections and a high network latency."""
    found = quoted_database(runs)
    if found is None:
        return None, ""
    one, comparison, connections, wire_ms = found
    return switch.database_case(comparison, connections, wire_ms), _render_source(one.link, one.run, catalog)


def _memory_case(runs: Sequence[StoredRun], servers: Sequence[str], catalog: Catalog) -> Found:
    """Say what a waiting request costs.

    All variants of a server are quoted from its newest run, so that they were measured with the same build.
    """
    rss = {entry: found for (entry, quantity), found in usual_costs(runs).items() if quantity == "rss"}
    latest = {server_name(e): one for e, (one, _) in sorted(rss.items(), key=lambda item: item[1][0].run.started_at)}
    rss = {entry: found for entry, found in rss.items() if found[0] is latest[server_name(entry)]}
    sources = _render_sources(((one.link, one.run, server_name(entry)) for entry, (one, _) in rss.items()), catalog)
    peaks = {entry: peak for entry, (one, _) in rss.items() if (peak := _peak_mb(one, entry))}
    return switch.memory_case({entry: cost for entry, (_, cost) in rss.items()}, peaks, servers), sources


def _peak_mb(one: StoredRun, entry: str) -> float | None:
    """Return the peak memory of an entry with the most waiting requests, in MB."""
    rows = [row for row in one.summary.cells.rows.values() if (row.entry, row.scenario) == (entry, HELD.name)]
    most = max(rows, key=lambda row: row.actual or 0, default=None)
    return most.rss_peak_mb.median if most and most.rss_peak_mb else None


def _render_sources(sources: Iterable[tuple[str, Run, str]], catalog: Catalog) -> str:
    """Render the source of each run; several are named after the servers that are quoted from them."""
    by_link: dict[str, tuple[Run, set[str]]] = {}
    for link, run, server in sources:
        by_link.setdefault(link, (run, set()))[1].add(server)
    several = len(by_link) > 1
    links = [
        _render_link(", ".join(sorted(servers)) if several else "run", link, run, catalog, servers)
        for link, (run, servers) in by_link.items()
    ]
    return f"({', '.join(links)})"


def _render_source(link: str, run: Run, catalog: Catalog) -> str:
    return f"({_render_link('run', link, run, catalog)})"


def _render_link(text: str, link: str, run: Run, catalog: Catalog, only: set[str] | None = None) -> str:
    """Render the link to a run, marked if it measured an earlier build of the quoted servers or by an earlier protocol.

    `only` are the quoted servers; None means all servers of the run.
    """
    age = describe_age(run, catalog, only)
    return f"[{text}]({link}){f', {age}' if age else ''}"


# --- the answer for one server

ANSWERS = Path("answers")
"""The folder of committed runs with a folder for each server that has an answer."""

ANSWER_PAGES = Path("docs/answers")
"""The folder with the pages of these answers."""


def render_answer(runs: Sequence[StoredRun], catalog: Catalog, server: str, blocks: slice = slice(None)) -> str:
    """Render these blocks of what `zoo answer` prints for the server, from its committed runs."""
    answer = _committed_answer(runs, catalog, server)
    lines = render_lines(answer.model_copy(update={"blocks": answer.blocks[blocks]}))
    page = f"[Page]({ANSWER_PAGES / server / ANSWER_PAGE}) (download it and open it in a browser)"
    origin = describe_origin(_own_runs(runs, server)[0].run, catalog, server)
    return "\n".join(["```text", *lines, "```", "", f"{page}: {origin}."])


def render_answer_files(runs: Sequence[StoredRun], catalog: Catalog) -> dict[Path, str]:
    """Render the files of each server's answer."""
    return {
        ANSWER_PAGES / server / name: text
        for server in sorted(
            {one.listing.path.parent.name for one in runs if one.listing.path.parent.parent == COMMITTED / ANSWERS}
        )
        for name, text in answer_files(_committed_answer(runs, catalog, server)).items()
    }


def _own_runs(runs: Sequence[StoredRun], server: str) -> list[StoredRun]:
    """Return the runs of a server's answer."""
    return [one for one in runs if one.listing.path.parent == COMMITTED / ANSWERS / server]


def _committed_answer(runs: Sequence[StoredRun], catalog: Catalog, server: str) -> Answer:
    sides = server_sides(server, catalog)
    assert sides, f"{server} has no choice of thread model"
    own = _own_runs(runs, server)
    others = [one for one in runs if one not in own]
    return read_answer(sides, read_found(one.folder for one in own), others, catalog)


# --- the README of one server, and of java-jdbc

LEAN = "BUFFERS=lean"
KEYS = ("rps", "p99_ms", "cpu_us_per_request")
TITLES = ["variant", *map(title_of, (*KEYS, "kb_per_request"))]


def render_server_results(runs: Sequence[StoredRun], catalog: Catalog, server: str, page: str) -> str:
    """Render a server's results from one run, and from the runs that measured waiting requests.

    `page` is the report in the folder of the first run, as `/report.html`; empty if there is none.
    """
    whole, *others = runs
    if server not in whole.summary.cells.servers:
        return ""
    return render_variants(whole.summary, others, catalog, server, f"{whole.link}{page}")


def render_models(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the run of every variant: virtual against platform threads by server, then all by CPU per request."""
    [one] = runs
    pairs = [pair for pair in one.summary.compared.pairs if pair.kind is Kind.MODEL]
    lines = [f"- {pair.a} ÷ {pair.b}: CPU per request {format_comparison(pair.comparisons[CPU])}." for pair in pairs]
    ranked = next(table for table in ranking(one.summary.cells) if table.title.startswith(COLUMNS[KEYS[-1]].title))
    origin = f"[Run]({one.link}), {describe_rounds(one.run.plan)}: {describe_origin(one.run, catalog)}."
    return "\n\n".join(["\n".join(lines), render_table(ranked), origin])


def render_last_lines(runs: Sequence[StoredRun], catalog: Catalog, server: str) -> str:
    """Render the last lines of a run's output as a paragraph."""
    [one] = runs
    _, *texts = (line.strip().rstrip(".") for line in last_lines(one.summary.cells, one.summary.compared))
    origin_text = f"[{one.run.plan.rounds} rounds]({one.link}): {describe_origin(one.run, catalog, server)}"
    return f"{'. '.join([*texts, origin_text])}."


def render_database_results(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render each published table for which a database run has results."""
    [one] = runs
    results, age = databases.results(one.run, one.records, one.link), describe_earlier(one.run, catalog)
    return f"{results} {age}." if age else results


def render_variants(
    summary: Summary, waiting_runs: Sequence[StoredRun], catalog: Catalog, server: str, report: str
) -> str:
    """Render a server's results: `hello` at 1,000 connections from the run of the whole zoo, and memory.

    Memory per waiting request comes from `waiting_runs`.
    """
    rows = {(r.entry, r.scenario, r.tier): r for r in summary.cells.rows.values() if not r.again}
    slopes = {entry: found for (entry, quantity), found in preferred_costs(waiting_runs).items() if quantity == "rss"}
    body, lean = [], []
    for variant in next(s for s in catalog.servers if s.name == server).manifest.variants:
        entry = f"{server}:{variant.name}"
        row, slope = rows.get((entry, "hello", TIER)), slopes.get(entry)
        body.append(
            [
                f"`{variant.name}`{f' {SYNTHETIC}' if variant.synthetic else ''}",
                *(COLUMNS[key].text(row) if row else NONE for key in KEYS),
                format_interval(slope[1].interval) if slope else NONE,
            ]
        )
        lean += _render_lean(waiting_runs, entry, variant.name)
    sources = [f"[Report]({report}): {describe_origin(summary.run, catalog, server)}."]
    runs = {one.link: one.run for entry, (one, _) in slopes.items() if server_name(entry) == server}
    sources += [f"Waiting requests: {describe_origin(run, catalog, server)}." for run in runs.values()]
    explanation = (
        f"`hello` at 1,000 connections; median (lowest–highest) of {describe_rounds(summary.run.plan)}, "
        "≥: a lower bound. Memory per waiting request: the slope over several connection counts with "
        "its 95% interval."
    )
    return "\n\n".join([render_table(Table("results", TITLES, body)), " ".join([explanation, *lean, *sources])])


def _render_lean(waiting_runs: Sequence[StoredRun], entry: str, variant: str) -> list[str]:
    """Render what lean buffers save, from the preferred run that measured both; empty if no run did."""
    usual_key, lean_key = (entry, "rss"), (with_condition(entry, LEAN), "rss")
    costs = preferred_costs([one for one in waiting_runs if usual_key in one.costs and lean_key in one.costs])
    if not costs:
        return []
    return [
        f"With `{LEAN}`, a waiting request takes {format_interval(costs[lean_key][1].interval)} kB in "
        f"`{variant}` instead of {format_interval(costs[usual_key][1].interval)} kB, in the same run."
    ]


def render_explanations(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the paragraph of each explanation as a list, with a link to its page and its origin."""
    texts = []
    for one in runs:
        found, text = read_paragraph(one.folder)
        changed = changed_builds(found.builds, found.builds, catalog)
        older = f" {EARLIER_PROTOCOL}." if found.protocol < current_protocol(found.kind, ()) else ""
        if changed:
            older = f" {describe_changed(changed)}."
        page = f"[Page]({one.link}/{PAGE}) (download it and open it in a browser)"
        origin = f"{found.host.cpu_model or 'unknown processor'}, commit {(found.commit or 'unknown')[:12]}"
        texts.append(f"- {text} {page}: {origin}.{older}")
    return "\n".join(texts)
