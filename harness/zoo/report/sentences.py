"""The results of a run in sentences: by load in its report, and as the last lines on the terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from zoo.core.entry_id import is_aa, is_target, server_name
from zoo.core.record import Record, newest_records
from zoo.core.run import Run
from zoo.core.scenario import holds_connections, is_trial
from zoo.report.cells import Cells
from zoo.report.findings import LIMITING_FLAGS, Finding, limiting_flags, list_findings
from zoo.report.formatting import format_interval
from zoo.report.wording import (
    FACTOR,
    format_comparison,
    format_flag,
    format_part,
    format_signed_range,
    format_size_range,
    format_sizes,
    join_names,
    undecided_lines,
)
from zoo.stats.all_answered import share_of_row
from zoo.stats.metrics import CPU, METRICS, PER_CONNECTION, REQUESTS, Metric, Word
from zoo.stats.pairs import Kind, RunPairs
from zoo.stats.verdict import format_missing_rounds


@dataclass(frozen=True)
class Framing:
    """The presentation of a kind of pair: a heading, how to read its ratios, and a title for its charts."""

    short_title: str
    heading: str
    text: str
    title: str


QUESTIONS = {
    Kind.GUEST: Framing(
        "From outside",
        "Servers from outside vs. entries of the zoo",
        "Each server from outside is compared with each entry of the zoo, in the same rounds under "
        "the same load. A ratio of 2 means twice as much with the server from outside.",
        "server from outside ÷ entry of the zoo",
    ),
    Kind.MODEL: Framing(
        "Threads",
        "Virtual threads vs. platform threads",
        "Each server runs once with a pool of platform threads and once with virtual threads; "
        "everything else is equal. A ratio of 2 means twice as much with virtual threads.",
        "virtual ÷ platform threads of the same server",
    ),
    Kind.CONDITION: Framing(
        "Conditions",
        "The same entry under another condition",
        "Each entry runs under the condition named after the @ and under the run's own condition; "
        "everything else is equal. A ratio of 2 means twice as much under the condition after the @.",
        "entry@condition ÷ entry",
    ),
    Kind.VARIANT: Framing(
        "Variants",
        "Other variants of a server vs. its default",
        "Each variant is compared with the first in its server's manifest. A ratio of 2 means twice as much.",
        "other variants ÷ the default of the same server",
    ),
}
"""The questions in order of importance; a run is about the first that it has pairs for."""


@dataclass(frozen=True)
class Clause:
    """A verdict and where it applies; `side` says which of the pair is ahead."""

    word: str
    side: str
    where: str


@dataclass(frozen=True)
class Sentence:
    """The verdicts on one metric."""

    subject: str
    clauses: list[Clause]

    @property
    def text(self) -> str:
        return f"{self.subject}: {'; '.join(f'{c.word} {c.where}' for c in self.clauses)}."


@dataclass(frozen=True)
class ScenarioResults:
    """The results of a scenario: a sentence per metric, and notes on limits and on the cost of waiting requests."""

    scenario: str
    wait: str
    sentences: list[Sentence]
    notes: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [*(sentence.text for sentence in self.sentences), *self.notes]


def list_results(cells: Cells, findings: Sequence[Finding], *, with_notes: bool = True) -> list[ScenarioResults]:
    """Return the results of the pairs of one kind, for each scenario that has any; `with_notes` adds the notes."""
    results = []
    for scenario in cells.scenarios:
        matching = [f for f in findings if f.pair.scenario == scenario]
        sentences = [
            Sentence(metric.title, _clauses([f for f in matching if f.metric == metric]))
            for metric in METRICS
            if any(f.metric == metric and f.ratio for f in matching)
        ]
        if sentences:
            notes = [*limit_sentences(cells, scenario), *waiting_sentences(cells, scenario)] if with_notes else []
            results.append(ScenarioResults(scenario, cells.describe_wait(scenario), sentences, notes))
    return results


def _clauses(findings: Sequence[Finding]) -> list[Clause]:
    loads: dict[str, int] = {}
    for f in findings:
        loads[f.subject] = loads.get(f.subject, 0) + 1
    labels = sorted({f.comparison.verdict.label for f in findings}, key=_rank_label)
    clauses = []
    for label in labels:
        matching = [f for f in findings if f.comparison.verdict.label == label]
        is_everywhere = len(matching) == len(findings) and not _has_size(matching)
        where = "everywhere" if is_everywhere else _describe_places(matching, loads)
        clauses.append(Clause(label, matching[0].side, where + _format_range(matching)))
    return clauses


def _rank_label(label: str) -> tuple[int, int]:
    """Return the sort key of a verdict: differences, then probable ones, then the rest, each in the order of `Word`."""
    word = label.removeprefix("probably ")
    place = list(Word).index(Word(word))
    return 1 if word != label else 0 if place <= list(Word).index(Word.MORE) else 2, place


def _has_size(findings: Sequence[Finding]) -> bool:
    """Return whether the verdict is a certain or probable difference, whose size is given."""
    verdict = findings[0].comparison.verdict
    return verdict.differs or verdict.likely is not None


def _describe_places(findings: Sequence[Finding], loads: dict[str, int]) -> str:
    """Return where a verdict applies, with the size of the difference.

    `in java-vertx at every load (39% to 46%), java-tomcat at 1k (8%, 2–15%)`
    """
    by_subject: dict[str, list[Finding]] = {}
    for f in findings:
        by_subject.setdefault(f.subject, []).append(f)
    by_place: dict[str, list[str]] = {}
    for subject, own in by_subject.items():
        tiers = join_names([f.pair.tier for f in own])
        at = "at every load" if len(own) == loads[subject] > 1 else f"at {tiers}"
        by_place.setdefault(f"{at}{_format_sizes(own)}", []).append(subject)
    return "in " + ", ".join(f"{join_names(names)} {at}" for at, names in by_place.items())


def _format_sizes(findings: Sequence[Finding]) -> str:
    """Return the size of a difference: of one with its interval, of several as a range."""
    ratios = [f.ratio for f in findings if f.ratio]
    if not _has_size(findings):
        return ""
    least = "at least " if any(f.comparison.verdict.at_least for f in findings) else ""
    if len(ratios) == 1 and ratios[0].low is not None and ratios[0].high is not None:
        ends = format_size_range(ratios[0].low, ratios[0].high, factors=ratios[0].value >= FACTOR)
        return f" ({least}{format_sizes([ratios[0].value], findings[0].metric)}, {ends})"
    return f" ({least}{format_sizes([ratio.value for ratio in ratios], findings[0].metric)})"


def _format_range(findings: Sequence[Finding]) -> str:
    """Return the outermost ends of the intervals of comparisons without a clear difference.

    If few more rounds would decide some of them, add how many.
    """
    ratios = [f.ratio for f in findings if f.ratio]
    if findings[0].comparison.verdict.label != Word.UNCLEAR or not ratios:
        return ""
    if any(r.low is None or r.high is None for r in ratios):
        return f" ({format_signed_range(min(r.value for r in ratios), max(r.value for r in ratios))})"
    low, high = min(r.low for r in ratios if r.low), max(r.high for r in ratios if r.high)
    return f" ({format_signed_range(low, high)}{_format_rounds_needed(findings)})"


def _format_rounds_needed(findings: Sequence[Finding]) -> str:
    """Return how many more rounds would decide the comparisons that need only a few."""
    needed = [f.comparison.verdict.more for f in findings if f.comparison.verdict.more is not None]
    if not needed:
        return ""
    return f"; {format_missing_rounds(max(needed))} {format_part(len(needed), len(findings))}"


def limit_sentences(cells: Cells, scenario: str) -> list[str]:
    """Return what limited the servers in a scenario, and how many cells failed."""
    rows = [row for level in cells.levels if level.scenario == scenario for row in cells.rows_at(level)]
    texts = []
    for flag in LIMITING_FLAGS:
        count = sum(flag in limiting_flags(row) for row in rows)
        if count:
            where = "every cell" if count == len(rows) else f"{count} of {len(rows)} cells"
            texts.append(f"{format_flag(flag)} in {where}")
    failed = sum(bool(row.failures) for row in rows)
    if failed:
        texts.append(f"{failed} of {len(rows)} cells failed")
    return [f"Limits: {'; '.join(texts)}."] if texts else []


def waiting_sentences(cells: Cells, scenario: str) -> list[str]:
    """Return how many connections got a response, and the memory per waiting request if it was measured."""
    by_entry = {row.entry: row.kb_per_connection for row in cells.rows_of_scenario(scenario)}
    costs = [f"{entry} {format_interval(interval)}" for entry in cells.entries if (interval := by_entry.get(entry))]
    memory = [f"Memory per waiting request, kB: {', '.join(costs)}."] if costs else []
    return [*served_sentences(cells, scenario), *memory]


def served_sentences(cells: Cells, scenario: str) -> list[str]:
    """Return which server variants did not answer all waiting requests in time, in one sentence for equal results.

    Only the first of many sentences are returned, with the number of variants that they leave out.
    """
    answered = [(row, share) for row in cells.rows_of_scenario(scenario) if (share := share_of_row(row))]
    if not answered:
        return []
    by_entry: dict[str, list[str]] = {}
    for row, share in answered:
        if row.actual and not share.complete:
            by_entry.setdefault(row.entry, []).append(share.of(row.actual))
    by_counts: dict[str, list[str]] = {}
    for entry, counts in by_entry.items():
        by_counts.setdefault(join_names(_drop_repeated_ends(counts)), []).append(entry)
    sentences = [f"{join_names(entries)} answered {counts}." for counts, entries in by_counts.items()][:MAX_SERVED]
    left_out = sum(len(entries) for entries in list(by_counts.values())[MAX_SERVED:])
    if left_out:
        sentences.append(f"{left_out} more did not answer all in time; the report lists all.")
    rest = "All the others" if sentences else "All server variants"
    others = len({row.entry for row, _ in answered}) > len(by_entry)
    return [*sentences, *([f"{rest} answered every waiting request in time."] if others else [])]


def _drop_repeated_ends(counts: list[str]) -> list[str]:
    """Return the counts with `in time` only where the next one does not repeat it."""
    pairs = zip(counts, [*counts[1:], ""], strict=True)
    return [one.removesuffix(IN_TIME) if following.endswith(IN_TIME) else one for one, following in pairs]


IN_TIME = " in time"

MAX_SERVED = 4
"""Largest number of sentences about server variants that did not answer all requests in time."""

MAX_LINES = 6
"""Largest number of subjects that are listed; more are only counted."""


def headline_metrics(scenario: str) -> tuple[Metric, ...]:
    """Return the metrics in the last lines; the report has all.

    For a scenario that only waits, this is memory per waiting request.
    """
    return (PER_CONNECTION,) if holds_connections(scenario) else (REQUESTS, CPU)


def last_lines(cells: Cells, pairs: RunPairs) -> list[str]:
    """Return the last lines, at most ten; none if the run compares nothing and no request waited."""
    for kind, framing in QUESTIONS.items():
        comparable = [
            f
            for f in list_findings(pairs, kind)
            if f.metric in headline_metrics(f.pair.scenario) and f.ratio and f.ratio.rounds > 1
        ]
        if comparable:
            undecided = undecided_lines([f.comparison for f in comparable]) or ["All of these are decided."]
            lines = [*_subject_lines(comparable), *(f"  {line}" for line in undecided)]
            return [f"{framing.title}:", *lines, *waiting_lines(cells)]
    return waiting_lines(cells)


def waiting_lines(cells: Cells) -> list[str]:
    """Return how many connections got a response, and the memory per waiting request if the entries are few."""
    sentences_of = waiting_sentences if len(cells.entries) <= MAX_LINES else served_sentences
    return [f"{name}: {text}" for name in cells.scenarios for text in sentences_of(cells, name)]


def _subject_lines(findings: Sequence[Finding]) -> list[str]:
    by_subject: dict[str, list[Finding]] = {}
    for f in findings:
        by_subject.setdefault(f"{f.names}, {f.pair.scenario}", []).append(f)
    lines = [f"  {name}: {'; '.join(_metric_texts(own))}" for name, own in by_subject.items()]
    return (
        lines if len(lines) <= MAX_LINES else [*lines[:MAX_LINES], f"  and {len(lines) - MAX_LINES} more in the report"]
    )


def _metric_texts(findings: Sequence[Finding]) -> list[str]:
    """Return the verdicts on one subject: `req/s 11% slower (10–12%) at 1k, no clear difference (−3 to +8%) at 100`.

    A slope covers all connection counts, so it names none.
    """
    texts = []
    for metric in headline_metrics(findings[0].pair.scenario):
        by_word: dict[str, list[str]] = {}
        for f in findings:
            if f.metric == metric:
                by_word.setdefault(format_comparison(f.comparison), []).append(f.pair.tier)
        if by_word:
            places = {
                word: "" if metric is PER_CONNECTION else f" at {join_names(tiers)}" for word, tiers in by_word.items()
            }
            texts.append(f"{metric.name} {', '.join(f'{word}{where}' for word, where in places.items())}")
    return texts


def one_round_lines(run: Run, records: Sequence[Record]) -> list[str]:
    """Return what one round shows; empty if the run has several rounds or only trials."""
    latest = [r for r in newest_records(records) if not is_aa(r.entry)]
    if run.plan.rounds > 1 or not latest or all(is_trial(r.scenario) for r in latest):
        return []
    failed = [r for r in latest if r.failure]
    failures = [f"{r.entry} failed in {r.workload} at {r.tier}: {r.failure.text}" for r in failed if r.failure]
    return [_count_working(run, latest, {r.entry for r in failed}), *failures, *_suggest_statistics(latest)]


def _count_working(run: Run, latest: Sequence[Record], failed: set[str]) -> str:
    """Return how many server variants work: `All 13 server variants work.`"""
    entries = list(dict.fromkeys(r.entry for r in latest))
    good = [entry for entry in entries if entry not in failed]
    if len(entries) == 1:
        text = f"{entries[0]} {'works' if good else 'does not work in every cell'}"
    elif len(good) < len(entries):
        text = f"{len(good)} of {len(entries)} server variants work{'s' if len(good) == 1 else ''} in every cell"
    else:
        text = f"{'Both' if len(good) == 2 else f'All {len(good)}'} server variants work"
    missing = run.plan.cells - len(latest)
    return f"{text}; {missing} of {run.plan.cells} cells not run yet." if missing > 0 else f"{text}."


def _suggest_statistics(latest: Sequence[Record]) -> list[str]:
    """Return which commands give statistics; empty if one round is enough, such as for whether requests are held."""
    if all(holds_connections(r.scenario) or is_trial(r.scenario) for r in latest):
        return []
    servers = list(dict.fromkeys(server_name(r.entry) for r in latest if not is_target(r.entry)))
    server = servers[0] if len(servers) == 1 else "…"
    commands = "the same command with ROUNDS=3"
    if servers:
        commands = f"`make answer SERVER={server}` (about 15 minutes) or `make bench-all` (up to 90 minutes)"
    return [f"One round gives no statistics; {commands} does."]
