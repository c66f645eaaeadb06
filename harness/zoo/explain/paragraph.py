"""The explanation of a pair in one paragraph, generated from its figures. Pure.

It says which figures go together, never that one causes the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from zoo.explain.analysis import Counted, Difference, clear_counts, cpu_ratio, differences
from zoo.explain.data import ExplainedSide, Explanation
from zoo.explain.groups import OTHER, Groups
from zoo.report.formatting import format_difference
from zoo.report.wording import format_signed_range, format_size_range, join_names
from zoo.stats.verdict import is_same

MOST_GROUPS = 4
LEAST_US = 0.1
"""Smallest figure in µs per request that is worth a sentence."""

LEAST_BYTES = 100
LEAST_WAITS = 0.02
"""Smallest differences in allocated bytes and in waits for a lock per request that are mentioned."""

MOST_FRAMES = 3
MOST_COUNTS = 4

LEAST_CALLS = 0.1
"""Smallest difference in system calls per request that is mentioned."""

PHRASES = {
    "JIT compiler": "the JIT compiler",
    "socket write": "socket writes",
    "socket read": "socket reads",
    "handler": "the handler",
    "scheduler of threads and tasks": "the scheduler of threads and tasks",
    "framework": "the framework",
    OTHER: "other work",
}
"""The names of groups that read differently in a sentence."""


def paragraph(found: Explanation, groups: Groups) -> str:
    """Return some sentences: the difference in CPU time per request, and what it is spent on."""
    a, b = found.a, found.b
    ratio = cpu_ratio(found)
    before, after = (fmean(window.cpu_us for window in side.plain) for side in (a, b))
    levels = f"{before:.1f} and {after:.1f} µs"
    if is_same(ratio):
        same = f"{a.entry} and {b.entry} use the same CPU time per request (within 5%): {levels}."
        return " ".join([same, *_counts(found, groups, [])])
    if not ratio.differs or ratio.low is None or ratio.high is None:
        ends = "" if ratio.low is None or ratio.high is None else f" ({format_signed_range(ratio.low, ratio.high)})"
        unclear = f"There is no clear difference in CPU time per request between {a.entry} and {b.entry}: {levels}"
        return " ".join([f"{unclear}{ends}.", *_counts(found, groups, [])])
    word = "more" if ratio.value > 1 else "less"
    first = (
        f"{b.entry} uses {abs(after - before):.1f} µs ({format_difference(abs(ratio.value - 1))}; "
        f"{format_size_range(ratio.low, ratio.high)}) {word} CPU time per request than {a.entry}: {levels}."
    )
    named = [d for d in differences(found, groups.names) if d.clear and abs(d.interval.value) >= LEAST_US]
    along = [d for d in named if (d.interval.value > 0) == (ratio.value > 1)][:MOST_GROUPS]
    against = [d for d in named if (d.interval.value > 0) != (ratio.value > 1)][:MOST_GROUPS]
    sentences = [first]
    if along:
        sentences.append(f"It spends {_spent(along, word)}.")
    else:
        sentences.append("No single group of work differs clearly.")
    if against:
        sentences.append(f"In return, it spends {_spent(against, 'less' if word == 'more' else 'more')}.")
    sentences += _calls_along([*along, *against], found, groups)
    sentences += _only(a) + _only(b) + _counts(found, groups, named)
    return " ".join(sentences)


def _only(side: ExplainedSide) -> list[str]:
    """Return a sentence on the frames that only this side has."""
    known = [(frame, us) for frame, us in side.only_us.items() if us >= LEAST_US]
    parts = [f"{frame} ({us:.1f} µs)" for frame, us in known[:MOST_FRAMES]]
    called = "it calls" if len(parts) == 1 else "they call"
    return [f"Only {side.entry} runs {join_names(parts)}, including what {called}."] if parts else []


def _counts(found: Explanation, groups: Groups, named: Sequence[Difference]) -> list[str]:
    """Return sentences on counts that differ clearly, without the calls that go with the named groups of work."""
    names = {difference.name for difference in named}
    known = {call for rule in groups.rules if rule.name in names for call in rule.calls}
    calls, waits, allocated = [], [], []
    for count in clear_counts(found):
        more, size = "more" if count.change > 0 else "fewer", abs(count.change)
        match count.kind:
            case Counted.CALLS if count.name not in known and size >= LEAST_CALLS:
                calls.append(_format_calls(count.name, count.change))
            case Counted.CONTENDED if size >= LEAST_WAITS:
                waits.append(f"{1000 * size:.0f} {more} times for a contended lock of class {count.name}")
            case Counted.ALLOCATED if size >= LEAST_BYTES:
                allocated.append(f"{size:,.0f} {more} bytes")
    parts = [
        f"{verb} {join_names(counts)}"
        for verb, counts in (("allocates", allocated), ("makes", calls[:MOST_COUNTS]))
        if counts
    ]
    sentences = [f"Per request, {found.b.entry} {join_names(parts)}."] if parts else []
    if waits:
        sentences.append(f"Per 1,000 requests, {found.b.entry} waits {join_names(waits[:MOST_COUNTS])}.")
    return sentences


def _spent(named: Sequence[Difference], word: str) -> str:
    """Return what the groups differ by: `2.1 µs more on socket write and 1.0 µs on readiness (epoll)`."""
    words = [f" {word}", *("" for _ in named[1:])]
    sizes = [f"{abs(difference.interval.value):.1f}" for difference in named]
    return join_names(
        [f"{size} µs{each} on {PHRASES.get(d.name, d.name)}" for size, each, d in zip(sizes, words, named, strict=True)]
    )


def _calls_along(named: Sequence[Difference], found: Explanation, groups: Groups) -> list[str]:
    """Return a sentence for each group whose system calls differ too."""
    sentences = []
    for difference in named:
        rule = next((rule for rule in groups.rules if rule.name == difference.name), None)
        changes = {name: _calls(found.b, name) - _calls(found.a, name) for name in (rule.calls if rule else ())}
        parts = [_format_calls(name, change) for name, change in changes.items() if abs(change) >= LEAST_CALLS]
        if parts:
            spent = PHRASES.get(difference.name, difference.name)
            sentences.append(f"The time on {spent} goes with {join_names(parts)} per request.")
    return sentences


def _calls(side: ExplainedSide, name: str) -> float:
    return fmean(window.get(name, 0.0) for window in side.calls) if side.calls else 0.0


def _format_calls(name: str, change: float) -> str:
    """Format a change in system calls: `2.1 more futex calls`."""
    return f"{abs(change):.1f} {'more' if change > 0 else 'fewer'} {name} calls"
