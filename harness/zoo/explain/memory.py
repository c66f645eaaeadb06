"""Memory of waiting requests by kind: parsed from a JDK's tools or jemalloc, and compared between two entries. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from zoo.explain.data import MemoryExplanation, MemoryRound, MemorySide
from zoo.report.formatting import format_interval, format_number
from zoo.report.wording import join_names
from zoo.stats.interval import Interval, mean_interval
from zoo.stats.memory_per_request import Point, slope

HISTOGRAM_LINE = re.compile(r"^ *[0-9]+: +[0-9]+ +([0-9]+) +(\S+)", re.MULTILINE)
CATEGORY = re.compile(r"^- +([A-Z][\w ]*?) \(reserved=[0-9]+KB, committed=([0-9]+)KB", re.MULTILINE)
JEMALLOC = re.compile(r"^Allocated: (\d+), active: (\d+), metadata: (\d+).*?, resident: (\d+)", re.MULTILINE)
HEAP, NATIVE, ALLOCATOR = "heap: ", "native: ", "allocator: "
REST = {HEAP: f"{HEAP}other classes", NATIVE: f"{NATIVE}other", ALLOCATOR: f"{ALLOCATOR}other"}
LEFT_OUT = {"Java Heap", "Arena Chunk", "Code", "Compiler", "Native Memory Tracking", "Tracing"}
"""Categories of native memory that are no part of a request's: the heap is counted by class, and the others belong to
the JIT compiler and to the readings themselves."""

ARRAYS = {
    **{"B": "byte", "C": "char", "I": "int", "J": "long"},
    **{"S": "short", "Z": "boolean", "D": "double", "F": "float"},
}
LEAST_SHARE = 0.02
"""Share of all parts below which a part is added to the others of its kind."""

MOST_PARTS = 3


@dataclass(frozen=True)
class MemoryReading:
    """Memory of a server with this many waiting requests, in kB.

    `parts` are empty for a process that is neither a JVM nor uses jemalloc with statistics. `socket_kb` covers the
    buffers of both ends of all TCP connections of the host.
    """

    connections: int
    rss_kb: float
    anon_kb: float | None
    socket_kb: float | None
    threads: int
    parts: Mapping[str, float] = field(default_factory=dict)


def parse_histogram(text: str) -> dict[str, float]:
    """Return the kB of live objects by class, from what `jcmd PID GC.class_histogram` prints."""
    found: dict[str, float] = {}
    for size, name in HISTOGRAM_LINE.findall(text):
        title = HEAP + class_title(name)
        found[title] = found.get(title, 0.0) + int(size) / 1024
    return found


def class_title(name: str) -> str:
    """Return a class's name as in Java sources: `[B` is `byte[]`, `[Ljava.lang.Object;` is `java.lang.Object[]`."""
    depth = len(name) - len(name.lstrip("["))
    if not depth:
        return name
    element = name[depth:]
    return (element[1:-1] if element.startswith("L") else ARRAYS.get(element, element)) + depth * "[]"


def parse_native(text: str) -> dict[str, float]:
    """Return the committed kB by category, without those left out, from what `VM.native_memory summary` prints."""
    return {NATIVE + name: float(kb) for name, kb in CATEGORY.findall(text) if name not in LEFT_OUT}


def parse_jemalloc(text: str) -> dict[str, float]:
    """Return kB by use, from the last statistics in the text that jemalloc prints; empty without any.

    The parts add up to the memory that jemalloc has from the kernel.
    """
    found = JEMALLOC.findall(text)
    if not found:
        return {}
    allocated, active, metadata, resident = (int(size) / 1024 for size in found[-1])
    parts = {
        "live objects": allocated,
        "free space between objects": active - allocated,
        "its own data": metadata,
        "freed pages": resident - active - metadata,
    }
    return {ALLOCATOR + name: kb for name, kb in parts.items()}


