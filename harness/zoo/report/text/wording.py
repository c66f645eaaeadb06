"""Comparisons, names and lists in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.analysis.metrics import Word
from zoo.analysis.pairs import Comparison
from zoo.analysis.stats import Ratio
from zoo.analysis.summary import Row
from zoo.analysis.verdict import MARGIN
from zoo.model.entry_id import server_of
from zoo.model.flag import Flag
from zoo.report.formatting import format_number

MODELS = {
    "platform-thread": "the pool of platform threads",
    "virtual-thread": "virtual threads",
    "event-loop": "the event loop",
    "async-task": "tasks",
    "async-servlet": "asynchronous servlets",
}
"""Thread models as a sentence names them."""


def tier_label(row: Row) -> str:
    """`25k → 19,500 (nofile hard limit 20,000)` where a limit cut the tier."""
    if row.limited_by is None or row.actual is None:
        return row.tier
    return f"{row.tier} → {row.actual:,} ({row.limited_by})"


def size(ratio: Ratio) -> str:
    """How large a difference is, from its interval: `19–30 %`; as factors from twice as much on."""
    if ratio.low is None or ratio.high is None:
        return ""
    if ratio.high >= 2:
        low, high = f"{ratio.low:.1f}", f"{ratio.high:.1f}"
        return f"×{low}" if low == high else f"×{low}–{high}"
    low, high = (f"{end:.0f}" for end in sorted(abs(1 - end) * 100 for end in (ratio.low, ratio.high)))
    return f"{low} %" if low == high else f"{low}–{high} %"


def decided(comparison: Comparison) -> str:
    """The word of a verdict, of a difference with its size: `slower 19–30 %`, `equal within 5 %`, `open`."""
    verdict, ratio = comparison.verdict, comparison.ratio
    return f"{verdict.word.value} {size(ratio)}".strip() if verdict.differs and ratio else verdict.word.value


def compared(comparison: Comparison, above: str = "more", below: str = "less") -> str:
    """Return a comparison in words: the first of these that applies, always with its interval.

    `the same (within 5%)` · `24% more (13–35%)` · `probably 6% more (1–12%)` · `no clear difference (−11 to +20%)` ·
    `not measured, because …`
    """
    verdict, ratio = comparison.verdict, comparison.ratio
    if verdict.word is Word.NOT_MEASURED or ratio is None or ratio.low is None or ratio.high is None:
        return f"not measured, because {verdict.why}"
    if verdict.word is Word.SAME:
        return f"the same (within {MARGIN:.0%})"
    low, high = ratio.low - 1, ratio.high - 1
    if not verdict.differs and not ratio.differs:
        return f"no clear difference ({low:+.0%} to {high:+.0%})".replace("-", "−").replace("% to", " to")
    near, far = sorted((abs(low), abs(high)))
    size = f"{abs(ratio.value - 1):.0%} {above if ratio.value > 1 else below} ({near:.0%}–{far:.0%})".replace("%–", "–")
    return ("" if verdict.differs else "probably ") + ("at least " if verdict.at_least else "") + size


def words(flag: Flag) -> str:
    return flag.value.replace("_", " ")


def listed(names: Sequence[str]) -> str:
    """`a, b and c`"""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def ranged(values: Mapping[str, float], unit: str = "") -> str:
    """`8 ms in a:y and 9–60 ms in c`: by server, lowest first; of several variants the range, one by its own name."""
    by_server: dict[str, dict[str, float]] = {}
    for entry, value in values.items():
        by_server.setdefault(server_of(entry), {})[entry] = value
    told = []
    for server, each in sorted(by_server.items(), key=lambda one: min(one[1].values())):
        low, high = (format_number(end(each.values())) for end in (min, max))
        figure = low if low == high else f"{low}–{high}"
        told.append(f"{figure}{unit} in {server if len(each) > 1 else next(iter(each))}")
    return listed(told)


def capitalized(text: str) -> str:
    """With a large first letter; the rest stays as it is."""
    return text[:1].upper() + text[1:]
