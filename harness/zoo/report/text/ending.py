"""The last lines of a run on the terminal: what is decided, what is open and what it needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.metrics import CPU, PER_CONNECTION, REQUESTS, Metric, Word
from zoo.analysis.pairs import Compared
from zoo.plan.scenario import holds
from zoo.report.cells import Cells
from zoo.report.findings import Finding, findings
from zoo.report.text.sentences import QUESTIONS, held, served
from zoo.report.text.wording import decided, listed

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
