"""The evidence below each conclusion in docs/explanation/findings.md.

The document has the conclusions as headings. tests/test_findings.py checks that the committed runs support them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from zoo import ROOT
from zoo.core.entry_id import condition_name, server_name
from zoo.core.manifest import Catalog
from zoo.reference.claims_page import judge_claims, read_ledger
from zoo.reference.origin import describe_origin
from zoo.reference.readmes import CHARTS, chart_file, fast_pairs, list_cases, render_explanations, render_picture
from zoo.reference.runs import LEDGER, Reference, StoredRun
from zoo.report import view
from zoo.report.charts.figure import Figure
from zoo.report.formatting import format_number
from zoo.report.ledger_text import format_deciding_figure, format_verdict
from zoo.report.page import svg
from zoo.report.wording import capitalize, describe_rounds, format_comparison, join_names
from zoo.scenarios.cold import view as cold
from zoo.stats import databases
from zoo.stats.metrics import CPU, P99, REQUESTS
from zoo.stats.pairs import Comparison, Kind

Evidence = Callable[[Sequence[StoredRun], Catalog], str]


@dataclass(frozen=True)
class Conclusion:
    """A conclusion: its place in the document, its runs, its evidence, its chart, and the claims about the same.

    Without claims, the document says that the articles make none about this. `runs` are names or patterns, as in
    `documents.Part`. `chart` is the name of a figure of the run `chart_run`, by default the first.
    """

    marker: str
    runs: Sequence[str]
    evidence: Evidence
    chart: str = ""
    claims: Sequence[str] = ()
    chart_run: str = ""

    @property
    def drawn_run(self) -> str:
        return self.chart_run or self.runs[0]


def render(runs: Sequence[StoredRun], catalog: Catalog, conclusion: Conclusion) -> str:
    """Render the evidence, the chart, and the verdicts on the claims about the same."""
    parts = [
        conclusion.evidence(runs, catalog),
        *(render_picture(figure, chart_file(one, figure)) for one, figure in _charts(runs, conclusion)),
        _render_claims(conclusion.claims, catalog),
    ]
    return "\n\n".join(filter(None, parts))


def render_charts(runs: Sequence[StoredRun], catalog: Catalog) -> dict[Path, str]:
    """Render the charts of all conclusions whose run is one of these."""
    return {
        CHARTS / f"{chart_file(one, figure)}.svg": svg.render_standalone(figure)
        for conclusion in CONCLUSIONS
        for one, figure in _charts(runs, conclusion)
    }


def _charts(runs: Sequence[StoredRun], conclusion: Conclusion) -> list[tuple[StoredRun, Figure]]:
    """Return the conclusion's chart with its run; empty if it has none."""
    drawn = [one for one in runs if conclusion.chart and one.listing.name == conclusion.drawn_run]
    return [(one, figure) for one in drawn for figure in one.contents.figures if figure.name == conclusion.chart]


def _render_claims(claims: Sequence[str], catalog: Catalog) -> str:
    """Return a list of the articles' claims with their verdicts, each with a link to the page of all claims."""
    if not claims:
        return "The articles make no claim about this."
    judged = [claim for claim in read_ledger(ROOT, catalog).claims if claim.id in claims]
    verdicts, _ = judge_claims(judged, Reference(ROOT, catalog).folders, ROOT / "docs", catalog)
    return "\n".join(
        f"- [{v.claim.id}]({LEDGER}) “{v.claim.says}” {capitalize(format_verdict(v))}: {format_deciding_figure(v)}."
        for v in verdicts
    )


def _describe_run(one: StoredRun, catalog: Catalog) -> str:
    rounds = describe_rounds(one.run.plan) + (", so no intervals" if one.run.plan.rounds == 1 else "")
    return f"[Run]({one.link}), {rounds}: {describe_origin(one.run, catalog)}."


def describe_certainty(comparisons: Iterable[Comparison]) -> str:
    """Return how many of these comparisons are certain, and how many are probable."""
    known = [c for c in comparisons if c.ratio is not None]
    certain, likely = sum(c.verdict.differs for c in known), sum(bool(c.verdict.likely) for c in known)
    if not certain and not likely:
        return f"No certain difference in {len(known)} comparisons"
    return f"Certain in {certain} of {len(known)} comparisons" + (f", probable in {likely}" if likely else "")


