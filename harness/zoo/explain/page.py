"""The page of an explanation: one HTML file with its paragraph, tables and flame graph. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from jinja2 import ChoiceLoader, PackageLoader
from markupsafe import Markup

from zoo.explain.analysis import Difference, differences, named_share, observing_cost, total
from zoo.explain.data import Explanation, PlainWindow
from zoo.explain.groups import OTHER, Groups
from zoo.explain.paragraph import paragraph
from zoo.explain.stacks import Stack, differential_tree
from zoo.report.formatting import format_number
from zoo.report.page.html import ENVIRONMENT, security_policy, to_json

TEMPLATES = ENVIRONMENT.overlay(
    loader=ChoiceLoader([PackageLoader("zoo.explain"), ENVIRONMENT.loader or PackageLoader("zoo.report")])
)
LEAST_SHARE = 0.0005
"""Share of all CPU time below which a frame is left out of the flame graph."""

LEAST_CALLS = 0.01
"""System calls per request below which a call is left out of the table."""


@dataclass(frozen=True)
class CountRow:
    """A count per request of both sides; None if it is not known."""

    name: str
    a: float | None
    b: float | None


def page(
    found: Explanation, stacks: tuple[Mapping[Stack, float], Mapping[Stack, float]], groups: Groups, library: str
) -> str:
    """Render the page; `stacks` are those of a and b in µs per request, `library` is the flame graph's script."""
    script = TEMPLATES.get_template("explain.js").render()
    whole = total(found)
    a, b = (_below_groups(each, groups) for each in stacks)
    tree = differential_tree(a, b, LEAST_SHARE * (whole.a + whole.b) / 2)
    return TEMPLATES.get_template("explain.html").render(
        found=found,
        paragraph=paragraph(found, groups),
        rows=differences(found, groups.names),
        whole=whole,
        interval=interval,
        number=format_number,
        counts=count_rows(found),
        kernel_cpu=[fmean(window.cpu_us for window in side.plain) for side in (found.a, found.b)],
        costs=[observing_cost(side) for side in (found.a, found.b)],
        named_share=named_share(found, OTHER),
        data=to_json({"tree": tree, "a": found.a.entry, "b": found.b.entry}),
        library=Markup(library),
        script=Markup(script),
        policy=security_policy(library, script),
    )


def interval(difference: Difference) -> str:
    """Format b minus a in µs with its interval: `+1.20 [0.80, 1.60]`."""
    found = difference.interval
    text = f"{found.value:+.2f}"
    if found.low is not None and found.high is not None:
        text += f" [{found.low:.2f}, {found.high:.2f}]"
    return text.replace("-", "−")


def count_rows(found: Explanation) -> list[CountRow]:
    """Return all counts per request that at least one side has."""
    rows = [
        CountRow(f"{title} per request", _mean(found.a.plain, name), _mean(found.b.plain, name))
        for name, title in (
            ("voluntary", "voluntary context switches"),
            ("involuntary", "involuntary context switches"),
            ("migrations", "moves to another processor"),
        )
    ]
    allocated = [fmean(side.allocated_bytes) if side.allocated_bytes else None for side in (found.a, found.b)]
    rows.append(CountRow("bytes allocated per request", *allocated))
    names = sorted({*found.a.calls, *found.b.calls}, key=lambda name: -_most_calls(found, name))
    rows += [
        CountRow(f"calls of {name} per request", found.a.calls.get(name, 0.0), found.b.calls.get(name, 0.0))
        for name in names
        if _most_calls(found, name) >= LEAST_CALLS
    ]
    return [row for row in rows if row.a is not None or row.b is not None]


def _most_calls(found: Explanation, name: str) -> float:
    return max(side.calls.get(name, 0.0) for side in (found.a, found.b))


def _mean(windows: Sequence[PlainWindow], name: str) -> float | None:
    known = [value for window in windows if (value := getattr(window, name)) is not None]
    return fmean(known) if known else None


def _below_groups(stacks: Mapping[Stack, float], groups: Groups) -> dict[Stack, float]:
    """Put each stack's group below the root, in place of the frames that only show how its thread was started."""
    found: defaultdict[Stack, float] = defaultdict(float)
    for stack, value in stacks.items():
        found[groups.group_of(stack), *groups.without_start(stack)] += value
    return found
