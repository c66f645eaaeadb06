"""The wording of comparisons, names and lists. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.core.entry_id import server_name
from zoo.core.flag import Flag
from zoo.core.run import PlanFacts
from zoo.report.formatting import format_count, format_difference, format_factor, format_range
from zoo.stats import Ratio
from zoo.stats.metrics import Metric, Word
from zoo.stats.pairs import Comparison
from zoo.stats.summary import Row
from zoo.stats.verdict import format_missing_rounds

MODELS = {
    "platform-thread": "the pool of platform threads",
    "virtual-thread": "virtual threads",
    "event-loop": "the event loop",
    "async-task": "tasks",
    "async-servlet": "asynchronous servlets",
    "goroutine": "goroutines",
}
"""The names of thread models in sentences."""


FACTOR = 2.0
"""Ratio from which a difference is a factor, because percentages above 100 are hard to read."""

FACTORS = {Word.SLOWER: "as long", Word.FASTER: "as fast", Word.MORE: "as much"}
"""The words after a factor, by the word for ratios above 1."""


def format_tier(row: Row) -> str:
    """Return the connections, and the limit that reduced them: `25k → 19,500 (nofile hard limit 20,000)`."""
    if row.limited_by is None or row.actual is None:
        return row.tier
    return f"{row.tier} → {row.actual:,} ({row.limited_by})"


def format_comparison(comparison: Comparison, above: str | None = None, below: str | None = None) -> str:
    """Return a comparison in words: the first of these that applies, with its interval.

    `the same (within 5%)` · `24% more (13–35%)` · `2.8× as much (2.2–3.7×)` · `probably 6% more (1–12%)` ·
    `no clear difference (−11 to +20%)` · `not measured, because …`. One round has no interval: `+24%`. `above` and
    `below` are the words of a count, in place of the metric's own for ratios above and below 1.
    """
    verdict, ratio, metric = comparison.verdict, comparison.ratio, comparison.metric
    if verdict.word is Word.NOT_MEASURED or ratio is None:
        return f"not measured, because {verdict.why}"
    if ratio.low is None or ratio.high is None:
        return format_change(ratio)
    if verdict.word is Word.SAME:
        return verdict.label
    if not verdict.differs and not verdict.likely:
        return f"{verdict.label} ({format_signed_range(ratio.low, ratio.high)})"
    if is_factor := ratio.value >= FACTOR:
        size = f"{format_factor(ratio.value)}× {'as many' if above else FACTORS[metric.above]}"
    else:
        word = (above or metric.above) if ratio.value > 1 else (below or metric.below)
        size = f"{format_difference(abs(ratio.value - 1))} {word}"
    ends = format_size_range(ratio.low, ratio.high, factors=is_factor)
    return ("" if verdict.differs else "probably ") + ("at least " if verdict.at_least else "") + f"{size} ({ends})"


def format_change(ratio: Ratio) -> str:
    """Format a ratio as a change with its interval: `−4% (−6 to −2%)`, or `−4%` without an interval."""
    text = format_signed(ratio.value)
    return text if ratio.low is None or ratio.high is None else f"{text} ({format_signed_range(ratio.low, ratio.high)})"


def format_size_range(low: float, high: float, *, factors: bool = False) -> str:
    """Format two ratios on one side of 1 as the size of a difference.

    `13–35%` for 1.13 and 1.35 or 0.65 and 0.87; `2.2–3.7×` as factors.
    """
    if factors:
        first, last = format_factor(low), format_factor(high)
        return f"{last}×" if first == last else f"{first}–{last}×"
    near, far = (format_difference(size) for size in sorted((abs(low - 1), abs(high - 1))))
    return near if near == far else f"{near[:-1]}–{far}"


def format_sizes(ratios: Sequence[float], metric: Metric) -> str:
    """Format the sizes of several differences: `20–31%`, or `1.4–4.3× as long` if one ratio is 2 or more."""
    low, high = min(ratios), max(ratios)
    if high < FACTOR:
        return format_size_range(low, high)
    return f"{format_size_range(low, high, factors=True)} {FACTORS[metric.above]}"


def format_signed(ratio: float) -> str:
    """Format a ratio as a change: `+20%`, `−11%`."""
    return format_difference(ratio - 1, "+")


def format_signed_range(low: float, high: float) -> str:
    """Format two ratios as changes: `−11 to +20%`, or `−91%` if both round to the same."""
    first, last = format_signed(low), format_signed(high)
    return last if first == last else f"{first[:-1]} to {last}"


def format_excluding(count: int, intervals: int) -> str:
    """Format how many intervals exclude 1: `1 of 24 intervals excludes 1`."""
    return f"{count} of {intervals} intervals {'excludes' if count == 1 else 'exclude'} 1"


def undecided_lines(comparisons: Sequence[Comparison], about: str = "") -> list[str]:
    """Return how many comparisons are not decided and what would decide them; empty if all are decided.

    `about` says what they compare.
    """
    verdicts = [c.verdict for c in comparisons if c.verdict.word is Word.UNCLEAR]
    if not verdicts:
        return []
    few = [verdict.more for verdict in verdicts if verdict.more]
    needs = (
        f"{format_missing_rounds(max(few))} {format_part(len(few), len(verdicts))}" if few else "the noise is too large"
    )
    return [f"Not decided: {len(verdicts)} of {len(comparisons)} comparisons{about}; {needs}."]


def format_part(part: int, whole: int) -> str:
    """Return a pronoun for this part of what was just counted: `it`, `both`, `all of them` or `2 of them`."""
    if part < whole:
        return f"{part} of them"
    return {1: "it", 2: "both"}.get(whole, "all of them")


def format_flag(flag: Flag) -> str:
    return flag.value.replace("_", " ")


def join_names(names: Sequence[str]) -> str:
    """Join names: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def format_by_server(values: Mapping[str, float], unit: str = "") -> str:
    """Return values by server, lowest first: `8 ms in a:y and 9–60 ms in c`.

    A server with several variants has their range; a single variant appears under its own name.
    """
    by_server: dict[str, dict[str, float]] = {}
    for entry, value in values.items():
        by_server.setdefault(server_name(entry), {})[entry] = value
    texts = []
    for server, by_entry in sorted(by_server.items(), key=lambda one: min(one[1].values())):
        figure = format_range(min(by_entry.values()), max(by_entry.values()))
        texts.append(f"{figure}{unit} in {server if len(by_entry) > 1 else next(iter(by_entry))}")
    return join_names(texts)


def capitalize(text: str) -> str:
    """Return the text with a capital first letter; the rest is unchanged."""
    return text[:1].upper() + text[1:]


def describe_rounds(plan: PlanFacts) -> str:
    """Describe how many rounds a run has: `3 rounds`, or `2 to 7 rounds` with the reason for more."""
    if not plan.later:
        return format_count(plan.rounds, "round")
    return f"{plan.common_rounds} to {plan.rounds} rounds, more where intervals were wide"
