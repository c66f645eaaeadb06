"""Rounds that a wanted precision costs, as a section of a report. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zoo.analysis.pilot import PLANNED, Need
from zoo.model.run import Run
from zoo.report.section import NONE, Section, Table


def section(run: Run, needs: Sequence[Need], wanted: float, cost: Callable[[Sequence[str]], float]) -> Section:
    """`cost` gives the seconds of one round of these entries."""
    pairs = list(dict.fromkeys((n.a, n.b) for n in needs))
    cells = list(dict.fromkeys(_cell(n) for n in needs))
    table = Table(
        f"rounds for ± {100 * wanted:g} %",
        ["pair", "scenario", "tier", *(m.name for m in PLANNED)],
        [
            [
                f"{a} ÷ {b}",
                scenario,
                tier,
                *(_rounds([n for n in needs if _cell(n) == (a, b, scenario, tier) and n.metric == m]) for m in PLANNED),
            ]
            for a, b, scenario, tier in cells
        ],
        text=3,
    )
    bullets = [
        f"{a} ÷ {b}: {_told([n for n in needs if (n.a, n.b) == (a, b)], cost([a, b]))}, these two alone"
        for a, b in pairs
    ]
    bullets.append(f"all pairs: {_told(needs, cost(run.plan.entries))}, the pilot's whole plan")
    return Section(
        "Rounds that a precision costs",
        [
            f"Pilot: {run.id}. Rounds after which the 95 % interval of a pair's ratio is expected to be within "
            f"± {100 * wanted:g} %; in brackets the rounds that suffice with 80 % assurance, for few rounds of a pilot "
            "tell little about their own spread.",
        ],
        [table],
        bullets,
    )


def _cell(need: Need) -> tuple[str, str, str, str]:
    return need.a, need.b, need.scenario, need.tier


def _rounds(needs: Sequence[Need]) -> str:
    """The most that any of them needs: `14 (37)`."""
    if not needs:
        return NONE
    return f"{max(n.expected for n in needs):,} ({max(n.assured for n in needs):,})"


def _told(needs: Sequence[Need], round_s: float) -> str:
    told = []
    for metric in PLANNED:
        mine = [n for n in needs if n.metric == metric]
        if mine:
            hours = max(n.expected for n in mine) * round_s / 3600
            told.append(f"{metric.name} {_rounds(mine)} rounds, about {hours:.1f} h")
    return "; ".join(told)
