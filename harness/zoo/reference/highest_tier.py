"""Renders what a true 25,000 held requests cost each server: a part of docs/findings.md, and the reports it links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.analysis.summary import Row
from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.reference.committed import Committed
from zoo.report.columns import COLUMNS
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table

HIGHEST = 25_000

PEAK = COLUMNS["rss_peak_mb"]

EMULATED = "method.md#a-host-of-its-own-where-this-one-forbids-the-tier"

ARTICLE_MB = {"rust-axum:async": 537, "java-vertx:virtual@heap=300m": 484, "java-tomcat:virtual": 3_800}
"""Resident memory with 25,000 requests of 10 s each, from the first article, "Benchmarking Java Virtual Thread
Performance": axum, Vert.x with Mutiny and `-Xmx300m`, Tomcat."""


def highest_tier(runs: Sequence[Committed], catalog: Catalog) -> str:
    """The table of all runs at 25,000 connections."""
    return tier({_report(one): (one.run.plan.condition.env, list(one.summary.cells.rows.values())) for one in runs})


def reports(runs: Sequence[Committed], catalog: Catalog) -> dict[Path, str]:
    """Render the reports that the table links."""
    table = highest_tier(runs, catalog)
    return {one.listed.path / "report.md": run_reports.text(one.contents) for one in runs if _report(one) in table}


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
