"""Renders the README's tables: the server variants, and the results of the run of the whole zoo with its charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo.analysis.metrics import CPU, P99, PEAK_RSS, REQUESTS, Metric
from zoo.analysis.pairs import Kind, Pair
from zoo.catalog.manifest import Catalog
from zoo.reference import reports
from zoo.reference.origin import medians
from zoo.reference.runs import Committed
from zoo.report.charts import svg
from zoo.report.charts.figure import Figure
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table
from zoo.report.text.sentences import ending
from zoo.report.text.wording import decided
from zoo.scenarios.hello import HELLO

CHARTS = Path("docs/charts")

SHOWN = ("forest-model-hello-cpu-per-request",)
"""Names of the charts that the README shows."""

TOLD = {REQUESTS: "requests a second", CPU: "CPU per request", P99: "p99 latency", PEAK_RSS: "peak memory"}


def entries(_: Sequence[Committed], catalog: Catalog) -> str:
    """Render the table of all server variants."""
    body = [[f"[`{e.id}`]({e.server.name}/)", e.variant.model, e.variant.summary] for e in catalog.entries]
    return render_table(Table("entries", ["entry", "model", "how it runs a request"], body, text=3))


def results(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the run of the whole zoo: one picture, and a row for each server of virtual over platform threads."""
    [whole] = runs
    summary = whole.summary
    pairs = [p for p in summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, "1k")]
    body = [[f"[{p.a.partition(':')[0]}]({p.a.partition(':')[0]}/)", *(_said(p, m) for m in TOLD)] for p in pairs]
    table = Table("pairs", ["virtual ÷ platform threads", *TOLD.values()], body)
    return "\n\n".join(
        [
            *(f"![{_bare(f.description)}]({CHARTS}/{f.name}.svg)" for f in _shown(whole)),
            *([render_table(table)] if body else []),
            f"`hello` at 1,000 connections, 95 % intervals. [Report]({whole.link}/report.html) of every entry and load "
            f"(download it and open it in a browser; [as text]({whole.link}/report.md)). "
            f"{medians(summary.run, list(summary.cells.rows.values()), catalog)}",
        ]
    )


def _shown(whole: Committed) -> list[Figure]:
    return [figure for figure in whole.contents.figures if figure.name in SHOWN]


def output(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the last lines that the run of the whole zoo printed."""
    [whole] = runs
    summary = whole.summary
    return "\n".join(["```text", *ending(summary.cells, summary.compared), "```"])


def files(runs: Sequence[Committed], catalog: Catalog) -> dict[Path, str]:
    """Render the reports of the run of the whole zoo, and the README's charts."""
    [whole] = runs
    charts = {CHARTS / f"{f.name}.svg": svg.alone(f) for f in _shown(whole)}
    folder = whole.listed.path
    return {
        folder / "report.md": reports.text(whole.contents),
        folder / "report.html": reports.html(whole.contents),
        **charts,
    }


def _said(pair: Pair, metric: Metric) -> str:
    """`slower 12–18 %`, `equal within 5 %`, `open`"""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None else decided(comparison)


def _bare(text: str) -> str:
    """Replace the brackets of a text, which would end the description of a picture."""
    return text.replace("[", "(").replace("]", ")")
