"""The reports of a run, made only from the files in its folder and written next to its records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.core.manifest import Catalog
from zoo.core.run_folder import Store
from zoo.report import raw_files
from zoo.report.charts.figure import Figure
from zoo.report.page.contents import Contents
from zoo.report.page.html import render_page
from zoo.report.page.svg import TOOLS, render_standalone
from zoo.report.section import Section
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render


def write_reports(store: Store, catalog: Catalog, svg: Path | None = None) -> tuple[Contents, list[Section], Path]:
    """Write both reports, and every chart as a picture if `svg` names a folder.

    Return the report's contents, the sections of its text, and the path of the page.
    """
    contents = read_contents(store, catalog)
    sections = report_sections(contents.summary, contents.raw_files.notes)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", render_html(contents))
    _write_charts(contents.figures, svg)
    return contents, sections, path


def _write_charts(figures: Iterable[Figure], folder: Path | None) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            (folder / f"{figure.name}.svg").write_text(render_standalone(figure), encoding="utf-8")


def read_contents(store: Store, catalog: Catalog) -> Contents:
    """Return the contents of the report of a run's folder."""
    return contents_of(store, Summary.of(store.run(), store.records(), catalog.reference_id, catalog.synthetic))


def contents_of(store: Store, summary: Summary) -> Contents:
    """Return the contents of the report of a run that is already summarized, with the raw files of its folder."""
    return Contents.of(
        summary, raw_files.read_raw_files(summary.records, store.files(), store.raw_names(), store.read_raw)
    )


def render_markdown(contents: Contents) -> str:
    """Render `report.md`."""
    return render(report_sections(contents.summary, contents.raw_files.notes))


def render_html(contents: Contents) -> str:
    """Render `report.html`."""
    return render_page(contents, TOOLS)
