"""Writes the reports of a database run beside its records, from the files of its folder alone."""

from __future__ import annotations

from pathlib import Path

from zoo.jdbc.store import JdbcStore
from zoo.report import raw_files
from zoo.report.charts.svg import TOOLS, alone
from zoo.report.jdbc.page import all_figures, page
from zoo.report.jdbc.text import document
from zoo.report.section import Section
from zoo.report.text.markdown import render


def write(store: JdbcStore, svg: Path | None = None) -> tuple[list[Section], Path]:
    """What was said and the page that says it; a folder named `svg` gets every chart of it as a picture."""
    run, records = store.run(), store.records()
    notes = raw_files.notes(store.raw_names())
    sections = document(run, records, notes)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", page(run, records, TOOLS, notes))
    if svg is not None:
        svg.mkdir(parents=True, exist_ok=True)
        for figure in all_figures(records):
            (svg / f"{figure.name}.svg").write_text(alone(figure), encoding="utf-8")
    return sections, path