def _render_fast(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    quoted = fast_pairs(runs, catalog)
    lines = []
    for server, (_, pairs) in quoted.items():
        lines += [
            f"- {server} at {p.requested:,} connections: CPU {format_comparison(p.comparisons[CPU])}; "
            f"p99 {format_comparison(p.comparisons[P99])}."
            for p in pairs
        ]
    sources = dict.fromkeys(_describe_run(one, catalog) for one, _ in quoted.values())
    certainties = (
        describe_certainty(pair.comparisons[metric] for _, pairs in quoted.values() for pair in pairs)
        for metric in (CPU, P99)
    )
    heading = (
        "CPU per request and p99 latency of virtual threads, compared with a pool of platform threads. "
        "CPU: {}. p99: {}.".format(*(text[0].lower() + text[1:] for text in certainties))
    )
    return "\n".join([heading, "", *lines, "", *sources])


def _render_conditions(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    one = runs[0]
    pairs = one.summary.compared.of(Kind.CONDITION)
    lines = []
    for name in dict.fromkeys(condition_name(pair.a) for pair in pairs):
        under = [pair for pair in pairs if condition_name(pair.a) == name]
        texts = [f"{format_comparison(pair.comparisons[CPU])} in {pair.b}" for pair in under]
        certainty = describe_certainty(pair.comparisons[CPU] for pair in under)
        lines.append(f"- CPU per request with `{name}`: {join_names(texts)}. {certainty}.")
    return "\n".join([*lines, "", _describe_run(one, catalog)])


def _render_models(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    one = runs[0]
    costs = {
        row.entry: (row.model, row.cpu_s_per_million.median)
        for row in one.summary.cells.rows.values()
        if row.cpu_s_per_million and row.entry not in catalog.synthetic
    }
    texts = []
    for model in ("virtual-thread", "platform-thread"):
        of = sorted((us, entry) for entry, (its, us) in costs.items() if its == model)
        (low, cheapest), (high, dearest) = of[0], of[-1]
        texts.append(
            f"from {format_number(low)} µs ({cheapest}) to {format_number(high)} µs ({dearest}) "
            f"on {model.replace('-', ' ')}s"
        )
    pairs = [pair.comparisons[CPU].ratio for pair in one.summary.compared.of(Kind.MODEL)]
    within = [ratio.value for ratio in pairs if ratio]
    loops = {server_name(entry): us for entry, (its, us) in costs.items() if its == "event-loop"}
    over_loop = [
        f"{us / loops[server]:.2f}× ({entry})"
        for entry, (its, us) in costs.items()
        if its == "virtual-thread" and (server := server_name(entry)) in loops
    ]
    return (
        f"CPU per request ranges {' and '.join(texts)}, without synthetic pools. Within one server, virtual threads "
        f"use {min(within):.2f}–{max(within):.2f}× the CPU time of its pool, but {join_names(over_loop)} that of its "
        f"event loop. {_describe_run(one, catalog)}"
    )


def _render_case(runs: Sequence[StoredRun], catalog: Catalog, requests: str) -> str:
    """Render the case of the README whose requests are described with these first words."""
    whole, *others = runs
    for case, source in list_cases(whole, others, catalog):
        if case and case.requests.startswith(requests):
            lines = [f"- {server}: {text}" for server, text in case.by_server.items()]
            return "\n".join([f"{capitalize(case.advice)}. Source: {source[1:-1]}.", *(["", *lines] if lines else [])])
    return ""


def _render_answers(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    one = runs[0]
    answers = view.answers(one.records, one.summary.compared.pairs)
    return "\n".join([*(f"- {answer}" for answer in answers), "", _describe_run(one, catalog)])


def _render_cold(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    one = runs[0]
    return "\n".join([*(f"- {text}" for text in cold.list_first(one.records)), "", _describe_run(one, catalog)])


def _render_database(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the README's case, and what virtual threads gain without network latency."""
    [one] = [one for one in runs if one.listing.name == DATABASES]
    pairs = [p for p in databases.compare(one.records).of(Kind.MODEL) if p.scenario.endswith(" none")]
    lines = [
        f"- {p.scenario.removesuffix(' none')} with {_describe_connections(p.tier)}: "
        f"{format_comparison(p.comparisons[databases.OPS], 'more', 'fewer')}."
        for p in pairs
    ]
    return "\n".join([_render_case(runs, catalog, "share"), "", "Without network latency:", "", *lines])


def _describe_connections(tier: str) -> str:
    """Describe the connections of a database cell, `pool/most`: the pool, and what the server allows if that is less.

    A database that the harness does not configure has no `most`.
    """
    pool, _, most = tier.partition("/")
    limit = f", of which the server allows {int(most):,}" if most and int(most) < int(pool) else ""
    return f"a pool of {int(pool):,} connections{limit}"


def _render_requests(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    one = runs[0]
    pairs = [pair for pair in one.summary.compared.pairs if pair.comparisons[REQUESTS].ratio]
    lines = []
    for case in dict.fromkeys(pair.scenario for pair in pairs):
        of_case = [pair for pair in pairs if pair.scenario == case]
        texts = [f"{format_comparison(pair.comparisons[REQUESTS])} at {pair.tier}" for pair in of_case]
        lines.append(
            f"- Requests per second of {of_case[0].a} vs. {of_case[0].b} with `{case}`, by number of connections: "
            f"{join_names(texts)}."
        )
    return "\n".join([*lines, "", _describe_run(one, catalog)])


WHOLE, DATABASES = "bench-all", "claims/jdbc"
CASES = (WHOLE, "answers/*", "scenarios/*", "claims/*")

CONCLUSIONS = (
    Conclusion("fast", (WHOLE, "answers/*"), _render_fast, "forest-model-hello-cpu-per-request", ("L1", "X5", "T1")),
    Conclusion(
        "why",
        [f"explain/java-{name}" for name in ("tomcat", "spring", "liberty", "vertx")],
        render_explanations,
        claims=("L8", "T7"),
    ),
    Conclusion("servers", ("models",), _render_models, "cpu-hello-1k"),
    Conclusion(
        "waiting",
        CASES,
        partial(_render_case, requests="wait"),
        "pool-served-1000",
        ("S1",),
        chart_run="answers/java-tomcat/pools",
    ),
    Conclusion("arrivals", ("scenarios/open",), _render_answers, "ok-open-400ps-4s-24k", ("S1", "S2", "S6")),
    Conclusion(
        "memory", CASES, partial(_render_case, requests="hold"), "held-rss", ("L6", "R18", "S7"), "scenarios/held"
    ),
    Conclusion("cold", ("scenarios/cold",), _render_cold, "cold-cold-default-100-java-liberty"),
    Conclusion("database", CASES, _render_database, "gains", ("D1", "D4", "D5", "D14"), DATABASES),
    Conclusion("async", ("scenarios/service",), _render_requests, "sweep-service-50ms-java-tomcat", ("T5", "T9")),
    Conclusion(
        "conditions", ("conditions/jvm-hello",), _render_conditions, "forest-condition-hello-cpu-per-request", ("X1",)
    ),
)
"""All conclusions, in the order of the document."""
