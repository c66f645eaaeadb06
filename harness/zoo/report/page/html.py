"""A report as one HTML page that needs no network: charts, tables and their scripts. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from zoo.core.flag import Flag
from zoo.report import findings
from zoo.report.charts.figure import Datum, Figure, Group
from zoo.report.charts.looks import DASHES, OUTLINES, THEME
from zoo.report.page import tables
from zoo.report.page.contents import Contents, figures_of
from zoo.report.section import mark_synthetic
from zoo.report.text import comparisons
from zoo.report.text.document import head_section
from zoo.report.wording import capitalize, describe_rounds, format_comparison
from zoo.stats.pairs import Kind

FIRST_SCREEN = 4
"""Number of charts on the first screen; the rest are folded."""


@dataclass(frozen=True)
class ChartTools:
    """The chart library for the browser, and a renderer that makes still pictures for readers without scripts."""

    library: Callable[[], str]
    svg: Callable[[Figure], str]


def replace_control_characters(value: object) -> object:
    """Replace control characters in text: a log may contain them, a page may not."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(
        c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in value
    )


def format_fact(value: object) -> object:
    """Return a fact as readable text: yes or no for booleans, a dash if it is missing."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else "–" if value in (None, "") else value


ENVIRONMENT = Environment(
    loader=PackageLoader("zoo.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=replace_control_characters,
)
ENVIRONMENT.filters["fact"] = format_fact
ENVIRONMENT.filters["compared"] = format_comparison
ENVIRONMENT.filters["capital"] = capitalize


def render_page(contents: Contents, tools: ChartTools) -> str:
    """Render the whole page."""
    summary, figures = contents.summary, contents.figures
    run, cells, records = summary.run, summary.cells, summary.records
    lines = tables.cell_lines(cells, records)
    mark = partial(mark_synthetic, entries=summary.synthetic)
    marks = {entry: mark(entry) for entry in [*cells.entries, *cells.twins] if mark(entry) != entry}
    first, more = _split_first_screen(contents.questions[0].groups if contents.questions else [])
    return ENVIRONMENT.get_template("page.html").render(
        run=run,
        rounds=describe_rounds(run.plan),
        head=head_section(run, records, [*contents.raw_files.notes, *summary.notes]).paragraphs,
        mark=mark,
        host=tables.host_line(run),
        cells=cells,
        own=summary.view_answers,
        one_round=summary.one_round_lines,
        questions=contents.questions,
        first_figures=first,
        more_groups=more,
        choices=tables.filter_choices(cells),
        aa_groups=contents.aa_groups,
        parts=contents.parts,
        findings=findings,
        bands=findings.format_bands(summary.compared, run.plan.common_rounds),
        self_check=comparisons.self_check(summary.compared.of(Kind.AA)),
        aa_table=comparisons.aa_section(summary.compared, run.plan.common_rounds),
        stills=render_stills(first, tools),
        kinds=list(tables.legend_rows(cells)),
        shapes=OUTLINES,
        dashes=[
            (tier, " ".join(map(str, dash)))
            for tier, dash in zip(summary.plain_cells.tiers, DASHES.values(), strict=False)
        ],
        ranking=tables.ranking(summary.plain_cells),
        lines=lines,
        cell_heads=tables.cell_titles(cells),
        flags=[flag for flag in Flag if any(mark.flag is flag for line in lines for mark in line.marks)],
        failures=tables.failed_records(records, contents.raw_files),
        count=len(records),
        files=sorted(name for name in contents.raw_files.files if "/" not in name),
        orders=tables.round_orders(run),
        run_facts=tables.run_facts(run),
        servers=tables.server_facts(cells),
        **chart_scripts(
            figures, tools, "page.js", {"records": tables.record_data(records, contents.raw_files), "marks": marks}
        ),
    )


def _split_first_screen(groups: Sequence[Group]) -> tuple[list[Figure], list[Group]]:
    """Return the charts of the first screen, and the groups without these charts."""
    first = figures_of(groups)[:FIRST_SCREEN]
    rest = [replace(group, figures=[f for f in group.figures if f not in first]) for group in groups]
    return first, [group for group in rest if group.figures]


def chart_scripts(figures: Sequence[Figure], tools: ChartTools, name: str, data: dict[str, Any]) -> dict[str, str]:
    """Return the template variables for a page's charts: data, Vega, a script, and the policy that allows both."""
    script = ENVIRONMENT.get_template(name).render()
    library = _escape_script(tools.library()) if figures else ""
    return {
        "data": to_json(_pack_figures(figures) | data),
        "library": Markup(library),
        "script": Markup(script),
        "policy": security_policy(library, script),
    }


def render_stills(figures: Sequence[Figure], tools: ChartTools) -> dict[str, Markup]:
    """Render still pictures of charts, which are visible before a script runs or without scripts."""
    return {figure.name: Markup(tools.svg(figure)) for figure in figures}


def security_policy(*scripts: str) -> str:
    """Return a content security policy that forbids network access and allows only these scripts."""
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts if s]
    allowed = " ".join(f"'sha256-{h}'" for h in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _escape_script(script: str) -> str:
    """Escape a script so that it cannot close its element early."""
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def to_json(value: object) -> Markup:
    """Return JSON that cannot close the script element it is in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _pack_figures(figures: Sequence[Figure]) -> dict[str, Any]:
    """Return the data of all charts, with each form and each set of rows stored once.

    Each of `figures` has the name of its form, the index of its set of rows, its height and its settings.
    """
    sets: list[list[Datum]] = []
    packed = {}
    for figure in figures:
        drawing = figure.drawing
        place = next((n for n, rows in enumerate(sets) if rows is drawing.points), len(sets))
        if place == len(sets):
            sets.append(drawing.points)
        packed[figure.name] = [drawing.form.name, place, drawing.height, drawing.settings]
    return {
        "theme": THEME,
        "templates": {form.name: form.template for form in dict.fromkeys(f.drawing.form for f in figures)},
        "sets": [{name: _pack_column([d[name] for d in points]) for name in points[0]} for points in sets],
        "figures": packed,
    }


def _pack_column(values: Sequence[object]) -> dict[str, Any]:
    """Return a column with each distinct text stored once and referred to by its index.

    Otherwise the names of entries would make up half of a long page.
    """
    if not any(isinstance(value, str) for value in values):
        return {"values": list(values)}
    words = list(dict.fromkeys(values))
    places = {word: place for place, word in enumerate(words)}
    return {"words": words, "places": [places[value] for value in values]}
