"""Sections about pairs: A/A and the noise band first, then verdicts with their intervals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.report.formatting import format_margin
from zoo.report.section import NONE, Section, Table
from zoo.report.wording import format_change, format_excluding, undecided_lines
from zoo.report.wording import format_comparison as in_words
from zoo.stats.metrics import Metric, Word
from zoo.stats.pairs import Kind, Pair, RunPairs
from zoo.stats.two_runs import RunComparison
from zoo.stats.verdict import MARGIN

Titles = Mapping[Kind, tuple[str, str]]
"""The heading of a section and the title of its table, by kind of pair."""

TITLES: Titles = {
    Kind.GUEST: ("Servers from outside vs. entries of the zoo", "guest ÷ entry, same round"),
    Kind.MODEL: ("Virtual threads vs. platform threads", "virtual ÷ platform, same server, same round"),
    Kind.VARIANT: ("Other variants vs. the server's default", "variant ÷ the server's first entry, same round"),
    Kind.CONDITION: ("The same entry under another condition", "entry@condition ÷ entry, same round"),
    Kind.RUN: ("Verdicts", "second run ÷ first run"),
}


FAMILY = "metric and scenario"


def pair_sections(compared: RunPairs, rounds: int, titles: Titles = TITLES, family: str = FAMILY) -> list[Section]:
    """Return A/A, then virtual against platform threads, and each other kind of pair that was measured.

    `family` names the groups within which Holm's correction is made.
    """
    sections = [aa_section(compared, rounds)]
    for kind in (Kind.GUEST, Kind.MODEL, Kind.VARIANT, Kind.CONDITION):
        pairs = compared.of(kind)
        if pairs or kind is Kind.MODEL:
            sections.append(verdict_section(kind, pairs, rounds, titles, family))
    return sections


def run_comparison_sections(names: tuple[str, str], comparison: RunComparison, rounds: int) -> list[Section]:
    """Return the comparison of two runs: first how their conditions differ, then the verdicts."""
    bullets = [*(f"not comparable: {text}" for text in comparison.obstacles), *comparison.changes]
    head = Section(f"{names[1]} vs. {names[0]}", bullets=bullets or ["The two runs had the same conditions."])
    return [head, verdict_section(Kind.RUN, comparison.pairs, rounds, family="metric")]


def aa_section(compared: RunPairs, rounds: int) -> Section:
    """Return the A/A section: each entry compared with itself, and the resulting noise band."""
    heading = "The same program twice (A/A)"
    pairs = compared.of(Kind.AA)
    if not pairs:
        return Section(heading, ["No entry was measured twice (A/A), so there is no noise band."])
    metrics = _metrics_of(pairs)
    table = Table(
        "second ÷ first measurement of one entry, same round",
        ["entry", "scenario", "tier", "n", *(m.name for m in metrics)],
        [[p.b, p.scenario, p.tier, str(p.rounds), *(_format_ratio(p, m) for m in metrics)] for p in pairs],
        text=3,
    )
    notes = [
        "Only noise can make these differ, so this checks the method. If nothing differs, 95% of the "
        "ratios over this run's rounds lie within the noise band.",
        *self_check(pairs),
    ]
    bullets = [
        f"noise band of {scenario}, {'JVM' if jvm else 'native'}, {metric.name}: {format_margin(band.factor(rounds))}"
        for (scenario, metric, jvm), band in compared.bands.items()
        if scenario in {p.scenario for p in pairs}
    ]
    return Section(heading, notes, [table], bullets or ["A single round gives no noise band."])


def self_check(pairs: Sequence[Pair]) -> list[str]:
    """Return how many intervals of A/A pairs exclude the true ratio, which is 1; empty without intervals."""
    differences = [
        c.ratio.differs for p in pairs for c in p.comparisons.values() if c.ratio and c.ratio.differs is not None
    ]
    if not differences:
        return []
    return [
        f"Self-check: {format_excluding(sum(differences), len(differences))} in comparisons of a program with itself "
        f"(about {0.05 * len(differences):.1f} expected by chance)."
    ]


def verdict_section(
    kind: Kind, pairs: Sequence[Pair], rounds: int, titles: Titles = TITLES, family: str = FAMILY
) -> Section:
    """Return the section for pairs of one kind, with one row per cell."""
    heading, title = titles[kind]
    if not pairs:
        return Section(heading, ["No such pair was measured."])
    metrics = _metrics_of(pairs)
    reasons: dict[str, str] = {}
    body = []
    for p in pairs:
        divisor = {Kind.VARIANT: p.b.rpartition(":")[2], Kind.GUEST: p.b}.get(kind)
        name = f"{p.a} ÷ {divisor}" if divisor else p.a
        cells = [_format_verdict(p, m, reasons) for m in metrics]
        body.append([name, p.scenario, p.tier, str(p.rounds), *cells])
    table = Table(title, ["pair", "scenario", "tier", "n", *(m.name for m in metrics)], body, text=3)
    missing = [text for p in pairs for text in p.lost]
    bullets = [*(f"({mark}) {reason}" for reason, mark in reasons.items()), *dict.fromkeys(missing)]
    return Section(heading, _explain_method(kind, pairs, rounds, family), [table], bullets)


def _explain_method(kind: Kind, pairs: Sequence[Pair], rounds: int, family: str) -> list[str]:
    if rounds == 1:
        notes = ["Ratios of one round: without an interval, they may be noise."]
    else:
        interval = "paired ratio over n rounds (on logarithms, with each cell's variance adjusted by that of all cells)"
        if kind is Kind.RUN:
            interval = "ratio of the means of n rounds each (Fieller)"
        notes = [
            f"Brackets: 95% interval of the {interval}, for each cell alone. `{Word.SAME}`: the whole "
            f"interval lies within ±{MARGIN:.0%}. A difference is reported if it remains after Holm's "
            f"correction for the number of cells, by {family}; it is `probably` one if only the "
            "interval of its own cell excludes no difference.",
            *undecided_lines([c for p in pairs for c in p.comparisons.values()]),
        ]
    verdicts = [c.verdict for p in pairs for c in p.comparisons.values()]
    if any(v.shared for v in verdicts):
        notes.append(
            "sc: shared cores. Server and wrk ran on the same cores, so both req/s are lower bounds "
            "and the wording describes server and wrk together; CPU per request is that of the "
            "server alone."
        )
    return notes


def _metrics_of(pairs: Sequence[Pair]) -> list[Metric]:
    """Return the metrics of the pair that has the most, in that pair's order."""
    return list(max(pairs, key=lambda p: len(p.comparisons)).comparisons)


def _format_ratio(pair: Pair, metric: Metric) -> str:
    ratio = pair.comparisons[metric].ratio if metric in pair.comparisons else None
    return format_change(ratio) if ratio else NONE


def _format_verdict(pair: Pair, metric: Metric, reasons: dict[str, str]) -> str:
    """Return a verdict such as `20% slower (10–29%) sc`, or a reference to the reason why there is none.

    With one round there is only a ratio. `n=` is added if fewer rounds than the pair's had the figure.
    """
    if metric not in pair.comparisons:
        return NONE
    comparison = pair.comparisons[metric]
    verdict, ratio = comparison.verdict, comparison.ratio
    if verdict.word is Word.NOT_MEASURED:
        mark = reasons.setdefault(verdict.why or "", str(len(reasons) + 1))
        return f"not measured ({mark})"
    rounds = ratio.rounds if ratio else 0
    marks = ["sc" if verdict.shared else "", f"n={rounds}" if rounds != pair.rounds else ""]
    return " ".join(filter(None, [in_words(comparison), *marks]))
