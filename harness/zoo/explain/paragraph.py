"""The explanation of a pair in one paragraph, generated from its figures. Pure.

It says which figures go together, never that one causes the other.
"""

from __future__ import annotations

from statistics import fmean

from zoo.explain.analysis import Difference, cpu_ratio, differences, is_same, total
from zoo.explain.data import Explanation, Side
from zoo.explain.groups import Groups
from zoo.report.formatting import format_number
from zoo.report.wording import format_size_range, join_names

MOST_GROUPS = 4
LEAST_US = 0.1
"""Smallest difference in µs per request that is worth a sentence."""

LEAST_CALLS = 0.1
"""Smallest difference in system calls per request that is mentioned."""


def paragraph(found: Explanation, groups: Groups) -> str:
    """Return two or three sentences: the difference in CPU time per request, and what it is spent on."""
    a, b = found.a, found.b
    ratio, whole = cpu_ratio(found), total(found)
    before, after = (fmean(window.cpu_us for window in side.plain) for side in (a, b))
    levels = f"{format_number(before)} and {format_number(after)} µs"
    if is_same(ratio):
        return f"{a.entry} and {b.entry} use the same CPU time per request (within 5%): {levels}."
    if not ratio.differs or ratio.low is None or ratio.high is None:
        return f"There is no clear difference in CPU time per request between {a.entry} and {b.entry}: {levels}."
    word = "more" if ratio.value > 1 else "less"
    first = (
        f"{b.entry} uses {format_number(abs(after - before))} µs ({abs(ratio.value - 1):.0%}; "
        f"{format_size_range(ratio.low, ratio.high)}) {word} CPU time per request than {a.entry}: {levels}."
    )
    named = [d for d in differences(found, groups.names) if d.clear and abs(d.interval.value) >= LEAST_US]
    along = [d for d in named if (d.interval.value > 0) == (ratio.value > 1)][:MOST_GROUPS]
    against = [d for d in named if (d.interval.value > 0) != (ratio.value > 1)][:MOST_GROUPS]
    sentences = [first]
    if along:
        parts = [f"{format_number(abs(d.interval.value))} µs {word} {_with_calls(d, found, groups)}" for d in along]
        of = format_number(abs(whole.interval.value))
        sentences.append(f"Of the {of} µs that the profile shows, it spends {join_names(parts)}.")
    else:
        sentences.append("No single group of work differs clearly.")
    if against:
        other = "less" if word == "more" else "more"
        parts = [f"{format_number(abs(d.interval.value))} µs {other} {_with_calls(d, found, groups)}" for d in against]
        sentences.append(f"In return, it spends {join_names(parts)}.")
    return " ".join(sentences)


def _with_calls(difference: Difference, found: Explanation, groups: Groups) -> str:
    """Return the group's name, with the difference in the system calls that go with it."""
    rule = next((rule for rule in groups.rules if rule.name == difference.name), None)
    changes = {name: _calls(found.b, name) - _calls(found.a, name) for name in (rule.calls if rule else ())}
    parts = [
        f"{abs(change):.1f} {'more' if change > 0 else 'fewer'} calls of {name}"
        for name, change in changes.items()
        if abs(change) >= LEAST_CALLS
    ]
    return f"on {difference.name}" + (f" (goes together with {join_names(parts)} per request)" if parts else "")


def _calls(side: Side, name: str) -> float:
    return side.calls.get(name, 0.0)
