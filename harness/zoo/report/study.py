"""What the runs of a study about one server show, in sentences and short tables for its document. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from zoo.analysis.metrics import Metric
from zoo.analysis.pairs import Pair
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report.cells import variant
from zoo.report.formatting import format_interval, format_ratio
from zoo.report.section import NONE
from zoo.report.view import views


@dataclass(frozen=True)
class StudyRun:
    """A question with the run of one scenario that answers it, and a link to that run."""

    asks: str
    run: Run
    records: Sequence[Record]
    link: str


def told(questions: Iterable[StudyRun], where: Callable[[Run], str]) -> str:
    """Return all questions as Markdown; `where` says on what machine a run was made."""
    made = []
    for one in questions:
        [scenario] = one.run.plan.scenarios
        study = views()[scenario].study
        assert study, f"scenario {scenario} has no text for a study"
        made += [f"**{one.asks}**", *study(one.run, one.records), *_failed(one.records)]
        rounds = one.run.plan.rounds
        count = f"{rounds} rounds" if rounds > 1 else "One round"
        made.append(f"[Committed run]({one.link}): {count}. {where(one.run)}.")
    return "\n\n".join(made)


def ratio_text(pair: Pair, metric: Metric) -> str:
    """`0.93 [0.89, 0.97]`"""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None or comparison.ratio is None else format_interval(comparison.ratio, format_ratio)


def _failed(records: Iterable[Record]) -> list[str]:
    """Return one paragraph with a sentence for each cell without figures."""
    said = [
        f"`{variant(r.entry)}`, {r.asked} at {r.tier}, failed in round {r.round}: {r.failure.text}."
        for r in records
        if r.failure
    ]
    return [" ".join(said)] if said else []
