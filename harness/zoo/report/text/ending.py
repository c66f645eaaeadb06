"""The last lines of a run on the terminal: what is decided, what is open, and what would decide it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.metrics import CPU, PER_CONNECTION, REQUESTS, Metric, Word
from zoo.analysis.pairs import Compared
from zoo.model.entry_id import is_target, is_twin, server_of
from zoo.model.record import Record, newest_records
from zoo.model.run import Run
from zoo.report.cells import Cells
from zoo.report.findings import Finding, findings
from zoo.report.text.sentences import QUESTIONS, held, served
from zoo.report.text.wording import decided, listed
from zoo.scenarios import holds, is_trial

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
