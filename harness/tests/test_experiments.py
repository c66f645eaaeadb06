"""Tests of the text and charts in reports for scenarios that have their own section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import builders
import pytest
from builders import record
from hypothesis import given
from hypothesis import strategies as st

from zoo.cli.display import format_record
from zoo.core.measurement import Connections
from zoo.core.record import Record, Trial
from zoo.core.run import Run
from zoo.core.run_folder import Store
from zoo.core.trial_results import (
    AbResult,
    HeapResult,
    HeapTrial,
    HeldMemory,
    Lag,
    OpenResult,
    Quantiles,
    RampResult,
    ReleasedMemory,
    Result,
    ScaleResult,
    ScaleStep,
    StartupResult,
)
from zoo.reference.findings import render_experiment_charts, render_experiments
from zoo.reference.origin import preferred_costs
from zoo.reference.runs import COMMITTED, Reference, StoredRun
from zoo.report.page import svg
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.scenarios.scale import separate_labels

SCENARIOS = COMMITTED / "scenarios"
PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"
PLAIN = ChartTools(library=lambda: "/* Vega */", svg=lambda figure: "<svg></svg>")


def said(run: Run, records: Sequence[Record], reference: str | None = None) -> str:
    """Return the report as text."""
    return render(report_sections(Summary.of(run, records, reference)))


def run(*scenarios: str) -> Run:
    return builders.run(entries=[PLATFORM, VIRTUAL], scenarios=scenarios)


def tried(
    scenario: str, result: Result, entry: str = VIRTUAL, case: str = "", tier: str = "100", number: int = 1
) -> Record:
    made = record(entry, tier="1k", scenario=scenario, round_number=number)
    assert made.measurement is not None
    memory = made.measurement.memory
    trial = Trial(result=result, connections=Connections(requested=100, actual=100), memory=memory)
    return made.model_copy(update={"measurement": None, "trial": trial, "case": case, "tier": tier})


def swept(scenario: str, case: str, tier: str, entry: str, rps: float, number: int) -> Record:
    made = record(entry, tier="1k", scenario=scenario, round_number=number, rps=rps, actual=int(tier))
    return made.model_copy(update={"case": case, "tier": tier})


def ramp(t95_s: float | None) -> RampResult:
    """Return a ramp in which 50 of 100 connections get a response each second until t95, and all of them afterwards."""
    reached = t95_s or 99.0
    windows = [(100 if i / 10 >= reached - 1 else 50) * (i % 10 == 9) for i in range(100)]
    return RampResult(
        delay_s=1.0,
        connections=100,
        duration_s=10.0,
        window_s=0.1,
        windows=windows,
        t95_s=t95_s,
        plateau=1.0 if t95_s else None,
        late=1.0 if t95_s else 0.5,
        kept=t95_s is not None,
        answered=sum(windows),
        failed={"timeout": 3} if t95_s is None else {},
        threads_t=[0.0, 5.0, 10.0],
        threads=[20, 40, 60],
        cpu_s=0.1,
        version="12.13.0",
        answers="raw/a.json.gz",
    )


def opened(ok_share: float, behind: str | None = None, p50_s: float = 4.01, p99_s: float = 4.1) -> OpenResult:
    ok = round(24_000 * ok_share)
    return OpenResult(
        rate=400,
        delay_s=4.0,
        duration_s=60.0,
        timeout_s=60.0,
        keep_alive=False,
        due=24_000,
        sent=24_000,
        ok=ok,
        ok_share=ok_share,
        total_s=64.0,
        ok_per_s=ok / 64,
        failures={"timeout": 24_000 - ok} if ok < 24_000 else {},
        lag=Lag(p50_us=10, p99_us=900, max_us=2_000),
        late_limit_us=100_000,
        behind=behind,
        latency=Quantiles(
            p50_us=round(1e6 * p50_s), p90_us=round(1e6 * p50_s) + 10_000, p99_us=round(1e6 * p99_s), p999_us=None
        ),
        cpu_s=5.0,
        version="12.13.0",
        histogram="raw/h.json.gz",
    )


def held(entry: str, tier: str, kb: float, number: int) -> Record:
    count = builders.TIERS.get(tier) or int(tier.removesuffix("k")) * 1_000
    rss_kb = round(60_000 + kb * count)
    made = record(entry, "1k", "sleep", number, actual=count, rss_peak_kb=rss_kb, rss_before_kb=60_000)
    assert made.measurement is not None
    released = ReleasedMemory(after_s=30, rss_kb=60_000, anon_kb=50_000, heap_used_kb=1, heap_committed_kb=1)
    seen = made.measurement.model_copy(
        update={
            "connections": made.measurement.connections.model_copy(update={"requested": count}),
            "held": HeldMemory(
                anon_before_kb=50_000,
                heap_before_kb=9_000,
                established=count,
                rss_kb=rss_kb,
                anon_kb=round(50_000 + kb * count),
                pss_kb=None,
                heap_used_kb=round(9_000 + kb * count / 2),
                heap_committed_kb=None,
                released=released if tier == "25k" else None,
            ),
        }
    )
    return made.model_copy(update={"measurement": seen, "scenario": "held", "tier": tier})


HEAP = HeapResult(
    connections=25_000,
    delay_s=10,
    smallest_mb=96,
    steady=True,
    trials=[HeapTrial(mb=96, worked=True), HeapTrial(mb=88, worked=False, why="the server ended")],
)
NO_HEAP = HEAP.model_copy(update={"smallest_mb": None, "trials": [HeapTrial(mb=1024, worked=False, why="9 errors")]})
AB = AbResult(
    requests=100_000,
    complete=100_000,
    failed=0,
    non_2xx=0,
    write_errors=0,
    kept_alive=99_000,
    flawless=True,
    requests_per_s=51_234.5,
    runtime_s=2.0,
    percentiles_us=list(range(1_000, 1_101)),
    cpu_s=2.0,
    version="2.3",
)
SCALE = ScaleResult(
    delay_s=10,
    addresses=8,
    steps=[ScaleStep(connections=n, rss_kb=kb, answers=2 * n) for n, kb in ((10_000, 300_000), (19_500, 512_000))],
    stopped_by="nofile hard limit 20,000",
)
STARTS = StartupResult(
    way="aot",
    first_answer_s=[0.400 + i / 1000 for i in range(20)],
    rss_kb=[81_920] * 6,
    anon_kb=[40_960] * 6,
    rest_s=5.0,
    archive_kb=30_720,
)

RECORDS = {
    "ramp": [tried("ramp", ramp(2.0), case="2s"), tried("ramp", ramp(None), PLATFORM, "2s")],
    "held": [held(VIRTUAL, tier, 14.0, n) for n in (1, 2, 3) for tier in ("100", "1k", "5k", "25k")],
    "heap": [tried("heap", HEAP, tier="25k"), tried("heap", NO_HEAP, PLATFORM, tier="25k")],
    "cpu": [
        swept("cpu", "0.5ms+2ms", tier, entry, rps * n, n)
        for n in (1, 2, 3)
        for tier in ("5", "50")
        for entry, rps in ((PLATFORM, 1_000.0), (VIRTUAL, 740.0))
    ],
    "bytes": [swept("bytes", case, "8", VIRTUAL, 900.0, 1) for case in ("256", "16384", "1024")],
    "service": [swept("service", "50ms", "8", VIRTUAL, 160.0, 1)],
    "open": [
        tried("open", opened(1.0), case="400ps-4s", tier="24k"),
        tried("open", opened(0.14), PLATFORM, "400ps-4s", "24k"),
    ],
    "rate": [tried("rate", opened(1.0, behind="the generator sent 10 of 24,000 requests that were due"), case="50pct")],
    "ab": [tried("ab", AB)],
    "scale": [tried("scale", SCALE, tier="400k")],
    "startup": [tried("startup", STARTS, case="aot", tier="1")],
}

EXPECTED = {
    "ramp": ["| java-a:virtual | 2 | 100 | 100 | 60 |", "| java-a:platform | never | – | 50 | 60 |"],
    "held": ["| java-a:virtual | yes | 14"],
    "heap": ["| java-a:virtual | 96 | 2 | 0 of 1 |", "| java-a:platform | over 1,024 | 1 | 0 of 1 |"],
    "cpu": ["**cpu 0.5ms+2ms: req/s · closed, c =**", "| java-a:virtual | 1,480 (740–2,220) | 1,480 (740–2,220) |"],
    "bytes": ["**bytes 1024: req/s · closed, c =**"],
    "service": ["**service 50ms: req/s · closed, c =**"],
    "open": ["| java-a:virtual | 1 of 1 | 100 | 375 | 4,010 | 4,100 | – |", "timeout 20,640"],
    "rate": ["java-a:virtual, rate 50pct, round 1: no data, the generator sent 10 of 24,000 requests that were due"],
    "ab": ["| java-a:virtual | 51,234 | 1.05 | 1.1 | 0 | 100,000 |"],
    "scale": ["| java-a:virtual | nofile hard limit 20,000 | 1 | 19,500 | 500 |"],
    "startup": ["| java-a:virtual | 20 | 410 [405, 414] | 80 | 40 | 30 |"],
}


@pytest.mark.parametrize("scenario", RECORDS)
def test_a_report_tells_what_was_found(scenario: str) -> None:
    text = said(run(scenario), RECORDS[scenario])
    assert f"## Scenario {scenario}" in text
    for expected in EXPECTED[scenario]:
        assert expected in text, text


ANSWERS = {
    "ramp": "java-a, 100 connections at once whose requests wait 1 s; 95% are answered: after 2 s by virtual threads "
    "and not within 10 s by the pool of platform threads.",
    "held": "Memory per waiting request, kB: 14 in java-a:virtual.",
    "heap": "Smallest heap that holds 25k connections, MB: 96 in java-a:virtual; over 1,024 in java-a:platform.",
    "open": "java-a, 400 requests per second that wait 4 s each; answered within 60 s: all by virtual threads and "
    "14% by the pool of platform threads.",
    "ab": "Requests per second by ApacheBench at 100 connections: 51,234 in java-a:virtual.",
    "scale": "java-a:virtual: 19,500 held, then nofile hard limit 20,000.",
    "cpu": "java-a, requests per second of virtual threads compared with the pool of platform threads: "
    "slower in 2 of 2 cells.",
    "startup": "From start to first response (aot), ms: 410 in java-a:virtual.",
}


@pytest.mark.parametrize("scenario", ANSWERS)
def test_a_report_begins_with_the_answer_of_its_scenario(scenario: str) -> None:
    contents = Contents.of(Summary.of(run(scenario), RECORDS[scenario]), RawFiles())
    assert contents.summary.view_answers == [ANSWERS[scenario]]
    assert contents.summary.last_lines[0] == ANSWERS[scenario]
    assert f"- {ANSWERS[scenario]}" in said(run(scenario), RECORDS[scenario])
    text = render_page(contents, PLAIN)
    assert text.index(ANSWERS[scenario]) < text.index(f'<section id="of-{scenario}">')


def test_what_a_held_connection_costs_is_told_by_condition() -> None:
    lean = [record.model_copy(update={"entry": f"{record.entry}@BUFFERS=lean"}) for record in RECORDS["held"]]
    contents = Contents.of(Summary.of(run("held"), [*RECORDS["held"], *lean]), RawFiles())
    assert contents.summary.view_answers == [f"{ANSWERS['held'][:-1]}; with BUFFERS=lean 14 in java-a:virtual."]


def test_pairs_between_which_nothing_is_decided_are_one_sentence() -> None:
    each = {PLATFORM: (1_000.0, 2_000.0, 3_000.0), VIRTUAL: (1_500.0, 1_500.0, 4_000.0)}
    records = [
        swept("cpu", "0.5ms+2ms", tier, entry, rps, n)
        for entry, found in each.items()
        for n, rps in enumerate(found, 1)
        for tier in ("5", "50")
    ]
    assert Summary.of(run("cpu"), records).view_answers == [
        "Requests per second: not decided between the variants of java-a."
    ]


def test_the_last_lines_leave_out_pairs_that_have_no_room() -> None:
    found = Summary.of(run("cpu"), RECORDS["cpu"])
    pairs = found.last_lines[1:]
    assert pairs[0].endswith(":")
    assert replace(found, view_answers=[]).last_lines == pairs
    for lines in (9, 10, 11):
        own = [f"answer {n}" for n in range(lines)]
        assert replace(found, view_answers=own).last_lines == own[:10]


def test_a_generator_that_fell_behind_gives_no_answer() -> None:
    assert Contents.of(Summary.of(run("rate"), RECORDS["rate"]), RawFiles()).summary.view_answers == []


@pytest.mark.parametrize("scenario", RECORDS)
def test_a_page_has_a_part_with_a_chart_of_it_that_can_be_drawn(scenario: str) -> None:
    made, records = run(scenario), RECORDS[scenario]
    contents = Contents.of(Summary.of(made, records), RawFiles())
    part = next(part for part in contents.parts if part.id == f"of-{scenario}")
    figures = [figure for group in part.groups for figure in group.figures]
    names = [figure.name for figure in contents.figures]
    assert len(names) == len(set(names))
    assert figures
    if scenario != "rate":
        assert all("<svg" in svg.render_svg(figure) for figure in figures)
    text = render_page(Contents.of(Summary.of(made, records), RawFiles()), PLAIN)
    assert f'<section id="of-{scenario}">' in text
    assert f'href="#of-{scenario}"' in text


def test_a_page_of_experiments_alone_does_not_miss_pairs() -> None:
    text = render_page(Contents.of(Summary.of(run("ramp"), RECORDS["ramp"]), RawFiles()), PLAIN)
    assert "<h2>Answer</h2>" in text
    assert "No comparison" not in text


def test_a_report_of_experiments_alone_has_no_empty_parts() -> None:
    text = said(run("ramp"), RECORDS["ramp"])
    assert "Load: wrk" not in text
    assert "A/A" not in text
    assert "All cells" not in render_page(Contents.of(Summary.of(run("ramp"), RECORDS["ramp"]), RawFiles()), PLAIN)
    both = [*RECORDS["ramp"], record(VIRTUAL)]
    assert "Load: wrk" in said(run("ramp", "hello"), both)
    assert "All cells" in render_page(Contents.of(Summary.of(run("ramp", "hello"), both), RawFiles()), PLAIN)


def test_a_ratio_is_drawn_over_connections_with_its_interval() -> None:
    part = next(p for p in Contents.of(Summary.of(run("cpu"), RECORDS["cpu"]), RawFiles()).parts if p.id == "of-cpu")
    figure = next(f for group in part.groups for f in group.figures if f.drawing.form.name == "ratios")
    assert [(d["connections"], d["ratio"]) for d in figure.drawing.points] == [(5, 0.74), (50, 0.74)]
    assert figure.drawing.settings == {"ticks": [5, 50]}


def test_lines_of_held_connections_are_named_where_they_end_and_no_name_covers_another() -> None:
    records = [tried("scale", SCALE, entry, tier="400k") for entry in (VIRTUAL, PLATFORM)]
    part = next(p for p in Contents.of(Summary.of(run("scale"), records), RawFiles()).parts if p.id == "of-scale")
    figure = part.groups[0].figures[0]
    named = {d["name"]: d["at"] for d in figure.drawing.points if d["name"]}
    assert set(named) == {VIRTUAL, PLATFORM}
    assert sorted(named.values()) == [500, 530], "both end at 500 MB"
    assert f"{VIRTUAL} 19,500 with 500 MB, then nofile hard limit 20,000" in figure.description
    assert figure.drawing.settings["ticks"] == [0, 10_000, 19_500]
    assert ">19,500</text>" in svg.render_svg(figure)


@given(st.lists(st.floats(0, 1e6), max_size=12), st.floats(1, 1e5))
def test_names_stand_apart_and_never_below_their_line(ends: list[float], gap: float) -> None:
    raised = separate_labels(ends, gap)
    assert all(at >= end for at, end in zip(raised, ends, strict=True))
    assert all(high - low >= gap * 0.999 for low, high in pairwise(sorted(raised)))
    steady = sorted(ends)
    if all(high - low >= gap for low, high in pairwise(steady)):
        assert raised == ends


def test_sizes_and_times_stand_in_their_own_order() -> None:
    text = said(run("bytes"), RECORDS["bytes"])
    assert text.index("bytes 256:") < text.index("bytes 1024:") < text.index("bytes 16384:")


def test_a_cell_of_held_tells_no_requests_a_second() -> None:
    told = format_record(RECORDS["held"][-1])
    assert "answers to 25,000 connections" in told
    assert "req/s" not in told


@pytest.mark.parametrize(
    ("fallen", "told"),
    [
        (set(), "yes"),
        ({(1, "25k")}, "in 2 of 3 rounds"),
        ({(n, "25k") for n in (1, 2, 3)}, "to 5k"),
        ({(n, tier) for n in (1, 2, 3) for tier in ("100", "25k")}, "no"),
    ],
)
def test_held_tells_in_how_many_rounds_all_were_held(fallen: set[tuple[int, str]], told: str) -> None:
    records = [
        record(VIRTUAL, r.tier, "held", r.round, failure="it ended") if (r.round, r.tier) in fallen else r
        for r in RECORDS["held"]
    ]
    assert f"| java-a:virtual | {told} |" in said(run("held"), records)


def test_a_failed_trial_is_told_with_its_reason() -> None:
    failed = record(VIRTUAL, scenario="ramp", failure="vegeta is not there").model_copy(update={"case": "2s"})
    text = said(run("ramp"), [failed])
    assert "java-a:virtual, ramp 2s, failed in round 1: vegeta is not there" in text
    assert "vegeta is not there" in render_page(Contents.of(Summary.of(run("ramp"), [failed]), RawFiles()), PLAIN)


def committed(root: Path, *names: str) -> list[StoredRun]:
    builders.list_runs(root, *(f"scenarios/{name}" for name in names))
    return Reference(root, builders.catalog()).matching("scenarios/*")


def test_a_document_quotes_each_scenario_of_the_committed_runs(tmp_path: Path) -> None:
    for name, scenarios in (("a", ["ramp"]), ("b", ["ab", "held"])):
        store = Store.create(tmp_path / SCENARIOS, run(*scenarios).model_copy(update={"id": name}))
        for one in (one for scenario in scenarios for one in RECORDS[scenario]):
            store.append(one)
    found = committed(tmp_path, "a", "b")
    text = render_experiments(found, builders.catalog())
    assert re.findall(r"\((docs/charts/.*?)\)", text) == ["docs/charts/scenarios-a-ramp-ramp-2s-100-java-a.svg"]
    charts = render_experiment_charts(found, builders.catalog())
    assert [path.as_posix() for path in charts] == ["docs/charts/scenarios-a-ramp-ramp-2s-100-java-a.svg"]
    assert all(chart.startswith("<svg") for chart in charts.values())
    for scenario in ("ramp", "held", "ab"):
        assert all(expected in text for expected in EXPECTED[scenario])
    headings = [format_record for format_record in text.splitlines() if format_record.startswith("### ")]
    assert headings == ["### ramp", "### held", "### ab"]
    links = [
        format_record.partition(")")[0][-1]
        for format_record in text.splitlines()
        if format_record.startswith("[Committed run]")
    ]
    assert links == ["a", "b", "b"]


def test_the_cost_of_a_held_connection_is_quoted_from_the_run_with_the_most_connections(tmp_path: Path) -> None:
    for name, tiers, started_at in (("wide", ["100", "25k"], "2026-01-02"), ("newer", ["100", "10k"], "2026-01-03")):
        made = builders.run([VIRTUAL], ["held"], tiers).model_copy(update={"id": name, "started_at": started_at})
        store = Store.create(tmp_path / SCENARIOS, made)
        for one in RECORDS["held"]:
            store.append(one)
    assert {one.run.id for one, _ in preferred_costs(committed(tmp_path, "wide", "newer")).values()} == {"wide"}


def test_the_cost_of_a_held_connection_is_read_from_committed_runs_of_held_alone(tmp_path: Path) -> None:
    for name in ("held", "ramp"):
        store = Store.create(tmp_path / SCENARIOS, run(name).model_copy(update={"id": name}))
        for one in RECORDS[name]:
            store.append(one)
    found = preferred_costs(committed(tmp_path, "held", "ramp"))
    assert {(one.run.id, one.link) for one, _ in found.values()} == {("held", f"{SCENARIOS}/held")}
    assert {entry for entry, quantity in found if quantity == "rss"} == {r.entry for r in RECORDS["held"]}
