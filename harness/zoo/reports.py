"""The reports of a run, made of the files of its folder alone."""

from __future__ import annotations

from pathlib import Path

from zoo.report import pictures
from zoo.report.contents import Contents
from zoo.report.document import document
from zoo.report.evidence import gather
from zoo.report.html import page
from zoo.report.markdown import render
from zoo.report.model import Section
from zoo.store import Store


def write(store: Store, reference: str | None, svg: Path | None = None) -> tuple[list[Section], Path]:
    """What was said and the page that says it; a folder named `svg` gets every chart of it as a picture."""
    contents = read(store, reference)
    sections = document(contents.run, contents.records, reference)
    store.write_text("report.md", render(sections))
    path = store.write_text("report.html", html(contents))
    if svg is not None:
        svg.mkdir(parents=True, exist_ok=True)
        for figure in contents.figures:
            (svg / f"{figure.name}.svg").write_text(pictures.alone(figure), encoding="utf-8")
    return sections, path


def read(store: Store, reference: str | None) -> Contents:
    """What the files of a run's folder say."""
    records = store.records()
    return Contents.of(store.run(), records, gather(records, store.files(), store.read_raw), reference)


def text(contents: Contents, reference: str | None) -> str:
    """`report.md`"""
    return render(document(contents.run, contents.records, reference))


def html(contents: Contents) -> str:
    """`report.html`"""
    return page(contents, pictures.TOOLS)
