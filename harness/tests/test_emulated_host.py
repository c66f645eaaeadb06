"""Tests of an emulated host: what it measures, how its waits are chosen, and that it reports nothing about speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import builders
import pytest
from syrupy.assertion import SnapshotAssertion

from zoo.bench.readings import without_speed
from zoo.cli.display import format_record
from zoo.core import windows
from zoo.core.blocks import Block
from zoo.core.capacity import PlanError
from zoo.core.capacity import parse_tier as tier_of
from zoo.core.condition import Condition
from zoo.core.defaults import EMULATED, FULL
from zoo.core.errors import BenchError
from zoo.core.flag import Flag
from zoo.core.host_facts import Limits
from zoo.core.measurement import Pace
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.reference.findings import render_guest_table
from zoo.reference.findings import render_tier as tier_table
from zoo.report.page.contents import Contents
from zoo.report.page.html import ENVIRONMENT, ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.runtime.conditions import select_runtime
from zoo.stats.metrics import PEAK_RSS, PER_CONNECTION, held_all_connections
from zoo.stats.pairs import Kind, compare
from zoo.stats.summary import Row, cells, rows

TIERS = tuple(tier_of(name) for name in ("1k", "25k"))
BLOCK = Block(("rust-n:bare",), "sleep", TIERS, 1, 0)
VM = Condition(runtime="vm", network="vm", accelerator="tcg", memory="4g")


def said(run: Run, records: Sequence[Record], reference: str | None = None) -> str:
    """Return the report as text."""
    return render(report_sections(Summary.of(run, records, reference)))


def emulated(entry: str, tier: str = "25k", **figures: Any) -> Record:  # noqa: ANN401 (what builders.record takes)
    record = builders.record(entry, tier, "sleep", **{"flags": [Flag.FOREIGN_CPU, Flag.SLOW_CONNECT], **figures})
    assert record.measurement is not None
    return record.model_copy(update={"condition": VM, "measurement": without_speed(record.measurement)})


# --- pacing


def test_the_wait_is_as_long_as_opening_and_serving_takes_with_headroom() -> None:
    assert windows.wait_and_window(BLOCK, TIERS[1], 25_000, EMULATED, Pace(opened=500, served=1_000)) == (50, 200)
    assert windows.wait_and_window(BLOCK, TIERS[0], 1_000, EMULATED, Pace(opened=500, served=1_000)) == (20, 44)
    assert windows.wait_and_window(BLOCK, TIERS[1], 25_000, EMULATED, Pace(opened=500, served=100)) == (60, 220)


def test_a_host_too_slow_for_the_longest_wait_does_not_hold_all_at_once() -> None:
    assert windows.all_held_at_once(25_000, 60.0, Pace(opened=100, served=500))
    assert not windows.all_held_at_once(25_000, 60.0, Pace(opened=500, served=400))
    assert windows.all_held_at_once(25_000, 10.0, None)
    late = builders.measurement("25k", delay_s=60.0, flags=[Flag.NOT_AT_ONCE])
    assert not held_all_connections(late)


def test_without_a_pace_the_profile_says_it() -> None:
    assert windows.wait_and_window(BLOCK, TIERS[0], 1_000, FULL, None) == (10.0, 11.0)


def test_the_pace_is_that_of_opening_and_of_answering_all_once() -> None:
    assert windows.measure_pace(2_500, 2.0, 0.5, 20.0) == Pace(opened=1_250, served=5_000)
    assert windows.measure_pace(2_500, 0.0, 0.0, 20.0) == Pace(opened=125, served=125)


# --- what is planned


def test_scenarios_that_measure_speed_are_refused_with_the_reason() -> None:
    with pytest.raises(PlanError, match=r"hello: measures speed, .* RUNTIME=vm can run sleep, held"):
        make_plan(BenchOptions(scenarios=["sleep", "hello"]), builders.catalog(), VM)
    asked = make_plan(BenchOptions(), builders.catalog(), VM)
    assert asked.scenarios == ["sleep"]
    assert asked.profile == EMULATED.numbers()


def test_a_guest_on_this_hosts_own_processor_is_asked_everything() -> None:
    asked = make_plan(BenchOptions(), builders.catalog(), VM.model_copy(update={"accelerator": "kvm"}))
    assert "hello" in asked.scenarios
    assert asked.profile == FULL.numbers()


@pytest.mark.parametrize(("nofile", "runtime"), [(1_048_576, "process"), (20_000, "vm")])
def test_fit_takes_processes_where_they_hold_the_tier(
    monkeypatch: pytest.MonkeyPatch, nofile: int, runtime: str
) -> None:
    limits = Limits(nofile_hard=nofile, port_low=10_240, port_high=65_535)
    monkeypatch.setattr("zoo.runtime.conditions.read_limits", lambda: limits)
    monkeypatch.setattr("zoo.runtime.conditions.namespace_command", lambda: None)
    assert select_runtime("fit", ["1k", "25k"]) == runtime
    assert select_runtime("fit", ["1k"]) == "process"


def test_an_unknown_runtime_is_named() -> None:
    with pytest.raises(BenchError, match="one of auto, process, container, vm, fit"):
        select_runtime("cloud")


# --- what is reported


def test_nothing_that_depends_on_speed_is_left() -> None:
    seen = builders.measurement("25k", delay_s=10.0, flags=[Flag.FOREIGN_CPU, Flag.STARVED])
    left = without_speed(seen)
    assert left.flags == [Flag.STARVED]
    assert left.connections == seen.connections
    assert left.memory == seen.memory
    assert left.load.goodput == seen.load.goodput
    told = left.model_dump_json(exclude_none=True)
    for name in ('rps":', '_us":', "cpu_s", '_share":', "busiest", "canary", "ready_s", "histogram", "gc_time"):
        assert name not in told.replace('"window_rps":[]', ""), name


def emulated_run() -> tuple[Run, list[Record]]:
    """Return a run of a server that holds all, one whose pool serves 200 at a time, and one that ran out of memory."""
    entries = ["java-a:platform", "java-a:virtual", "rust-n:bare"]
    records = []
    for tier, count in (("100", 100), ("1k", 1_000), ("25k", 25_000)):
        records.append(emulated("java-a:virtual", tier, rss_peak_kb=60_000 + 14 * count))
        records.append(emulated("java-a:platform", tier, flags=[Flag.POOL_CEILING], ceiling_rps=20.0))
        gone = builders.record("rust-n:bare", tier, "sleep", failure="the server ended during the measurement")
        records.append(gone.model_copy(update={"condition": VM}))
    run = builders.run(entries, ["sleep"], ["100", "1k", "25k"], rounds=1)
    return run.model_copy(update={"plan": run.plan.model_copy(update={"condition": VM})}), records


def test_the_report_of_an_emulated_host(snapshot: SnapshotAssertion) -> None:
    run, records = emulated_run()
    assert said(run, records) == snapshot


def test_neither_report_nor_page_of_an_emulated_host_shows_speed() -> None:
    run, records = emulated_run()
    text = said(run, records)
    told = render_page(
        Contents.of(Summary.of(run, records), RawFiles()), ChartTools(library=lambda: "", svg=lambda figure: "")
    )
    told = told.replace(ENVIRONMENT.get_template("page.js").render(), "")
    assert "· emulated host" in text
    assert "closed, c = 25,000, emulated host" in told
    assert "memory per waiting request kB" in told
    assert '<section id="threads">' in told
    for word in ("req/s", "p50", "p99", "CPU µs", "CPU per request", "Latency", "canary", "pressure %"):
        assert word not in text, word
        assert word not in told, word


def test_pairs_of_an_emulated_host_are_compared_in_memory_alone() -> None:
    run, records = emulated_run()
    by_tier = {pair.tier: set(pair.comparisons) for pair in compare(run.plan.entries, records).of(Kind.MODEL)}
    assert by_tier == {"100": {PEAK_RSS}, "1k": {PEAK_RSS}, "25k": {PEAK_RSS, PER_CONNECTION}}


def test_the_findings_say_what_the_tier_costs_beside_the_article() -> None:
    held = emulated("java-tomcat:virtual", rss_peak_kb=400 << 10)
    pool = emulated("java-tomcat:platform", flags=[Flag.POOL_CEILING], ceiling_rps=4.0)
    slow = emulated("java-liberty:virtual", flags=[Flag.NOT_AT_ONCE])
    lower = emulated("rust-axum:hyper", "1k")
    told = tier_table({"results/reference/vm-25k/report.md": ({}, rows(cells([held, pool, slow, lower])))})
    assert "in an [emulated host]" in told
    report = "([report](results/reference/vm-25k/report.md))"
    assert "| `java-tomcat:virtual` | all | [400](results/reference/vm-25k/report.md) | 3,800 |" in told
    assert f"| `java-tomcat:platform` | as many as it has threads {report} | – | – |" in told
    assert f"| `java-liberty:virtual` | not all connections, or not all in time {report} |" in told
    assert "hyper" not in told


def test_the_findings_name_an_entry_once_and_by_the_settings_that_it_was_held_with() -> None:
    first, again = (rows(cells([emulated("java-a:platform", rss_peak_kb=mb << 10)])) for mb in (100, 200))
    threads = {"MAX_THREADS": "25500"}
    missed = rows(cells([emulated("java-a:platform", flags=[Flag.POOL_CEILING], ceiling_rps=4.0)]))
    told = tier_table({"one.md": ({}, first), "two.md": (threads, again), "three.md": ({}, [*again, *missed])})
    assert "| `java-a:platform` | all | [100](one.md) | – |" in told
    assert "| `java-a:platform` with `MAX_THREADS=25500` | all | [200](two.md) | – |" in told
    assert "as it has threads" not in told


def test_guests_are_held_against_processes() -> None:
    def run(kb: int) -> list[Row]:
        """Return rows that start at 60,000 kB at rest."""
        tiers = {"100": 100, "1k": 1_000, "25k": 25_000}
        return rows(
            cells(
                emulated("rust-axum:hyper", name, delay_s=20.0, rss_peak_kb=60_000 + kb * count)
                for name, count in tiers.items()
            )
        )

    told = render_guest_table(run(10), [*run(11), *rows(cells([emulated("java-a:virtual", delay_s=20.0)]))])
    assert told.count("| `rust-axum:hyper` | 10 | 11 | +10% |") == told.count("hyper") == 1
    assert "java-a" not in told


def test_a_line_of_progress_shows_counts_instead_of_speed() -> None:
    told = format_record(emulated("java-a:virtual"))
    assert "400,000 answers to 25,000 connections" in told
    assert "req/s" not in told


def test_an_estimate_is_the_longest_that_a_cell_may_take() -> None:
    quickest = windows.window_length(replace(BLOCK, tiers=TIERS), TIERS[1], EMULATED)
    assert quickest >= windows.wait_and_window(BLOCK, TIERS[1], 25_000, EMULATED, Pace(opened=1_000, served=2_000))[1]
