"""The answers of a run in sentences: by load in its report, and as the last lines on the terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from zoo.analysis.answered import of_row
from zoo.analysis.metrics import CPU, METRICS, PER_CONNECTION, REQUESTS, Metric, Word
from zoo.analysis.pairs import Compared, Kind
from zoo.model.entry_id import is_target, is_twin, server_of
from zoo.model.record import Record, newest_records
from zoo.model.run import Run
from zoo.plan.scenario import holds, is_trial
from zoo.report.cells import Cells
from zoo.report.findings import BAD, GOOD, LIMITS, SIDES, Finding, findings, limiting
from zoo.report.formatting import format_ends, format_interval, format_ratio
from zoo.report.text.wording import decided, listed, words


@dataclass(frozen=True)
class Framing:
    """How a kind of pair is put to a reader: a heading, how to read its ratios, and a title for its charts."""

    short: str
    heading: str
    text: str
    title: str


QUESTIONS = {
    Kind.GUEST: Framing(
        "From outside",
        "Servers from outside against entries of the zoo",
        "Each server that is not of the zoo against each entry of it, in the same rounds under the same load. "
        "×2 would mean twice as much by the one from outside.",
        "server from outside ÷ entry of the zoo",
    ),
    Kind.MODEL: Framing(
        "Threads",
        "Virtual against platform threads",
        "Each server once with a pool of platform threads and once with virtual threads, all else equal. "
        "×2 would mean twice as much with virtual threads.",
        "virtual ÷ platform threads of the same server",
    ),
    Kind.CONDITION: Framing(
        "Conditions",
        "The same entry under another condition",
        "Each entry under the condition named after the @ and under the run's own, all else equal. "
        "×2 would mean twice as much under the other condition.",
        "entry@condition ÷ entry",
    ),
    Kind.VARIANT: Framing(
        "Variants",
        "Other variants of a server against its default",
        "Each variant against the first in its server's manifest. ×2 would mean twice as much.",
        "other variants ÷ the default of the same server",
    ),
}
"""In the order of importance; the first that a run has pairs for is what it is about."""


@dataclass(frozen=True)
class Clause:
    """A verdict and where it was given; `side` says whom it speaks for."""

    word: str
    side: str
    where: str


@dataclass(frozen=True)
class Sentence:
    """What is said of one metric."""

    subject: str
    clauses: list[Clause]

    @property
    def text(self) -> str:
        return f"{self.subject}: {'; '.join(f'{c.word} {c.where}' for c in self.clauses)}."


@dataclass(frozen=True)
class Answer:
    """What a scenario says: a sentence a metric, and notes on what limited it and what it cost."""

    scenario: str
    wait: str
    sentences: list[Sentence]
    notes: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [*(sentence.text for sentence in self.sentences), *self.notes]


def answers(cells: Cells, found: Sequence[Finding], *, noted: bool = True) -> list[Answer]:
    """Of the pairs of one kind, for each scenario that has any."""
    made = []
    for scenario in cells.scenarios:
        of = [f for f in found if f.pair.scenario == scenario]
        sentences = [
            Sentence(metric.title, _clauses([f for f in of if f.metric == metric]))
            for metric in METRICS
            if any(f.metric == metric and f.ratio for f in of)
        ]
        if sentences:
            notes = [*limited(cells, scenario), *held(cells, scenario)] if noted else []
            made.append(Answer(scenario, cells.wait(scenario), sentences, notes))
    return made


def _clauses(found: Sequence[Finding]) -> list[Clause]:
    loads: dict[str, int] = {}
    for f in found:
        loads[f.who] = loads.get(f.who, 0) + 1
    made = []
    for word in Word:
        of = [f for f in found if f.comparison.verdict.word is word]
        if of:
            where = "everywhere" if len(of) == len(found) and word not in (*GOOD, *BAD) else _where(of, loads)
            made.append(Clause(word.value, SIDES.get(word, "open"), where + _reach(word, of)))
    return made


def _where(found: Sequence[Finding], loads: dict[str, int]) -> str:
    """`in java-vertx at every load (×1.39 to ×1.46), java-tomcat at 1k (×1.08 [1.02, 1.15])`"""
    by_who: dict[str, list[Finding]] = {}
    for f in found:
        by_who.setdefault(f.who, []).append(f)
    alike: dict[str, list[str]] = {}
    for who, of in by_who.items():
        tiers = listed([f.pair.tier for f in of])
        at = "at every load" if len(of) == loads[who] > 1 else f"at {tiers}"
        alike.setdefault(f"{at}{_by(of)}", []).append(who)
    return "in " + ", ".join(f"{listed(names)} {at}" for at, names in alike.items())


def _by(found: Sequence[Finding]) -> str:
    """By how much, where that is certain: one ratio with its interval, or the range of several."""
    if found[0].comparison.verdict.word not in (*GOOD, *BAD):
        return ""
    least = "at least " if any(f.comparison.verdict.at_least for f in found) else ""
    if len(found) == 1:
        return f" ({least}{found[0].figure})"
    ratios = [f.ratio.value for f in found if f.ratio]
    low, high = format_ratio(min(ratios)), format_ratio(max(ratios))
    return f" ({least}×{low})" if low == high else f" ({least}×{low} to ×{high})"


def _reach(word: Word, found: Sequence[Finding]) -> str:
    """How far what is not known may go: the ratios seen, and the outermost ends of their intervals."""
    seen = [f.ratio for f in found if f.ratio]
    if word is not Word.OPEN or not seen:
        return ""
    if len(found) == 1:
        why = found[0].comparison.verdict.why if seen[0].low is not None else None
        return f" ({found[0].figure}{f': {why}' if why else ''})"
    ratios = [r.value for r in seen]
    text = f"×{format_ratio(min(ratios))} to ×{format_ratio(max(ratios))}"
    lows, highs = [r.low for r in seen if r.low is not None], [r.high for r in seen if r.high is not None]
    within = f", intervals within {format_ends(min(lows), max(highs), format_ratio)}" if lows else ""
    return f" ({text}{within}{_more(found)})"


def _more(found: Sequence[Finding]) -> str:
    """How many more rounds would decide those for which it is few."""
    known = [f.comparison.verdict.more for f in found if f.comparison.verdict.more is not None]
    if not known:
        return ""
    which = "them" if len(known) == len(found) else f"{len(known)} of {len(found)}"
    return f"; {max(known)} more rounds would decide {which}"


def limited(cells: Cells, scenario: str) -> list[str]:
    """What stood between the loads and the servers."""
    rows = [row for level in cells.levels if level.scenario == scenario for row in cells.at(level)]
    told = []
    for flag in LIMITS:
        count = sum(flag in limiting(row) for row in rows)
        if count:
            told.append(f"{words(flag)} in {'every cell' if count == len(rows) else f'{count} of {len(rows)} cells'}")
    failed = sum(bool(row.failures) for row in rows)
    if failed:
        told.append(f"{failed} of {len(rows)} cells failed")
    return [f"What limited it: {'; '.join(told)}."] if told else []


def held(cells: Cells, scenario: str) -> list[str]:
    """Who was answered, and what a held connection costs, where one was."""
    cost = {row.entry: row.kb_per_connection for row in cells.of_scenario(scenario)}
    told = [f"{entry} {format_interval(found)}" for entry in cells.entries if (found := cost.get(entry))]
    return [*served(cells, scenario), *([f"Memory per waiting request, kB: {', '.join(told)}."] if told else [])]


def served(cells: Cells, scenario: str) -> list[str]:
    """Return who answered fewer than all connections in a wait, or not in time."""
    found = [(row, seen) for row in cells.of_scenario(scenario) if (seen := of_row(row))]
    if not found:
        return []
    by_entry: dict[str, list[str]] = {}
    for row, seen in found:
        if row.actual and not seen.complete:
            by_entry.setdefault(row.entry, []).append(seen.of(row.actual))
    alike: dict[str, list[str]] = {}
    for entry, counts in by_entry.items():
        alike.setdefault(listed(counts), []).append(entry)
    told = "; ".join(f"{listed(entries)} {counts}" for counts, entries in alike.items())
    return [f"Answered in each wait: {f'all connections, but {told}' if told else 'all connections'}."]


MOST_LINES = 6
"""More subjects than these are counted, not told."""


def told_of(scenario: str) -> tuple[Metric, ...]:
    """Those metrics that the last lines tell; the report has all. What only waits costs memory."""
    return (PER_CONNECTION,) if holds(scenario) else (REQUESTS, CPU)


def ending(cells: Cells, compared: Compared) -> list[str]:
    """At most ten lines; none where the run compares nothing and nobody waited."""
    for kind, asked in QUESTIONS.items():
        found = [
            f
            for f in findings(compared, kind)
            if f.metric in told_of(f.pair.scenario) and f.ratio and f.ratio.rounds > 1
        ]
        if found:
            return [f"{asked.title}:", *_subjects(found), *_open(found), *waits(cells)]
    return waits(cells)


def waits(cells: Cells) -> list[str]:
    """Who was answered while it waited, and what a held connection costs where there is room for that."""
    tell = held if len(cells.entries) <= MOST_LINES else served
    return [f"{name}: {text}" for name in cells.scenarios for text in tell(cells, name)]


def _subjects(found: Sequence[Finding]) -> list[str]:
    of: dict[str, list[Finding]] = {}
    for f in found:
        of.setdefault(f"{f.names}, {f.pair.scenario}", []).append(f)
    told = [f"  {name}: {'; '.join(_metrics(its))}" for name, its in of.items()]
    return (
        told if len(told) <= MOST_LINES else [*told[:MOST_LINES], f"  and {len(told) - MOST_LINES} more in the report"]
    )


def _metrics(found: Sequence[Finding]) -> list[str]:
    """Of one subject: `req/s slower 10–12 % at 1k, open at 100`; a slope takes all connection counts together."""
    made = []
    for metric in told_of(found[0].pair.scenario):
        by_word: dict[str, list[str]] = {}
        for f in found:
            if f.metric == metric:
                by_word.setdefault(decided(f.comparison), []).append(f.pair.tier)
        if by_word:
            at = {word: "" if metric is PER_CONNECTION else f" at {listed(tiers)}" for word, tiers in by_word.items()}
            made.append(f"{metric.name} {', '.join(f'{word}{where}' for word, where in at.items())}")
    return made


def _open(found: Sequence[Finding]) -> list[str]:
    """How many are not decided, and what would decide them."""
    undecided = [f.comparison.verdict for f in found if f.comparison.verdict.word is Word.OPEN]
    if not undecided:
        return ["  All of these are decided."]
    rounds = [v.more for v in undecided if v.more]
    needs = (
        f"about {max(rounds)} more rounds would decide {len(rounds)} of them" if rounds else "the noise is too large"
    )
    return [f"  Open: {len(undecided)} of {len(found)}; {needs}."]


def one_round(run: Run, records: Sequence[Record]) -> list[str]:
    """Return what one round shows; nothing for a run of several, or of scenarios with a section of their own alone."""
    latest = [r for r in newest_records(records) if not is_twin(r.entry)]
    if run.plan.rounds > 1 or not latest or all(is_trial(r.scenario) for r in latest):
        return []
    failed = [r for r in latest if r.failure]
    said = [f"{r.entry} failed in {r.asked} at {r.tier}: {r.failure.text}" for r in failed if r.failure]
    return [_working(run, latest, {r.entry for r in failed}), *said, *_statistics(latest)]


def _working(run: Run, latest: Sequence[Record], failed: set[str]) -> str:
    """`All 13 server variants work.`"""
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


def _statistics(latest: Sequence[Record]) -> list[str]:
    """Which commands give statistics; nothing where one round shows all, as whether requests are held."""
    if all(holds(r.scenario) or is_trial(r.scenario) for r in latest):
        return []
    servers = list(dict.fromkeys(server_of(r.entry) for r in latest if not is_target(r.entry)))
    named = servers[0] if len(servers) == 1 else "…"
    commands = "the same command with ROUNDS=3"
    if servers:
        commands = f"`make answer SERVER={named}` (about 10 minutes) or `make bench-all` (up to 90 minutes)"
    return [f"One round gives no statistics: {commands} does."]
