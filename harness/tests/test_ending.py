"""The last lines of a run on the terminal."""

from __future__ import annotations

import builders
from builders import record

from zoo.analysis.pairs import compare
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report.cells import Cells
from zoo.report.text.sentences import MOST_LINES, ending

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"
STEADY = (1.0, 1.001, 0.999)
WILD = (1.0, 1.3, 0.8)


def hello(entry: str, rps: float, wobble: tuple[float, ...] = STEADY, tier: str = "1k") -> list[Record]:
    return [record(entry, tier, round_number=n, rps=rps * w) for n, w in enumerate(wobble, 1)]


def told(run: Run, records: list[Record], reference: str | None) -> list[str]:
    return ending(Cells.of(run, records, reference), compare(run.plan.entries, records, reference))


def test_what_is_decided_is_said_with_its_size_and_what_is_open_with_what_it_needs() -> None:
    records = [
        *hello(PLATFORM, 50_000),
        *hello(VIRTUAL, 40_000),
        *hello(PLATFORM, 50_000, tier="100"),
        *hello(VIRTUAL, 47_000, WILD, tier="100"),
    ]
    lines = told(builders.run([PLATFORM, VIRTUAL]), records, None)
    assert lines[1].startswith("  java-a, virtual ÷ platform, hello: req/s open at 100, slower ")
    assert lines[1].endswith("CPU per request equal within 5 % at 100 and 1k")
    assert lines[2].startswith("  Open: 1 of 4; ")


def test_all_is_decided_is_said_too() -> None:
    lines = told(builders.run([PLATFORM, VIRTUAL]), [*hello(PLATFORM, 50_000), *hello(VIRTUAL, 40_000)], None)
    assert lines[-1] == "  All of these are decided."


def test_who_was_served_while_it_waited_is_said() -> None:
    lines = told(builders.run([VIRTUAL]), [record(VIRTUAL, "1k", "sleep")], None)
    assert lines == ["sleep: Answered in each wait: all connections."]


def test_who_was_answered_late_is_no_part_of_all() -> None:
    seen = record(VIRTUAL, "25k", "sleep", p99_us=12_250_000)
    (line,) = told(builders.run([VIRTUAL]), [seen, record(PLATFORM, "25k", "sleep")], None)
    assert line == f"sleep: Answered in each wait: all connections, but {VIRTUAL} 1 in 100 of 25,000 only after 12 s."


def test_what_only_waits_is_compared_by_its_memory() -> None:
    plain, lean = VIRTUAL, f"{VIRTUAL}@BUFFERS=lean"
    peaks = {
        plain: {"100": 70_000, "1k": 160_000, "25k": 2_560_000},
        lean: {"100": 68_000, "1k": 140_000, "25k": 2_060_000},
    }
    records = [
        record(name, tier, "sleep", round_number=n, rss_peak_kb=round(peak * w))
        for name, tiers in peaks.items()
        for tier, peak in tiers.items()
        for n, w in enumerate(STEADY, 1)
    ]
    lines = told(builders.run([plain, lean], tiers=["100", "1k", "25k"]), records, None)
    assert lines[1].startswith("  java-a, virtual@BUFFERS=lean ÷ virtual, sleep: RSS per connection less ")
    assert "CPU" not in lines[1]
    assert lines[-2] == "sleep: Answered in each wait: all connections."
    assert lines[-1].startswith("sleep: Memory per waiting request, kB: java-a:virtual 1")


def test_nothing_is_said_of_a_run_that_compares_nothing() -> None:
    assert told(builders.run([VIRTUAL]), hello(VIRTUAL, 50_000), None) == []


def test_many_subjects_are_counted() -> None:
    entries = [f"java-{letter}:{variant}" for letter in "abcdefgh" for variant in ("platform", "virtual")]
    records = [r for entry in entries for r in hello(entry, 40_000 if entry.endswith("virtual") else 50_000)]
    lines = told(builders.run(entries), records, None)
    assert f"  and {8 - MOST_LINES} more in the report" in lines
    assert len(lines) <= 10
