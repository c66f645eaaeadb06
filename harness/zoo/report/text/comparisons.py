"""What is said of pairs: A/A and the noise band first, then verdicts with their intervals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.analysis.metrics import Metric, Word
from zoo.analysis.pairs import Compared, Kind, Pair
from zoo.analysis.two_runs import Contrast
from zoo.analysis.verdict import MARGIN
from zoo.report.formatting import format_interval, format_margin, format_ratio
from zoo.report.section import NONE, Section, Table
from zoo.report.text.wording import decided

Titles = Mapping[Kind, tuple[str, str]]
"""Heading of a section and title of its table."""

TITLES: Titles = {
    Kind.GUEST: ("Servers from outside over entries of the zoo", "guest ÷ entry, same round"),
    Kind.MODEL: ("Virtual threads over platform threads", "virtual ÷ platform, same server, same round"),
    Kind.VARIANT: ("Other variants over the server's default", "variant ÷ the server's first entry, same round"),
    Kind.CONDITION: ("The same entry under another condition", "entry@condition ÷ entry, same round"),
    Kind.RUN: ("Verdicts", "second run ÷ first run"),
}


FAMILY = "metric and scenario"


def sections(compared: Compared, rounds: int, titles: Titles = TITLES, family: str = FAMILY) -> list[Section]:
    """A/A, then the named pairs, then the others where there are any; Holm's correction is made by `family`."""
    made = [again(compared, rounds)]
    for kind in (Kind.GUEST, Kind.MODEL, Kind.VARIANT, Kind.CONDITION):
        pairs = compared.of(kind)
        if pairs or kind is Kind.MODEL:
            made.append(verdicts(kind, pairs, rounds, titles, family))
    return made


def between_runs(names: tuple[str, str], found: Contrast, rounds: int) -> list[Section]:
    """What two runs say of each other: what differs between them first."""
    bullets = [*(f"not comparable: {text}" for text in found.obstacles), *found.changes]
    head = Section(f"{names[1]} over {names[0]}", bullets=bullets or ["The two runs had the same conditions."])
    return [head, verdicts(Kind.RUN, found.pairs, rounds, family="metric")]


def again(compared: Compared, rounds: int) -> Section:
    """What an entry says of itself, and the noise band that follows from it."""
    heading = "The same program twice (A/A)"
    pairs = compared.of(Kind.AGAIN)
    if not pairs:
        return Section(heading, ["No A/A pair was measured: no noise band."])
    metrics = _used(pairs)
    table = Table(
        "second ÷ first measurement of one entry, same round",
        ["entry", "scenario", "tier", "n", *(m.name for m in metrics)],
        [[p.b, p.scenario, p.tier, str(p.rounds), *(_ratio(p, m) for m in metrics)] for p in pairs],
        text=3,
    )
    notes = [
        "Nothing differs here but noise, so this checks the method. The noise band is what a ratio over this run's "
        "rounds lies in, in 95 % of cases, when nothing differs.",
        *outside(pairs),
    ]
    bullets = [
        f"noise band of {scenario}, {'JVM' if jvm else 'native'}, {metric.name}: {format_margin(band.factor(rounds))}"
        for (scenario, metric, jvm), band in compared.bands.items()
        if scenario in {p.scenario for p in pairs}
    ]
    return Section(heading, notes, [table], bullets or ["One round gives no noise band."])


def outside(pairs: Sequence[Pair]) -> list[str]:
    """How many intervals of A/A pairs leave out the truth, which is 1; nothing where there are no intervals."""
    known = [c.ratio.differs for p in pairs for c in p.comparisons.values() if c.ratio and c.ratio.differs is not None]
    if not known:
        return []
    return [
        f"{sum(known)} of {len(known)} intervals leave out 1; without a fault of the method about "
        f"{0.05 * len(known):.1f} would."
    ]


