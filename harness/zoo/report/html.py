"""A report as one HTML page that needs no network: charts, tables and the scripts they need. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zoo.records import Flag, Record, Run
from zoo.report import answers, facts, gallery, tables
from zoo.report.charts import DASHES, THEME, Spec, template
from zoo.report.contents import Contents, figures_of
from zoo.report.document import document
from zoo.report.evidence import Evidence
from zoo.report.gallery import Figure
from zoo.report.points import Datum

SHAPES = {
    "square": "M-5-5h10v10h-10z",
    "circle": "M0-5.5a5.5 5.5 0 1 0 .01 0z",
    "triangle-up": "M0-6L6 5H-6z",
    "triangle-down": "M0 6L6-5H-6z",
    "triangle-right": "M6 0L-5 6V-6z",
    "diamond": "M0-7L5 0L0 7L-5 0z",
    "cross": "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
}
"""Outlines for the legend, alike those that Vega draws."""


@dataclass(frozen=True)
class Tools:
    """What turns specifications into pictures: in the browser, and beforehand for those without scripts."""

    library: Callable[[], str]
    svg: Callable[[Spec], str]


def printable(value: object) -> object:
    """Text without control characters, which a log may hold and a page may not."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(
        c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in value
    )


def told(value: object) -> object:
    """A fact as a person says it."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else "–" if value in (None, "") else value


ENVIRONMENT = Environment(
    loader=PackageLoader("zoo.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=printable,
)
ENVIRONMENT.filters["told"] = told


def page(run: Run, records: Sequence[Record], evidence: Evidence, tools: Tools, reference: str | None = None) -> str:
    """The whole page; `reference` is the bare server's entry."""
    contents = Contents.of(run, records, evidence, reference)
    cells, figures = contents.cells, contents.figures
    lines = tables.lines(cells, records)
    script = ENVIRONMENT.get_template("page.js").render()
    library = _closed(tools.library()) if figures else ""
    return ENVIRONMENT.get_template("page.html").render(
        run=run,
        head=document(run, records, reference)[0].paragraphs,
        host=facts.host(run),
        cells=cells,
        found=contents.found,
        forests=contents.forests,
        parts=contents.parts,
        answers=answers,
        reasons=answers.reasons(contents.found["model"]),
        bands=answers.bands(contents.compared, run.plan.rounds),
        still={figure.name: Markup(tools.svg(figure.drawing.spec)) for figure in figures_of(contents.forests["model"])},
        kinds=list(gallery.variants(cells)),
        shapes=SHAPES,
        dashes=[(tier, " ".join(map(str, dash))) for tier, dash in zip(cells.tiers, DASHES.values(), strict=False)],
        lines=lines,
        cell_heads=tables.heads(cells),
        flags=[flag for flag in Flag if any(mark.flag is flag for line in lines for mark in line.marks)],
        failures=tables.failures(records, evidence),
        count=len(records),
        files=sorted(name for name in evidence.files if "/" not in name),
        orders=facts.orders(run),
        run_facts=facts.of_run(run),
        servers=facts.of_servers(cells),
        data=_json({**_packed(figures), "records": tables.sources(records, evidence)}),
        library=Markup(library),
        script=Markup(script),
        policy=_policy(library, script),
    )


def _packed(figures: Sequence[Figure]) -> dict[str, Any]:
    """What the page's script draws from: each template once, each set of rows once, as columns and rows."""
    sets: list[list[Datum]] = []
    drawn = {}
    for figure in figures:
        drawing = figure.drawing
        place = next((n for n, known in enumerate(sets) if known is drawing.points), len(sets))
        if place == len(sets):
            sets.append(drawing.points)
        drawn[figure.name] = [drawing.template, place, drawing.height, drawing.settings]
    return {
        "theme": THEME,
        "templates": {name: template(name) for name in dict.fromkeys(f.drawing.template for f in figures)},
        "sets": [{"columns": list(points[0]), "rows": [list(d.values()) for d in points]} for points in sets],
        "figures": drawn,
    }


def _policy(*scripts: str) -> str:
    """No network at all, and no script but those of this page."""
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts if s]
    allowed = " ".join(f"'sha256-{h}'" for h in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _closed(script: str) -> str:
    """A script that cannot end its element early."""
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _json(value: object) -> Markup:
    """JSON that cannot end its element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
