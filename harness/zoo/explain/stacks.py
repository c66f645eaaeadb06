"""Profiles as collapsed stacks: one line per stack, frames from the root separated by `;`, then the samples. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TypedDict

Stack = tuple[str, ...]
"""Frames of one stack, root first."""

ANNOTATION = re.compile(r"_\[(?!k\])[0-9a-z]\]$")
"""Annotation of a frame's compiler (interpreted, C1, inlined, …), which differs from start to start; `_[k]` stays."""

DIGITS = 4
"""Decimals of µs in the tree."""

ADDRESS = re.compile(r"\$\$Lambda[./$0-9]*0x[0-9a-f]+")

UNPACKED = re.compile(r"^/\S*/(lib\w*?(?:_64)?)\d{6,}\.so(?: \(deleted\))?")
"""A library that a program unpacked from its jar; folder and number differ from start to start."""


class FlameNode(TypedDict):
    """A frame of a differential flame graph.

    `value` is the mean of `a` and `b`, so that the widths of children add up to at most their parent's, and frames that
    only one side has are visible. The graph's library reads `name`, `value` and `children`.
    """

    name: str
    value: float
    a: float
    b: float
    children: list[FlameNode]


def parse_collapsed(text: str) -> Counter[Stack]:
    """Return the samples of each stack; names that differ from start to start are made equal."""
    found: Counter[Stack] = Counter()
    for line in text.splitlines():
        frames, _, samples = line.rpartition(" ")
        if frames:
            found[tuple(map(normalize_frame, frames.split(";")))] += int(samples)
    return found


def normalize_frame(frame: str) -> str:
    """Return a frame without its compiler, addresses of lambdas, and the place of an unpacked library."""
    return UNPACKED.sub(r"\1.so", ADDRESS.sub("$$Lambda", ANNOTATION.sub("", frame)))


def collapse(stacks: Mapping[Stack, float]) -> str:
    """Return collapsed stacks with whole numbers, which flame graph tools and speedscope read."""
    return "".join(f"{';'.join(stack)} {value:.0f}\n" for stack, value in sorted(stacks.items()) if round(value))


def divide_cpu(cpu_us: float, weights: Mapping[Stack, int]) -> dict[Stack, float]:
    """Divide the CPU time per request, in µs, among stacks in proportion to their weights."""
    total = sum(weights.values())
    return {stack: cpu_us * weight / total for stack, weight in weights.items()}


def mean_stacks(windows: Sequence[Mapping[Stack, float]]) -> dict[Stack, float]:
    """Return each stack's mean over windows; a window without a stack counts as 0."""
    total: defaultdict[Stack, float] = defaultdict(float)
    for window in windows:
        for stack, value in window.items():
            total[stack] += value / len(windows)
    return dict(total)


def differential_tree(a: Mapping[Stack, float], b: Mapping[Stack, float], least: float) -> FlameNode:
    """Merge two profiles into one tree of frames; frames whose mean value is below `least` are left out."""
    sums: defaultdict[Stack, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for side, stacks in enumerate((a, b)):
        for stack, value in stacks.items():
            for depth in range(len(stack) + 1):
                sums[stack[:depth]][side] += value
    children: defaultdict[Stack, list[Stack]] = defaultdict(list)
    for path, both in sums.items():
        if path and fmean(both) >= least:
            children[path[:-1]].append(path)

    def node(path: Stack) -> FlameNode:
        before, after = sums[path]
        return FlameNode(
            name=path[-1] if path else "all",
            value=round((before + after) / 2, DIGITS),
            a=round(before, DIGITS),
            b=round(after, DIGITS),
            children=[node(child) for child in children[path]],
        )

    return node(())