def verdicts(kind: Kind, pairs: Sequence[Pair], rounds: int, titles: Titles = TITLES, family: str = FAMILY) -> Section:
    """Of the pairs of one kind, a row a cell."""
    heading, title = titles[kind]
    if not pairs:
        return Section(heading, ["No such pair was measured."])
    metrics = _used(pairs)
    reasons: dict[str, str] = {}
    body = []
    for p in pairs:
        over = {Kind.VARIANT: p.b.rpartition(":")[2], Kind.GUEST: p.b}.get(kind)
        name = f"{p.a} ÷ {over}" if over else p.a
        cells = [_verdict(p, m, reasons) for m in metrics]
        body.append([name, p.scenario, p.tier, str(p.rounds), *cells])
    table = Table(title, ["pair", "scenario", "tier", "n", *(m.name for m in metrics)], body, text=3)
    lost = [text for p in pairs for text in p.lost]
    bullets = [*(f"({mark}) {why}" for why, mark in reasons.items()), *dict.fromkeys(lost)]
    return Section(heading, _how(kind, pairs, rounds, family), [table], bullets)


def _how(kind: Kind, pairs: Sequence[Pair], rounds: int, family: str) -> list[str]:
    if rounds == 1:
        notes = ["Ratios of one round: no interval, they may be noise."]
    else:
        interval = "paired ratio over n rounds (on logarithms, the variance moderated by that of all cells)"
        if kind is Kind.RUN:
            interval = "ratio of the means of n rounds each (Fieller)"
        notes = [
            f"Brackets: 95 % interval of the {interval}, of each cell alone. `{Word.SAME.value}`: the whole interval "
            f"within ± {100 * MARGIN:.0f} %. A difference accounts for the number of cells (Holm, by "
            f"{family}). `open`: neither, with what would decide it."
        ]
    verdicts = [c.verdict for p in pairs for c in p.comparisons.values()]
    if any(v.shared for v in verdicts):
        notes.append(
            "sc: on shared cores. Server and wrk had the same cores, so both req/s are lower bounds and the word is "
            "about server and wrk together; CPU per request is the server's own."
        )
    if any(v.at_least for v in verdicts):
        notes.append("≥: the one ahead is a lower bound; the difference is at least this.")
    return notes


def _used(pairs: Sequence[Pair]) -> list[Metric]:
    """In the order of the pair that has most of them."""
    return list(max(pairs, key=lambda p: len(p.comparisons)).comparisons)


def _ratio(pair: Pair, metric: Metric) -> str:
    """`0.96 [0.94, 0.98]`, with its own n where fewer rounds had the figure."""
    ratio = pair.comparisons[metric].ratio if metric in pair.comparisons else None
    if ratio is None:
        return NONE
    text = format_interval(ratio, format_ratio)
    return text if ratio.rounds == pair.rounds else f"{text} n={ratio.rounds}"


def _verdict(pair: Pair, metric: Metric, reasons: dict[str, str]) -> str:
    """`slower 0.96 [0.94, 0.98] sc`, or the mark of the reason why there is none."""
    if metric not in pair.comparisons:
        return NONE
    verdict = pair.comparisons[metric].verdict
    if verdict.word is Word.NOT_MEASURED:
        mark = reasons.setdefault(verdict.why or "", str(len(reasons) + 1))
        return f"not measured ({mark})"
    parts = [_word(pair, metric), "≥" if verdict.at_least else "", _ratio(pair, metric), "sc" if verdict.shared else ""]
    return " ".join(filter(None, parts))


def _word(pair: Pair, metric: Metric) -> str:
    """`slower 19–30 %`, `open (leans more; about 4 more rounds would decide)`; one round has no word."""
    comparison = pair.comparisons[metric]
    verdict, ratio = comparison.verdict, comparison.ratio
    if ratio and ratio.rounds == 1:
        return ""
    if verdict.word is Word.OPEN and verdict.why and ratio and ratio.low is not None:
        return f"open ({verdict.why})"
    return decided(comparison)
