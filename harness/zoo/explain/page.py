"""The page of an explanation: one HTML file with its paragraph, tables and flame graph. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from jinja2 import ChoiceLoader, PackageLoader
from markupsafe import Markup

from zoo.explain.analysis import by_name, differences, named_share, observing_cost, total
from zoo.explain.data import EventWindow, Explanation, MemoryExplanation, PlainWindow
from zoo.explain.groups import OTHER, Groups
from zoo.explain.memory import MemoryRow, memory_paragraph, part_rows, total_rows
from zoo.explain.paragraph import paragraph
from zoo.explain.stacks import Stack, differential_tree
from zoo.report.formatting import format_interval, format_number
from zoo.report.page.html import ENVIRONMENT, security_policy, to_json
from zoo.stats.interval import Interval, mean_interval

TEMPLATES = ENVIRONMENT.overlay(
    loader=ChoiceLoader([PackageLoader("zoo.explain"), ENVIRONMENT.loader or PackageLoader("zoo.report")])
)
LEAST_SHARE = 0.0005
"""Share of all CPU time below which a frame is left out of the flame graph."""

COUNTS = {
    "voluntary": "voluntary context switches per request",
    "involuntary": "involuntary context switches per request",
    "migrations": "moves to another processor per request",
    "queued_us": "run-queue wait of request threads, µs per request",
    "jit_queued_us": "run-queue wait of JIT compiler threads, µs per request",
    "gc_percent": "garbage collector threads, % of CPU time",
    "jit_percent": "JIT compiler threads, % of CPU time",
}
"""Titles of the counts of windows without a profiler."""

EVENTS = {
    "pinned": "pinned waits of virtual threads per request",
    "carriers": "carrier threads",
    "steals": "tasks stolen between carriers per request",
}
"""Titles of the counts of windows in which the JVM's events were recorded."""


@dataclass(frozen=True)
class CountRow:
    """A count of both sides, None if it is not known, and b minus a with its 95% interval over the windows."""

    name: str
    a: float | None
    b: float | None
    difference: Interval | None = None


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
        costs=[observing_cost(side) for side in (found.a, found.b)],
        named_share=named_share(found, OTHER),
        data=to_json({"tree": tree, "a": found.a.entry, "b": found.b.entry}),
        library=Markup(library),
        script=Markup(script),
        policy=security_policy(library, script),
    )


def interval(found: Interval) -> str:
    """Format b minus a with its interval: `+1.20 [0.80, 1.60]`, or `+12,000 [11,000, 13,000]` for large figures."""
    places = 2 if abs(found.value) < 100 else 0
    text = f"{found.value:+,.{places}f}"
    if found.low is not None and found.high is not None:
        text += f" [{found.low:,.{places}f}, {found.high:,.{places}f}]"
    return text.replace("-", "−")


def count_rows(found: Explanation) -> list[CountRow]:
    """Return all counts that at least one side has."""
    a, b = found.a, found.b
    rows = [_row(title, *(_known(side.plain, name) for side in (a, b))) for name, title in COUNTS.items()]
    rows.append(_row("bytes allocated per request", a.allocated_bytes, b.allocated_bytes))
    rows += [_row(title, *(_known(side.events, name) for side in (a, b))) for name, title in EVENTS.items()]
    rows += [
        _row(f"contended acquisitions of {name} per request", *values)
        for name, values in by_name(a.contended, b.contended)
    ]
    rows += [_row(f"calls of {name} per request", *values) for name, values in by_name(a.calls, b.calls)]
    return [row for row in rows if row.a is not None or row.b is not None]


def _row(title: str, a: Sequence[float], b: Sequence[float]) -> CountRow:
    # a tool that failed half-way leaves fewer windows on one side
    paired = bool(a) and len(a) == len(b)
    difference = mean_interval([after - before for before, after in zip(a, b, strict=True)]) if paired else None
    return CountRow(title, fmean(a) if a else None, fmean(b) if b else None, difference)


def _known(windows: Sequence[PlainWindow | EventWindow], name: str) -> list[float]:
    """Return a field of all windows; nothing if one of them does not have it."""
    values = [getattr(window, name) for window in windows]
    return [] if None in values else values


def _below_groups(stacks: Mapping[Stack, float], groups: Groups) -> dict[Stack, float]:
    """Put each stack's group below the root, in place of the frames that only show how its thread was started."""
    found: defaultdict[Stack, float] = defaultdict(float)
    for stack, value in stacks.items():
        found[groups.group_of(stack), *groups.without_start(stack)] += value
    return found


COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7f00", "#7a5195", "#999999", "#444444")
"""Colours of parts in a bar, which are distinguishable for the colour-blind; they repeat after the last."""


@dataclass(frozen=True)
class Segment:
    """A part of a stacked bar; `left` and `width` are percentages of the longest bar."""

    name: str
    kb: float
    left: float
    width: float
    color: str


def bars(rows: Sequence[MemoryRow]) -> list[list[Segment]]:
    """Return the stacked bars of both sides; a part that shrinks or is unknown has no segment."""
    sides: list[list[tuple[str, float, str]]] = [[], []]
    for place, row in enumerate(rows):
        for side, found in zip(sides, (row.a, row.b), strict=True):
            if found is not None and found.value > 0:
                side.append((row.name, found.value, COLORS[place % len(COLORS)]))
    longest = max((sum(kb for _, kb, _ in side) for side in sides), default=0.0) or 1.0
    made: list[list[Segment]] = []
    for side in sides:
        left, segments = 0.0, []
        for name, kb, color in side:
            segments.append(Segment(name, kb, left, 100 * kb / longest, color))
            left += 100 * kb / longest
        made.append(segments)
    return made


def memory_page(found: MemoryExplanation) -> str:
    """Render the page of an explanation of memory."""
    parts = part_rows(found)
    return TEMPLATES.get_template("memory.html").render(
        found=found,
        paragraph=memory_paragraph(found),
        totals=total_rows(found),
        parts=parts,
        bars=list(zip((found.a.entry, found.b.entry), bars(parts), strict=True)),
        colors={row.name: COLORS[place % len(COLORS)] for place, row in enumerate(parts)},
        interval=interval,
        format_interval=format_interval,
        number=format_number,
        rest=[fmean(each.rest_mb for each in side.rounds) for side in (found.a, found.b)],
        policy=security_policy(),
    )
