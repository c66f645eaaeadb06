"""Tests of the last lines that a run prints."""

from __future__ import annotations

import re

import builders
from builders import record

from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report.cells import Cells
from zoo.report.sentences import MAX_LINES, last_lines
from zoo.stats.pairs import compare

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"
STEADY = (1.0, 1.001, 0.999)
WILD = (1.0, 1.3, 0.8)


def hello(entry: str, rps: float, wobble: tuple[float, ...] = STEADY, tier: str = "1k") -> list[Record]:
    return [record(entry, tier, round_number=n, rps=rps * w) for n, w in enumerate(wobble, 1)]


def told(run: Run, records: list[Record], reference: str | None) -> list[str]:
    return last_lines(Cells.of(run, records, reference), compare(run.plan.entries, records, reference))


def test_what_is_decided_is_said_with_its_size_and_what_is_open_with_what_it_needs() -> None:
    records = [
        *hello(PLATFORM, 50_000),
        *hello(VIRTUAL, 40_000),
        *hello(PLATFORM, 50_000, tier="100"),
        *hello(VIRTUAL, 47_000, WILD, tier="100"),
    ]
    lines = told(builders.run([PLATFORM, VIRTUAL]), records, None)
    assert re.fullmatch(
        r"  java-a, virtual ÷ platform, hello: req/s no clear difference \(−\d+ to \+\d+%\) at 100, "
        r"20% slower \(\d+(–\d+)?%\) at 1k; CPU per request the same \(within 5%\) at 100 and 1k",
        lines[1],
    )
    assert lines[2].startswith("  Not decided: 1 of 4 comparisons; ")


def test_all_is_decided_is_said_too() -> None:
    lines = told(builders.run([PLATFORM, VIRTUAL]), [*hello(PLATFORM, 50_000), *hello(VIRTUAL, 40_000)], None)
    assert lines[-1] == "  All of these are decided."


def test_who_was_served_while_it_waited_is_said() -> None:
    lines = told(builders.run([VIRTUAL]), [record(VIRTUAL, "1k", "sleep")], None)
    assert lines == ["sleep: All server variants answered every waiting request in time."]


def test_who_was_answered_late_is_no_part_of_all() -> None:
    seen = record(VIRTUAL, "25k", "sleep", p99_us=12_250_000)
    lines = told(builders.run([VIRTUAL]), [seen, record(PLATFORM, "25k", "sleep")], None)
    assert lines == [
        f"sleep: {VIRTUAL} answered 1 in 100 of 25,000 only after 12 s.",
        "sleep: All the others answered every waiting request in time.",
    ]


def partly(entry: str, tier: str, share: float) -> Record:
    """Return a record in which this share of the waiting requests got a response in time."""
    seen = record(entry, tier, "sleep")
    assert seen.measurement
    load = seen.measurement.load
    waits = int((load.runtime_s - load.connect_s) / load.delay_s) or 1
    goodput = round(share * waits * seen.measurement.connections.actual)
    load = load.model_copy(update={"goodput": goodput})
    return seen.model_copy(update={"measurement": seen.measurement.model_copy(update={"load": load})})


def test_equal_exceptions_share_a_line_and_many_are_only_counted() -> None:
    entries = [f"java-{letter}:platform" for letter in "abcdef"]
    shares = (0.1, 0.2, 0.2, 0.3, 0.4, 0.5)
    records = [partly(entry, "1k", share) for entry, share in zip(entries, shares, strict=True)]
    lines = told(builders.run(entries), [*records, partly(entries[0], "100", 0.5)], None)
    assert lines == [
        f"sleep: {entries[0]} answered 50 of 100 and 100 of 1,000 in time.",
        f"sleep: {entries[1]} and {entries[2]} answered 200 of 1,000 in time.",
        f"sleep: {entries[3]} answered 300 of 1,000 in time.",
        f"sleep: {entries[4]} answered 400 of 1,000 in time.",
        "sleep: 1 more did not answer all in time; the report lists all.",
    ]


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
    assert lines[1].startswith("  java-a, virtual@BUFFERS=lean ÷ virtual, sleep: RSS per connection ")
    assert "CPU" not in lines[1]
    assert lines[-2] == "sleep: All server variants answered every waiting request in time."
    assert lines[-1].startswith("sleep: Memory per waiting request, kB: java-a:virtual 1")


def test_nothing_is_said_of_a_run_that_compares_nothing() -> None:
    assert told(builders.run([VIRTUAL]), hello(VIRTUAL, 50_000), None) == []


def test_many_subjects_are_counted() -> None:
    entries = [f"java-{letter}:{variant}" for letter in "abcdefgh" for variant in ("platform", "virtual")]
    records = [r for entry in entries for r in hello(entry, 40_000 if entry.endswith("virtual") else 50_000)]
    lines = told(builders.run(entries), records, None)
    assert f"  and {8 - MAX_LINES} more in the report" in lines
    assert len(lines) <= 10
