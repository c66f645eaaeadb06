"""Tests that a figure of a committed run is the same in every document that prints it."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.core.run_folder import Store
from zoo.report.columns import round_figures, title_of
from zoo.report.formatting import format_number
from zoo.report.text.records_csv import to_csv
from zoo.stats.metrics import CPU, REQUESTS, Metric

ROOT = Path(__file__).parents[2]
RUN = ROOT / "results/reference/bench-all"
SERVER, VARIANT, SCENARIO, TIER = "java-tomcat", "virtual", "hello", "1k"
ENTRY = f"{SERVER}:{VARIANT}"
CLEAR_TIER = "100"
"""The connections at which both ratios are clear, so that each is printed as a size with its interval."""


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def page_row(text: str, begin: str) -> str:
    """Return a row of a table on the page, from the element that it starts with."""
    return text.partition(begin)[2].partition("</tr>")[0]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|\n").split("|")]


def in_table(text: str, first: list[str], title: str) -> str:
    """Return a cell of a Markdown table, in the row that starts with `first` and the column with this title."""
    heads, _, *rows = [cells(line) for line in text.splitlines() if line.startswith("|")]
    return dict(zip(heads, next(row for row in rows if row[: len(first)] == first), strict=True))[title]


def in_report(key: str) -> str:
    table = text_of(RUN / "report.md").partition(f"**{SCENARIO} {TIER} · closed")[2].split("\n\n")[1]
    return in_table(table, [ENTRY], title_of(key))


def in_readme(key: str) -> str:
    part = re.search(r"<!-- generated: results -->(.*?)<!-- end -->", text_of(ROOT / SERVER / "README.md"), re.DOTALL)
    assert part
    return in_table(part[1], [f"`{VARIANT}`"], title_of(key))


def on_page(key: str) -> str:
    _, _, table = text_of(RUN / "report.html").partition('id="cells-table">')
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table.partition("</thead>")[0])
    begin = f'data-scenario="{SCENARIO}" data-tier="{TIER}">\n<th scope="row">{ENTRY}<small>'
    found = re.findall(r"<td[^>]*>(.*?)</td>", page_row(table, begin), re.DOTALL)
    cell = dict(zip(heads[1:], found, strict=True))[title_of(key)]
    return re.sub(r"<small>(.*)</small>", r" (\1)", cell)


def in_export(key: str) -> str:
    """Return the median and range over the cell's lines."""
    records = Store.open(RUN).records()
    lines = csv.DictReader(io.StringIO(to_csv(records, round_figures(records))))
    cell = [line for line in lines if (line["entry"], line["scenario"], line["tier"]) == (ENTRY, SCENARIO, TIER)]
    values = [float(line[f"report.{key}"]) for line in cell]
    median, low, high = (format_number(of(values)) for of in (statistics.median, min, max))
    return f"{median} ({low}–{high})"


PRINTED: tuple[Callable[[str], str], ...] = (in_report, on_page, in_readme, in_export)
"""Functions that print a figure of a cell, by the key of its column."""


@pytest.mark.parametrize("key", ["rps", "p99_ms", "cpu_us_per_request"])
def test_a_figure_has_one_value_and_one_range_wherever_it_is_printed(key: str) -> None:
    # Only documents mark lower bounds. In an export, flags show them.
    assert len({read(key).removeprefix("≥ ") for read in PRINTED}) == 1, {read.__name__: read(key) for read in PRINTED}


def ratio_in_report(metric: Metric) -> str:
    table = text_of(RUN / "report.md").partition("**virtual ÷ platform, same server, same round**")[2]
    return in_table(table.split("\n\n")[1], [ENTRY, SCENARIO, CLEAR_TIER], metric.name)


def ratio_on_page(metric: Metric) -> str:
    begin = f'<tr data-scenario="{SCENARIO}" data-tier="{CLEAR_TIER}">\n<th scope="row">'
    _, _, table = text_of(RUN / "report.html").partition('<table class="verdicts">')
    of = re.search(
        rf'<p title="{SERVER}, virtual ÷ platform, {re.escape(metric.title)}: .*?</p>',
        page_row(table, begin),
        re.DOTALL,
    )
    assert of
    return of[0]


def ratio_in_ledger(metric: Metric) -> str:
    """Return the first ratio of claim X4, which prints ratios at 100 and 1,000 connections, requests before CPU."""
    rows = [line for line in text_of(ROOT / "docs/claims.md").splitlines() if line.startswith("| X4 ")]
    ratios = next(cell for row in rows for cell in cells(row) if cell.startswith("×"))
    found = re.findall(r"×([\d.]+) \[([\d.]+), ([\d.]+)\]", ratios.split(";")[[REQUESTS, CPU].index(metric)])[0]
    size, *ends = (abs(float(number) - 1) for number in found)
    return f"{size:.0%} ({min(ends):.0%}–{max(ends):.0%})".replace("%–", "–")


RATIOS: tuple[Callable[[Metric], str], ...] = (ratio_in_report, ratio_on_page, ratio_in_ledger)
"""Functions that print the ratio of the entry to its server's pool of threads, by metric."""


@pytest.mark.parametrize("metric", [REQUESTS, CPU], ids=lambda metric: metric.name)
def test_a_ratio_has_one_value_and_one_interval_wherever_it_is_printed(metric: Metric) -> None:
    found = {read.__name__: re.findall(r"(\d+)%[ a-z]* \((\d+)–(\d+)%\)", read(metric)) for read in RATIOS}
    assert [len(texts) for texts in found.values()] == [1] * len(RATIOS), found
    assert len({text for texts in found.values() for text in texts}) == 1, found
