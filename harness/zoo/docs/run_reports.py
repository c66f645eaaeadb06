"""The reports of a run, made of the files of its folder alone."""

from __future__ import annotations

from pathlib import Path

from zoo.report.charts.svg import TOOLS, alone
from zoo.report.page.contents import Contents
from zoo.report.page.html import page
from zoo.report.raw_files import gather
from zoo.report.section import Section
from zoo.report.summary import Summary
from zoo.report.text.document import document
from zoo.report.text.markdown import render
from zoo.store.run_folder import Store


def write(store: Store, reference: str | None, svg: Path | None = None) -> tuple[Contents, list[Section], Path]:
    """What the files say, in sections, and as a page; a folder named `svg` gets every chart of it as a picture."""
    contents = read(store, reference)
    sections = document(contents.summary, contents.evidence.notes)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", html(contents))
    if svg is not None:
        svg.mkdir(parents=True, exist_ok=True)
        for figure in contents.figures:
            (svg / f"{figure.name}.svg").write_text(alone(figure), encoding="utf-8")
    return contents, sections, path


def read(store: Store, reference: str | None) -> Contents:
    """What the files of a run's folder say."""
    return contents_of(store, Summary.of(store.run(), store.records(), reference))


def contents_of(store: Store, summary: Summary) -> Contents:
    """Return the report of a run that is already summarised, with the raw files of its folder."""
    return Contents.of(summary, gather(summary.records, store.files(), store.raw_names(), store.read_raw))


def text(contents: Contents) -> str:
    """`report.md`"""
    return render(document(contents.summary, contents.evidence.notes))


def html(contents: Contents) -> str:
    """`report.html`"""
    return page(contents, TOOLS)
