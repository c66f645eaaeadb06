"""A report as one HTML page that needs no network: charts, tables and the scripts they need. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zoo.analysis.pairs import Kind
from zoo.model.flag import Flag
from zoo.report import findings
from zoo.report.charts.figure import Datum, Figure, Group
from zoo.report.charts.looks import DASHES, OUTLINES, THEME
from zoo.report.page import tables
from zoo.report.page.contents import Contents, figures_of
from zoo.report.text import comparisons
from zoo.report.text.document import head
from zoo.report.text.wording import decided

FIRST = 4
"""Charts before the first fold."""


@dataclass(frozen=True)
class ChartTools:
    """What turns figures into pictures: in the browser, and beforehand for those without scripts."""

    library: Callable[[], str]
    svg: Callable[[Figure], str]


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
ENVIRONMENT.filters["decided"] = decided


def page(contents: Contents, tools: ChartTools) -> str:
    """The whole page."""
    summary, figures = contents.summary, contents.figures
    run, cells, records = summary.run, summary.cells, summary.records
    lines = tables.lines(cells, records)
    first, further = _first(contents.questions[0].groups if contents.questions else [])
    return ENVIRONMENT.get_template("page.html").render(
        run=run,
        head=head(run, records, contents.evidence.notes).paragraphs,
        host=tables.host_line(run),
        cells=cells,
        own=summary.own,
        one_round=summary.one_round,
        questions=contents.questions,
        four=first,
        further=further,
        choices=tables.choices(cells),
        again=contents.again,
        parts=contents.parts,
        answers=findings,
        bands=findings.bands(summary.compared, run.plan.rounds),
        strayed=comparisons.outside(summary.compared.of(Kind.AGAIN)),
        again_table=comparisons.again(summary.compared, run.plan.rounds),
        still=stills(first, tools),
        kinds=list(tables.legend(cells)),
        shapes=OUTLINES,
        dashes=[
            (tier, " ".join(map(str, dash))) for tier, dash in zip(summary.plain.tiers, DASHES.values(), strict=False)
        ],
        lines=lines,
        cell_heads=tables.heads(cells),
        flags=[flag for flag in Flag if any(mark.flag is flag for line in lines for mark in line.marks)],
        failures=tables.failures(records, contents.evidence),
        count=len(records),
        files=sorted(name for name in contents.evidence.files if "/" not in name),
        orders=tables.orders(run),
        run_facts=tables.run_facts(run),
        servers=tables.server_facts(cells),
        **scripts(figures, tools, "page.js", {"records": tables.sources(records, contents.evidence)}),
    )


def _first(groups: Sequence[Group]) -> tuple[list[Figure], list[Group]]:
    """The charts of the first screen, and what is left of the groups."""
    shown = figures_of(groups)[:FIRST]
    left = [replace(group, figures=[f for f in group.figures if f not in shown]) for group in groups]
    return shown, [group for group in left if group.figures]


def scripts(figures: Sequence[Figure], tools: ChartTools, name: str, data: dict[str, Any]) -> dict[str, str]:
    """What a page's template needs to draw its charts: their data and more, Vega, a script, and the policy for both."""
    script = ENVIRONMENT.get_template(name).render()
    library = _closed(tools.library()) if figures else ""
    return {
        "data": _json(_packed(figures) | data),
        "library": Markup(library),
        "script": Markup(script),
        "policy": policy(library, script),
    }


def stills(figures: Sequence[Figure], tools: ChartTools) -> dict[str, Markup]:
    """Charts that are there before a script runs, or without one."""
    return {figure.name: Markup(tools.svg(figure)) for figure in figures}


def policy(*scripts: str) -> str:
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


def _packed(figures: Sequence[Figure]) -> dict[str, Any]:
    """`figures` name their form, their set of rows, their height and their settings."""
    sets: list[list[Datum]] = []
    drawn = {}
    for figure in figures:
        drawing = figure.drawing
        place = next((n for n, known in enumerate(sets) if known is drawing.points), len(sets))
        if place == len(sets):
            sets.append(drawing.points)
        drawn[figure.name] = [drawing.form.name, place, drawing.height, drawing.settings]
    return {
        "theme": THEME,
        "templates": {form.name: form.template for form in dict.fromkeys(f.drawing.form for f in figures)},
        "sets": [{name: _column([d[name] for d in points]) for name in points[0]} for points in sets],
        "figures": drawn,
    }


def _column(values: Sequence[object]) -> dict[str, Any]:
    """Words are told once, and by their places from then on: the names of entries would be half of a long page."""
    if not any(isinstance(value, str) for value in values):
        return {"values": list(values)}
    words = list(dict.fromkeys(values))
    places = {word: place for place, word in enumerate(words)}
    return {"words": words, "places": [places[value] for value in values]}
