"""A database run's report as one HTML page that needs no network. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from zoo.jdbc.analysis import Records
from zoo.jdbc.records import JdbcRun
from zoo.report.charts.figure import Figure, Group
from zoo.report.charts.looks import KINDS, OUTLINES
from zoo.report.jdbc import charts
from zoo.report.jdbc.text import ANSWER, CELLS, FLOODS, document
from zoo.report.page.contents import figures_of
from zoo.report.page.html import ENVIRONMENT, ChartTools, printable, scripts, stills
from zoo.report.section import Section

CHARTS: dict[str, Callable[[Records], list[Group]]] = {
    ANSWER: charts.answer,
    CELLS: charts.cells,
    FLOODS: charts.floods,
}
"""By the heading of the section that they belong to."""


@dataclass(frozen=True)
class JdbcPart:
    """A section with its charts."""

    section: Section
    groups: list[Group]

    @property
    def id(self) -> str:
        return re.sub(r"[^a-z]+", "-", self.section.heading.lower()).strip("-")


def page(run: JdbcRun, records: Records, tools: ChartTools, notes: Sequence[str] = ()) -> str:
    """The whole page."""
    head, *rest = document(run, records, notes)
    parts = [JdbcPart(section, _groups(section.heading, records)) for section in rest]
    drawn = [figure for part in parts for figure in figures_of(part.groups)]
    return ENVIRONMENT.get_template("jdbc.html").render(
        run=run,
        head=head,
        parts=parts,
        legend=[(KINDS[kind], said) for kind, said in charts.LEGEND.items()],
        shapes=OUTLINES,
        coded=coded,
        still=stills(figures_of(parts[0].groups), tools),
        **scripts(drawn, tools, "draw.js", {}),
    )


def all_figures(records: Records) -> list[Figure]:
    return [figure for heading in CHARTS for figure in figures_of(_groups(heading, records))]


def coded(text: str) -> Markup:
    """Text whose `words` between backticks are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(printable(text)))))


def _groups(heading: str, records: Records) -> list[Group]:
    return CHARTS[heading](records) if heading in CHARTS else []
