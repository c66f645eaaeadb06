"""Writes the reports of a database run beside its records, from the files of its folder alone."""

from __future__ import annotations

from pathlib import Path

from zoo.jdbc.page import all_figures, page
from zoo.jdbc.report import document
from zoo.jdbc.store import JdbcStore
from zoo.report import pictures
from zoo.report.markdown import render
from zoo.report.model import Section


def write(store: JdbcStore, svg: Path | None = None) -> tuple[list[Section], Path]:
    """What was said and the page that says it; a folder named `svg` gets every chart of it as a picture."""
    run, records = store.run(), store.records()
    sections = document(run, records)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", page(run, records, pictures.TOOLS))
    if svg is not None:
        svg.mkdir(parents=True, exist_ok=True)
        for figure in all_figures(records):
            (svg / f"{figure.name}.svg").write_text(pictures.alone(figure), encoding="utf-8")
    return sections, path
