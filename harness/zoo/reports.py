"""Writes the reports of a run beside its records, from the files of its folder alone."""

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
    run, records = store.run(), store.records()
    sections = document(run, records, reference)
    store.write_text("report.md", render(sections))
    evidence = gather(records, store.files(), store.read_raw)
    path = store.write_text("report.html", page(run, records, evidence, pictures.TOOLS, reference))
    if svg is not None:
        svg.mkdir(parents=True, exist_ok=True)
        for figure in Contents.of(run, records, evidence, reference).figures:
            (svg / f"{figure.name}.svg").write_text(pictures.alone(figure), encoding="utf-8")
    return sections, path
