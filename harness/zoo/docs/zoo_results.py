"""What the reference run of the whole zoo says, for the README, each server's README and its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo.analysis.metrics import CPU, P99, PEAK_RSS, REQUESTS, Metric
from zoo.analysis.pairs import Kind, Pair
from zoo.catalog.manifest import Catalog
from zoo.docs import first_screen, run_reports, scenario_runs, server_readme
from zoo.docs.generated import Generated
from zoo.docs.origin import REFERENCE, medians
from zoo.report.charts import showcase, svg
from zoo.report.charts.figure import Figure
from zoo.report.page.contents import Contents
from zoo.report.section import NONE, Table
from zoo.report.text.ending import ending
from zoo.report.text.markdown import render_table
from zoo.report.text.wording import decided
from zoo.scenarios.hello import HELLO
from zoo.store.run_folder import Store

CHARTS = Path("docs/charts")


TOLD = {REQUESTS: "requests a second", CPU: "CPU per request", P99: "p99 latency", PEAK_RSS: "peak memory"}


def generated(root: Path, catalog: Catalog) -> Generated:
    """All of it."""
    made = Generated()
    folder = root / REFERENCE
    if not (folder / "run.json").exists():
        return made
    contents = run_reports.read(Store.open(folder), catalog.reference_id)
    figures, held = showcase.of_zoo(contents), scenario_runs.held(root)
    made.files[folder / "report.md"] = run_reports.text(contents)
    made.files[folder / "report.html"] = run_reports.html(contents)
    made.files.update({root / CHARTS / f"{f.name}.svg": svg.alone(f) for f in figures})
    made.parts[root / "README.md"] = {
        "results": results(contents, figures, catalog),
        "switch": first_screen.told(root, contents.summary, held, catalog),
        "output": "\n".join(["```text", *ending(contents.summary.cells, contents.summary.compared), "```"]),
    }
    for server in catalog.servers:
        if server.name in contents.summary.cells.servers:
            part = server_readme.results(contents.summary, held, catalog, server.name)
            made.parts[server.folder / "README.md"] = {"results": part}
    return made


def results(contents: Contents, figures: Sequence[Figure], catalog: Catalog) -> str:
    """What a run of the whole zoo found: one picture, and a row a server of virtual over platform threads."""
    pairs = [p for p in contents.summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, "1k")]
    body = [[f"[{p.a.partition(':')[0]}]({p.a.partition(':')[0]}/)", *(_said(p, m) for m in TOLD)] for p in pairs]
    table = Table("pairs", ["virtual ÷ platform threads", *TOLD.values()], body)
    return "\n\n".join(
        [
            *(f"![{_bare(f.description)}]({CHARTS}/{f.name}.svg)" for f in figures),
            *([render_table(table)] if body else []),
            f"`hello` at 1,000 connections, 95 % intervals. [Report]({REFERENCE}/report.html) of every entry and load "
            f"(download it and open it in a browser; [as text]({REFERENCE}/report.md)). "
            f"{medians(contents.summary.run, list(contents.summary.cells.rows.values()), catalog)}",
        ]
    )


def _said(pair: Pair, metric: Metric) -> str:
    """`slower 12–18 %`, `equal within 5 %`, `open`"""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None else decided(comparison)


def _bare(text: str) -> str:
    """For the description of a picture, where brackets would end it."""
    return text.replace("[", "(").replace("]", ")")