def memory_round(readings: Sequence[MemoryReading]) -> MemoryRound:
    """Return kB per waiting request: slopes over the server at rest and at least three counts of connections.

    Raise `ValueError` with fewer counts.
    """

    def per_request(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        if len(known) != len(readings):
            return None
        return slope([Point(r.connections, kb) for r, kb in zip(readings, known, strict=True)]).kb

    rss = slope([Point(reading.connections, reading.rss_kb) for reading in readings])
    names = sorted({name for reading in readings for name in reading.parts})
    parts = {name: per_request(reading.parts.get(name, 0.0) for reading in readings) or 0.0 for name in names}
    return MemoryRound(
        rss_kb=rss.kb,
        rest_mb=readings[0].rss_kb / 1024,
        fit=rss.fit,
        anon_kb=per_request(reading.anon_kb for reading in readings),
        socket_kb=per_request(reading.socket_kb for reading in readings),
        threads=per_request(reading.threads for reading in readings) or 0.0,
        parts_kb=parts,
    )


def with_large_parts(found: MemoryExplanation) -> MemoryExplanation:
    """Return the explanation with each part that is small on both sides added to the others of its kind."""
    kept = _large_parts(found.a.rounds) | _large_parts(found.b.rounds)

    def merged(side: MemorySide) -> MemorySide:
        rounds = [each.model_copy(update={"parts_kb": _merge(each.parts_kb, kept)}) for each in side.rounds]
        return side.model_copy(update={"rounds": rounds})

    return found.model_copy(update={"a": merged(found.a), "b": merged(found.b)})


def _large_parts(rounds: Sequence[MemoryRound]) -> set[str]:
    names = {name for each in rounds for name in each.parts_kb}
    means = {name: fmean(each.parts_kb.get(name, 0.0) for each in rounds) for name in names}
    least = LEAST_SHARE * sum(kb for kb in means.values() if kb > 0)
    return {name for name, kb in means.items() if abs(kb) >= least and kb}


def _merge(parts: Mapping[str, float], kept: set[str]) -> dict[str, float]:
    merged: dict[str, float] = {}
    for name, kb in parts.items():
        title = name if name in kept else next(rest for kind, rest in REST.items() if name.startswith(kind))
        merged[title] = merged.get(title, 0.0) + kb
    return merged


@dataclass(frozen=True)
class MemoryRow:
    """A quantity of both sides and b minus a, with intervals over the rounds; None if it is not known."""

    name: str
    a: Interval | None
    b: Interval | None
    difference: Interval | None


TOTALS = {
    "parts_sum_kb": "parts, in sum",
    "rss_kb": "resident memory (RSS)",
    "anon_kb": "its anonymous part",
    "socket_kb": "socket buffers of the whole machine, in the kernel",
    "threads": "threads of the operating system, number",
}
"""Titles of quantities that do not add up: RSS also has free heap, and socket buffers are outside of it."""


def total_rows(found: MemoryExplanation) -> list[MemoryRow]:
    """Return the totals per waiting request."""
    return [
        _row(title, *([getattr(each, name) for each in side.rounds] for side in (found.a, found.b)))
        for name, title in TOTALS.items()
    ]


def part_rows(found: MemoryExplanation) -> list[MemoryRow]:
    """Return the parts of both sides, the largest first. A part that a JVM does not have is 0 there."""
    rows = []
    for name in {name for side in (found.a, found.b) for each in side.rounds for name in each.parts_kb}:
        rows.append(_row(name, *(_part(side, name) for side in (found.a, found.b))))
    return sorted(rows, key=lambda row: (-max(each.value for each in (row.a, row.b) if each), row.name))


def _part(side: MemorySide, name: str) -> list[float | None]:
    return [each.parts_kb.get(name, 0.0) if each.parts_kb else None for each in side.rounds]


def _row(name: str, a: Sequence[float | None], b: Sequence[float | None]) -> MemoryRow:
    known_a, known_b = ([value for value in side if value is not None] for side in (a, b))
    whole_a, whole_b = len(known_a) == len(a), len(known_b) == len(b)
    apart = [after - before for before, after in zip(known_a, known_b, strict=True)] if whole_a and whole_b else []
    return MemoryRow(
        name,
        mean_interval(known_a) if whole_a else None,
        mean_interval(known_b) if whole_b else None,
        mean_interval(apart) if apart else None,
    )


def memory_paragraph(found: MemoryExplanation) -> str:
    """Return a few sentences: the memory per waiting request of both entries, and its largest parts."""
    sides = (found.a, found.b)
    live = [_sentence_part(side, "parts_sum_kb") for side in sides]
    resident = " and ".join(_sentence_part(side, "rss_kb") or "" for side in sides)
    if None in live:
        return f"A waiting request adds {resident} to resident memory."
    kinds = [_kind_of_parts(side) for side in sides]
    adds = f"{live[0]} and {live[1]}" if kinds[0] == kinds[1] else f"{live[0]} of {kinds[0]} and {live[1]}"
    sentences = [f"A waiting request adds {adds} of {kinds[1]}."]
    for side in sides:
        means = {name: fmean(each.parts_kb.get(name, 0.0) for each in side.rounds) for name in side.rounds[0].parts_kb}
        largest = sorted(((kb, name) for name, kb in means.items() if kb > 0), reverse=True)[:MOST_PARTS]
        if largest:
            named = join_names([f"{name} ({format_number(kb)} kB)" for kb, name in largest])
            sentences.append(f"The largest parts in {side.entry} are {named}.")
    sentences.append(f"Resident memory changes by {resident}.")
    return " ".join(sentences)


def _kind_of_parts(side: MemorySide) -> str:
    if any(name.startswith(ALLOCATOR) for name in side.rounds[0].parts_kb):
        return "memory that the allocator has from the kernel"
    return "live objects and native memory"


def _sentence_part(side: MemorySide, name: str) -> str | None:
    """Return a total of one side with its interval: `130 kB [127, 134] in server:platform`; None if it is unknown."""
    values = [value for each in side.rounds if (value := getattr(each, name)) is not None]
    return f"{format_interval(mean_interval(values), unit='kB')} in {side.entry}" if values else None
