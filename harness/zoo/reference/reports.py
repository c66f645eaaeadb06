"""Writes the reports of a run next to its records, from the files of its folder alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.jdbc.store import JdbcStore
from zoo.report import raw_files
from zoo.report.charts.figure import Figure
from zoo.report.charts.svg import TOOLS, alone
from zoo.report.jdbc import page as jdbc_page
from zoo.report.jdbc import text as jdbc_text
from zoo.report.page.contents import Contents
from zoo.report.page.html import page
from zoo.report.section import Section
from zoo.report.summary import Summary
from zoo.report.text.document import document
from zoo.report.text.markdown import render
from zoo.store.run_folder import Store


def write(store: Store, reference: str | None, svg: Path | None = None) -> tuple[Contents, list[Section], Path]:
    """Write both reports; return their sections and the page. A folder `svg` gets every chart as a picture."""
    contents = read(store, reference)
    sections = document(contents.summary, contents.evidence.notes)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", html(contents))
    _write_charts(contents.figures, svg)
    return contents, sections, path


def write_jdbc(store: JdbcStore, svg: Path | None = None) -> tuple[list[Section], Path]:
    """Do the same for a database run."""
    run, records = store.run(), store.records()
    notes = raw_files.notes(store.raw_names())
    sections = jdbc_text.document(run, records, notes)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", jdbc_page.page(run, records, TOOLS, notes))
    _write_charts(jdbc_page.all_figures(records), svg)
    return sections, path


def _write_charts(figures: Iterable[Figure], folder: Path | None) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            (folder / f"{figure.name}.svg").write_text(alone(figure), encoding="utf-8")


def read(store: Store, reference: str | None) -> Contents:
    """Return the report of a run's folder."""
    return contents_of(store, Summary.of(store.run(), store.records(), reference))


def contents_of(store: Store, summary: Summary) -> Contents:
    """Return the report of a run that is already summarised, with the raw files of its folder."""
    return Contents.of(summary, raw_files.gather(summary.records, store.files(), store.raw_names(), store.read_raw))


def text(contents: Contents) -> str:
    """Render `report.md`."""
    return render(document(contents.summary, contents.evidence.notes))


def html(contents: Contents) -> str:
    """Render `report.html`."""
    return page(contents, TOOLS)
