"""Explanations of memory: the output of a JDK's tools, slopes by part, the paragraph and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from builders import catalog, run, server

from zoo.cli.explain import memory_condition
from zoo.core.condition import Condition
from zoo.core.manifest import Catalog
from zoo.explain.data import MemoryExplanation, MemorySide
from zoo.explain.files import write_memory
from zoo.explain.memory import (
    MemoryReading,
    class_title,
    memory_paragraph,
    memory_round,
    parse_histogram,
    parse_jemalloc,
    parse_native,
    part_rows,
    total_rows,
    with_large_parts,
)
from zoo.explain.memory_trial import counts_of
from zoo.explain.page import bars

HISTOGRAM = """\
886:
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:         11111        2097152  [B (java.base@25.0.1)
   2:          2222          51200  java.lang.String (java.base@25.0.1)
   3:            10           1024  [[Ljava.lang.Object; (java.base@25.0.1)
Total         13343        2149376
"""
NATIVE = """\
Total: reserved=1500000KB, committed=120000KB
       malloc: 20000KB #50000
-                 Java Heap (reserved=1000000KB, committed=65536KB)
                            (mmap: reserved=1000000KB, committed=65536KB)
-                    Thread (reserved=205000KB, committed=4100KB)
                            (threads #200)
-  Arena Chunk (reserved=10KB, committed=10KB)
"""


def test_histogram_of_classes() -> None:
    assert parse_histogram(HISTOGRAM) == {
        "heap: byte[]": 2048.0,
        "heap: java.lang.String": 50.0,
        "heap: java.lang.Object[][]": 1.0,
    }
    assert parse_histogram("") == {}


def test_last_statistics_of_jemalloc() -> None:
    text = """\
listening on http://127.0.0.1:8105
___ Begin jemalloc statistics ___
Allocated: 1024, active: 2048, metadata: 4096 (n_thp 0, edata 1, rtree 2), resident: 9000, mapped: 9000, retained: 0
--- End jemalloc statistics ---
___ Begin jemalloc statistics ___
Allocated: 10240, active: 12288, metadata: 4096 (n_thp 0, edata 10, rtree 2), resident: 20480, mapped: 3, retained: 5
--- End jemalloc statistics ---
"""
    assert parse_jemalloc(text) == {
        "allocator: live objects": 10.0,
        "allocator: free space between objects": 2.0,
        "allocator: its own data": 4.0,
        "allocator: freed pages": 4.0,
    }
    assert parse_jemalloc("listening") == {}


@pytest.mark.parametrize(("name", "title"), [("[[J", "long[][]"), ("a.B", "a.B"), ("[La.B;", "a.B[]")])
def test_name_of_a_class(name: str, title: str) -> None:
    assert class_title(name) == title


def test_native_memory_without_the_heap_and_the_compiler() -> None:
    assert parse_native(NATIVE) == {"native: Thread": 4100.0}


def side(entry: str, kb: Mapping[str, float], garbage_kb: float) -> MemorySide:
    """Return a side whose parts grow by these kB per connection, in three rounds that differ by 1%."""
    rounds = []
    for factor in (0.99, 1.0, 1.01):
        readings = [
            MemoryReading(
                connections=count,
                rss_kb=50_000 + count * factor * (sum(kb.values()) + garbage_kb),
                anon_kb=None,
                socket_kb=0.0,
                threads=20,
                parts={name: 1_000 + count * factor * each for name, each in kb.items()},
            )
            for count in (0, *counts_of(900))
        ]
        rounds.append(memory_round(readings))
    return MemorySide(entry=entry, rounds=rounds)


BUFFERS, STACKS, CHUNKS = "heap: byte[]", "native: Thread", "heap: jdk.internal.vm.StackChunk"


def explanation() -> MemoryExplanation:
    return with_large_parts(
        MemoryExplanation(
            id="20260101-000000-explain",
            started_at="2026-01-01T00:00:00+00:00",
            commit=None,
            dirty=None,
            harness="0.1.0",
            host=run().host,
            scenario="held",
            path="/sleep?ms=10000",
            connections=counts_of(900),
            a=side("server:platform", {BUFFERS: 20.0, STACKS: 80.0, "heap: rare.Class": 0.1, "native: GC": 0.2}, 30.0),
            b=side("server:virtual", {BUFFERS: 20.0, CHUNKS: 3.0}, 10.0),
        )
    )


def test_parts_have_their_size_per_request() -> None:
    rows = {row.name: row for row in part_rows(explanation())}
    sizes = {name: (row.a and row.a.value, row.b and row.b.value) for name, row in rows.items()}
    assert list(rows)[:2] == [STACKS, BUFFERS]
    assert sizes[BUFFERS] == pytest.approx((20.0, 20.0))
    assert sizes[STACKS] == pytest.approx((80.0, 0.0))
    assert sizes[CHUNKS] == pytest.approx((0.0, 3.0))
    assert sizes["heap: other classes"] == pytest.approx((0.1, 0.0))
    assert sizes["native: other"] == pytest.approx((0.2, 0.0))


def test_totals_contain_garbage_but_no_memory_at_rest() -> None:
    live, rss, anonymous, sockets, threads = total_rows(explanation())
    assert live.a is not None
    assert live.a.value == pytest.approx(100.3)
    assert rss.a is not None
    assert rss.a.value == pytest.approx(130.3)
    assert rss.difference is not None
    assert rss.difference.value == pytest.approx(-97.3)
    assert anonymous.a is None
    assert sockets.a is not None
    assert sockets.a.value == 0
    assert threads.b is not None
    assert threads.b.value == 0


def test_three_counts_are_needed() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        memory_round([MemoryReading(count, 1.0, None, None, 1) for count in (0, 10, 20)])


def test_bars_share_one_scale() -> None:
    a, b = bars(part_rows(explanation()))
    assert sum(segment.width for segment in a) == pytest.approx(100)
    assert sum(segment.width for segment in b) == pytest.approx(100 * 23 / 100.3)
    assert {s.name: s.color for s in a}[BUFFERS] == {s.name: s.color for s in b}[BUFFERS]


def test_paragraph_and_page_name_the_largest_parts(tmp_path: Path) -> None:
    found = explanation()
    text = memory_paragraph(found)
    assert text.startswith("A waiting request adds 100 kB [97.8, 103] in server:platform and 23 kB [")
    assert "largest parts in server:platform are native: Thread (80 kB), heap: byte[] (20 kB)" in text
    page = write_memory(tmp_path, found).read_text(encoding="utf-8")
    assert page.count("<rect x=") == len(bars(part_rows(found))[0]) + len(bars(part_rows(found))[1])
    assert "default-src &#39;none&#39;" in page


def test_sides_of_different_kinds_are_named_apart() -> None:
    found = explanation()
    rounds = [each.model_copy(update={"parts_kb": {"allocator: live objects": 9.0}}) for each in found.b.rounds]
    text = memory_paragraph(found.model_copy(update={"b": MemorySide(entry="bare", rounds=rounds)}))
    assert (
        "in server:platform of live objects and native memory and 9 kB in bare of memory that the allocator has" in text
    )


def test_a_program_without_a_jvm_has_totals_only(tmp_path: Path) -> None:
    found = explanation()
    bare = [each.model_copy(update={"parts_kb": {}}) for each in found.a.rounds]
    sides = {name: MemorySide(entry=name, rounds=bare) for name in ("a", "b")}
    found = found.model_copy(update=sides)
    assert part_rows(found) == []
    assert memory_paragraph(found).endswith("to resident memory.")
    assert "known only in total" in write_memory(tmp_path, found).read_text(encoding="utf-8")


JEMALLOC = {"name": "async", "model": "async-task", "summary": "tasks", "settings": ["_RJEM_MALLOC_CONF"]}


def test_statistics_that_fit_the_program_and_a_pool_unless_its_size_is_set() -> None:
    java, native = catalog().entry("java-a:platform"), catalog().entry("rust-n:bare")
    of_java = memory_condition(Condition(jvm_flags=["-Xmx1g"]), java, 900)
    assert (of_java.env, of_java.jvm_flags) == ({"MAX_THREADS": "900"}, ["-Xmx1g", "-XX:NativeMemoryTracking=summary"])
    assert memory_condition(Condition(env={"MAX_THREADS": "7"}), java, 900).env == {"MAX_THREADS": "7"}
    assert memory_condition(Condition(), native, 900).jvm_flags == []
    assert "_RJEM_MALLOC_CONF" not in memory_condition(Condition(), native, 900).env
    [with_jemalloc] = Catalog((server("rust-j", 8106, "async-task", language="rust", variants=[JEMALLOC]),)).entries
    assert "stats_interval" in memory_condition(Condition(), with_jemalloc, 900).env["_RJEM_MALLOC_CONF"]
