"""What a page contains: the answers with their charts, then a part for each question a reader has. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from zoo.analysis.pairs import Compared, Kind, compare
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report import findings, own_answers, scenario_sections
from zoo.report.cells import Cells
from zoo.report.charts import gallery
from zoo.report.charts.gallery import Figure, Group
from zoo.report.findings import Finding
from zoo.report.page import tables
from zoo.report.raw_files import Evidence
from zoo.report.section import Section, Table
from zoo.report.text import comparisons, sentences
from zoo.report.text.ending import SHOWN, ending
from zoo.report.text.sentences import QUESTIONS, Answer, Asked

MOST_LINES = 10

AGAIN = "A/A, an entry ÷ itself"

ESTIMATE = "Tick: a round; mark: their median; bar: 95 % interval of their geometric mean (Student, on logarithms)."


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
    asked: Asked
    answers: list[Answer]
    found: list[Finding]
    groups: list[Group]
    table: Section

    @property
    def named(self) -> list[Finding]:
        """What could be compared of the metrics that the first screen shows."""
        return [f for f in self.found if f.metric in SHOWN and f.ratio]


@dataclass(frozen=True)
class Contents:
    """What there is no chart or pair of is left out; the first question is what the run is about.

    `plain` are the cells of scenarios without a part of their own, which share all others; `own` are the answers of
    those that have one.
    """

    run: Run
    records: Sequence[Record]
    evidence: Evidence
    cells: Cells
    plain: Cells
    compared: Compared
    own: list[str]
    questions: list[Question]
    again: list[Group]
    parts: list[Part]

    @classmethod
    def of(cls, run: Run, records: Sequence[Record], evidence: Evidence, reference: str | None) -> Contents:
        cells = Cells.of(run, records, reference)
        shared = scenario_sections.plain(records)
        plain = Cells.of(run, shared, reference)
        compared = compare(run.plan.entries, records, reference, run.plan.guests)
        again = gallery.forests(plain, findings.findings(compared, Kind.AGAIN), AGAIN, ranked=False)
        parts = [*_own(run, cells.kinds, records), *(p for p in _parts(plain, shared, evidence) if p.groups)]
        questions = _questions(run, cells, plain, compared)
        own = own_answers.told(records)
        return cls(run, records, evidence, cells, plain, compared, own, questions, again, parts)

    @property
    def last_lines(self) -> list[str]:
        """What the run came to, in at most ten lines."""
        return [*self.own, *ending(self.cells, self.compared)][:MOST_LINES]

    @property
    def figures(self) -> list[Figure]:
        asked = chain.from_iterable(question.groups for question in self.questions)
        return figures_of([*asked, *self.again, *chain.from_iterable(part.groups for part in self.parts)])


def _questions(run: Run, cells: Cells, plain: Cells, compared: Compared) -> list[Question]:
    made: list[Question] = []
    for kind, asked in QUESTIONS.items():
        found = findings.findings(compared, kind)
        if found:
            told = sentences.answers(cells, found, noted=not made)
            table = comparisons.verdicts(kind, compared.of(kind), run.plan.rounds)
            made.append(Question(kind, asked, told, found, gallery.forests(plain, found, asked.title), table))
    return made


def _own(run: Run, kinds: Mapping[str, str], records: Sequence[Record]) -> list[Part]:
    """The parts of scenarios that have one of their own."""
    made = []
    for name, section in scenario_sections.sections(records):
        experiment = scenario_sections.EXPERIMENTS[name]
        groups = experiment.groups(run, kinds, [record for record in records if record.scenario == name])
        text = " ".join(_unmarked(section.paragraphs))
        made.append(
            Part(f"of-{name}", name, experiment.heading, text, groups, section.tables, _unmarked(section.bullets))
        )
    return made


def _unmarked(texts: Sequence[str]) -> list[str]:
    """Without the signs by which Markdown knows code."""
    return [text.replace("`", "") for text in texts]


def figures_of(groups: Sequence[Group]) -> list[Figure]:
    """In the order of the page."""
    return [figure for group in groups for figure in group.figures]


def _parts(cells: Cells, records: Sequence[Record], evidence: Evidence) -> list[Part]:
    return [
        Part(
            "throughput",
            "Throughput",
            "Requests a second",
            f"{ESTIMATE} Hollow marks are lower bounds: something other than the server limited them.",
            gallery.by_level(cells, "requests", "req/s", bounds=True),
        ),
        Part(
            "cpu",
            "CPU",
            "CPU-seconds of the server per million requests",
            f"{ESTIMATE} Compares servers even where generator and server share the cores. Not shown below 0.2 s.",
            gallery.by_level(cells, "cpu", "CPU s per million requests"),
        ),
        Part(
            "latency",
            "Latency",
            "Latency quantiles, ms",
            "● p50, ▲ p99, ◆ p99.9; a mark a round. A quantile is shown only with 100 samples beyond it. Closed load: "
            "what a client of this load waited, not what users of an open system would.",
            gallery.quantiles(cells),
        ),
        Part(
            "curves",
            "Curves",
            "Latency over the share of requests, ms",
            "All rounds merged, for the picture only; wrk's correction for coordinated omission is taken out again.",
            gallery.curves(cells, evidence),
        ),
        Part(
            "memory",
            "Memory",
            "Memory",
            "Resident memory of the server (RSS), sampled several times a second: median of the rounds and "
            "their range. Memory of the kernel's sockets is not in it.",
            [*gallery.costs(cells, records), *gallery.held(cells, records), *gallery.memory(cells, evidence)],
        ),
        Part(
            "threads",
            "Threads",
            "Peak number of OS threads",
            "Virtual threads are not among them.",
            gallery.by_level(cells, "threads", "threads", log=True),
        ),
        Part(
            "warmup",
            "Warm-up",
            "Warm-up",
            "Load goes on in windows until throughput is steady or the time is up. A line a round; hollow marks: it "
            "had not settled. A server is loaded in turns; a first turn below the others was not warm yet.",
            gallery.warmups(cells, records),
            tables.first_turns(cells),
        ),
        Part(
            "noise",
            "Noise",
            "What else the machine did",
            "The dashed line is where a cell is flagged.",
            gallery.noise(records),
        ),
    ]
