"""The contents of a page: the questions with their sentences and charts, then the chart sections. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report import findings, sentences
from zoo.report.cells import Cells, Level
from zoo.report.charts import forest
from zoo.report.charts.figure import ChartData, Figure, Group
from zoo.report.charts.parts import PARTS
from zoo.report.findings import Finding
from zoo.report.raw_files import RawFiles
from zoo.report.section import Section, Table
from zoo.report.sentences import QUESTIONS, Framing, ScenarioResults, headline_metrics
from zoo.report.summary import Summary
from zoo.report.text import comparisons
from zoo.report.view import records_by_view
from zoo.report.view import records_without_view as plain_records
from zoo.stats.all_answered import share_of_row
from zoo.stats.pairs import Kind

AA_TITLE = "A/A: an entry ÷ itself"


@dataclass(frozen=True)
class PagePart:
    """A section of charts with its text, tables and notes."""

    id: str
    short_title: str
    heading: str
    text: str
    groups: list[Group]
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PageSection:
    """The pairs of one kind: the question, its answers in sentences, the findings behind them, charts and a table."""

    kind: Kind
    framing: Framing
    results: list[ScenarioResults]
    findings: list[Finding]
    groups: list[Group]
    table: Section
    waits: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """By subject and load: which side is ahead, and how many requests that wait both answer, the pool first."""

    @property
    def headline_findings(self) -> list[Finding]:
        """Return the findings that could be compared, for the metrics that the first screen shows."""
        return [f for f in self.findings if f.metric in headline_metrics(f.pair.scenario) and f.ratio]

    def strip_levels(self, cells: Cells) -> list[Level]:
        """Return the loads with a column on the first screen."""
        loads = {(f.pair.scenario, f.pair.tier) for f in self.headline_findings}
        waits = {load for _, load in self.waits}
        return [level for level in cells.levels if (level.scenario, level.tier) in loads or level.name in waits]


@dataclass(frozen=True)
class Contents:
    """The contents of a page without empty parts; the first question is the one that the run is about."""

    summary: Summary
    raw_files: RawFiles
    questions: list[PageSection]
    aa_groups: list[Group]
    parts: list[PagePart]

    @classmethod
    def of(cls, summary: Summary, evidence: RawFiles) -> Contents:
        run, records, plain = summary.run, summary.records, summary.plain_cells
        aa_findings = findings.list_findings(summary.compared, Kind.AA)
        data = ChartData(plain, plain_records(records), evidence)
        return cls(
            summary,
            evidence,
            questions=_build_sections(summary),
            aa_groups=forest.draw_forests(plain, aa_findings, AA_TITLE, ranked=False),
            parts=[*_view_parts(run, summary.cells.kinds, records), *_chart_parts(data)],
        )

    @property
    def figures(self) -> list[Figure]:
        groups = chain.from_iterable(question.groups for question in self.questions)
        return figures_of([*groups, *self.aa_groups, *chain.from_iterable(part.groups for part in self.parts)])


def _build_sections(summary: Summary) -> list[PageSection]:
    sections: list[PageSection] = []
    for kind, framing in QUESTIONS.items():
        pair_findings = findings.list_findings(summary.compared, kind)
        if pair_findings:
            results = sentences.list_results(summary.cells, pair_findings, with_notes=not sections)
            table = comparisons.verdict_section(kind, summary.compared.of(kind), summary.run.plan.rounds)
            sections.append(
                PageSection(
                    kind,
                    framing,
                    results,
                    pair_findings,
                    forest.draw_forests(summary.plain_cells, pair_findings, framing.title),
                    table,
                    _answered_waits(summary.cells, pair_findings) if kind is Kind.MODEL else {},
                )
            )
    return sections


def _answered_waits(cells: Cells, pair_findings: Sequence[Finding]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return how many of the requests that wait each side of a pair answers in time, by subject and load."""
    found = {}
    for f in pair_findings:
        keys = [(entry, f.pair.scenario, f.pair.tier) for entry in (f.pair.b, f.pair.a)]
        rows = [cells.rows[key] for key in keys if key in cells.rows]
        shares = [share for row in rows if (share := share_of_row(row))]
        if len(shares) == 2:
            pool, other = (share.complete for share in shares)
            side = "same" if pool == other else "ahead" if other else "behind"
            first, second = (
                "all" if share.complete else share.of(row.actual or 0) for row, share in zip(rows, shares, strict=True)
            )
            found[f.subject, f"{f.pair.scenario} {f.pair.tier}"] = (side, f"{first} → {second}")
    return found


def _view_parts(run: Run, kinds: Mapping[str, str], records: Sequence[Record]) -> list[PagePart]:
    """Return the parts of the scenarios that have a view."""
    parts = []
    for name, view, own in records_by_view(records):
        section, groups = view.section(own), view.groups(run, kinds, own)
        text = " ".join(_without_backticks(section.paragraphs))
        parts.append(
            PagePart(
                f"of-{name}", name, view.heading, text, groups, section.tables, _without_backticks(section.bullets)
            )
        )
    return parts


def _without_backticks(texts: Sequence[str]) -> list[str]:
    """Return the texts without Markdown's backticks."""
    return [text.replace("`", "") for text in texts]


def figures_of(groups: Sequence[Group]) -> list[Figure]:
    """Return the figures of all groups, in page order."""
    return [figure for group in groups for figure in group.figures]


def _chart_parts(data: ChartData) -> list[PagePart]:
    """Return the chart sections that have something to draw."""
    parts = [PagePart(p.id, p.short_title, p.heading, p.text, p.groups(data), p.tables(data.cells)) for p in PARTS]
    return [part for part in parts if part.groups]
