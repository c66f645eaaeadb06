"""What a page contains: the answers with their charts, then a part for each question a reader has. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from zoo.analysis.pairs import Kind
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report import findings
from zoo.report.charts import forest
from zoo.report.charts.figure import Drawn, Figure, Group
from zoo.report.charts.parts import PARTS
from zoo.report.findings import Finding
from zoo.report.raw_files import RawFiles
from zoo.report.section import Section, Table
from zoo.report.summary import Summary
from zoo.report.text import comparisons, sentences
from zoo.report.text.sentences import QUESTIONS, Answer, Framing, told_of
from zoo.report.view import plain as plain_records
from zoo.report.view import viewed

AGAIN = "A/A, an entry ÷ itself"


@dataclass(frozen=True)
class Part:
    """A section of charts."""

    id: str
    short: str
    heading: str
    text: str
    groups: list[Group]
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """The pairs of a kind: what is asked, the answer in sentences, the findings behind it, charts, and a table."""

    kind: Kind
    asked: Framing
    answers: list[Answer]
    found: list[Finding]
    groups: list[Group]
    table: Section

    @property
    def named(self) -> list[Finding]:
        """What could be compared of the metrics that the first screen shows."""
        return [f for f in self.found if f.metric in told_of(f.pair.scenario) and f.ratio]


@dataclass(frozen=True)
class Contents:
    """What there is no chart or pair of is left out; the first question is what the run is about."""

    summary: Summary
    evidence: RawFiles
    questions: list[Question]
    again: list[Group]
    parts: list[Part]

    @classmethod
    def of(cls, summary: Summary, evidence: RawFiles) -> Contents:
        run, records, plain = summary.run, summary.records, summary.plain
        twice = findings.findings(summary.compared, Kind.AGAIN)
        drawn = Drawn(plain, plain_records(records), evidence)
        return cls(
            summary,
            evidence,
            questions=_questions(summary),
            again=forest.forests(plain, twice, AGAIN, ranked=False),
            parts=[*_own(run, summary.cells.kinds, records), *_parts(drawn)],
        )

    @property
    def figures(self) -> list[Figure]:
        asked = chain.from_iterable(question.groups for question in self.questions)
        return figures_of([*asked, *self.again, *chain.from_iterable(part.groups for part in self.parts)])


def _questions(summary: Summary) -> list[Question]:
    made: list[Question] = []
    for kind, asked in QUESTIONS.items():
        found = findings.findings(summary.compared, kind)
        if found:
            told = sentences.answers(summary.cells, found, noted=not made)
            table = comparisons.verdicts(kind, summary.compared.of(kind), summary.run.plan.rounds)
            made.append(Question(kind, asked, told, found, forest.forests(summary.plain, found, asked.title), table))
    return made


def _own(run: Run, kinds: Mapping[str, str], records: Sequence[Record]) -> list[Part]:
    """The parts of scenarios that have one of their own."""
    made = []
    for name, view, mine in viewed(records):
        section, groups = view.section(mine), view.groups(run, kinds, mine)
        text = " ".join(_unmarked(section.paragraphs))
        made.append(Part(f"of-{name}", name, view.heading, text, groups, section.tables, _unmarked(section.bullets)))
    return made


def _unmarked(texts: Sequence[str]) -> list[str]:
    """Without the signs by which Markdown knows code."""
    return [text.replace("`", "") for text in texts]


def figures_of(groups: Sequence[Group]) -> list[Figure]:
    """In the order of the page."""
    return [figure for group in groups for figure in group.figures]


def _parts(drawn: Drawn) -> list[Part]:
    """Those sections of charts that have something to draw."""
    made = [Part(p.id, p.short, p.heading, p.text, p.groups(drawn), p.tables(drawn.cells)) for p in PARTS]
    return [part for part in made if part.groups]
