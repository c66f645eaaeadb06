"""Tests of the answer for one server, on made-up records whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import builders
import chrome
import pytest
from builders import record
from hypothesis import given, settings
from hypothesis import strategies as st
from selenium import webdriver
from selenium_axe_python.axe import Axe
from test_experiments import opened, tried

from zoo.cli.answer import compared, questions
from zoo.core.answer_runs import ARRIVING, COLD, COST, POOL_QUESTIONS, POOLS, QUESTIONS, WAITING
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.manifest import Catalog
from zoo.core.plan import make_plan
from zoo.core.record import Record
from zoo.core.trial_results import ColdResult
from zoo.reference.answers import split_run, write_answer
from zoo.report.answer import MIXED, Answer, AnswerBlock, Found, Variants, make_answer, rounds_needed, schema
from zoo.report.page.answer import render_badge, render_page, render_picture
from zoo.report.summary import Summary
from zoo.report.text.answer import WIDTH, render_lines

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"
SIDES = Variants(PLATFORM, VIRTUAL, "virtual threads")
STEADY = (1.0, 1.001, 0.999)
WIDE = (0.80, 0.88, 0.93)


def waiting(entry: str, served: float) -> Record:
    made = record(entry, "1k", "sleep")
    assert made.measurement is not None
    load = made.measurement.load.model_copy(update={"goodput": round(1_000 * served)})
    return made.model_copy(update={"measurement": made.measurement.model_copy(update={"load": load})})


def hello(entry: str, rps: float, cpu: float) -> list[Record]:
    return [
        record(entry, tier, round_number=n, rps=rps * w, cpu_s_per_million=cpu / w)
        for tier in ("100", "1k")
        for n, w in enumerate(STEADY, 1)
    ]


def found(
    served: Sequence[float] = (0.2, 1.0), shares: Sequence[float] = (0.13, 1.0), slower: float = 0.85, more: float = 1.2
) -> Found:
    entries = [PLATFORM, VIRTUAL]
    return {
        WAITING: Summary.of(
            builders.run(entries, ["sleep"], ["1k"]),
            [waiting(e, s) for e, s in zip(entries, served, strict=True)],
        ),
        ARRIVING: Summary.of(
            builders.run(entries, ["open"], ["24k"]),
            [tried("open", opened(s), e) for e, s in zip(entries, shares, strict=True)],
        ),
        COST: Summary.of(
            builders.run(entries, ["hello"], ["100", "1k"]),
            [*hello(PLATFORM, 50_000, 20.0), *hello(VIRTUAL, 50_000 * slower, 20.0 * more)],
        ),
    }


def answer(runs: Found) -> Answer:
    return make_answer(SIDES, runs)


def summary(runs: Found, block: str = "waiting") -> str:
    return answer(runs).block(block).summary


def test_a_pool_that_keeps_requests_waiting_is_a_reason_to_switch() -> None:
    assert summary(found()) == (
        "Switch to virtual threads, or enlarge the pool: the pool keeps requests waiting. 1,000 requests at once, each "
        "waits 10 s: in the first wait, the pool answers 200 and virtual threads all (peak memory 78.1 and 78.1 MB). "
        "400 requests per second for 60 s, each waits 4 s: within 60 s, the pool answers 13% and virtual threads all."
    )


def test_the_cost_has_levels_then_the_estimate_with_its_interval_then_the_word() -> None:
    cost = answer(found()).block("cost")
    assert cost.verdict == "keep the pool"
    assert [(line.subject, line.text) for line in cost.lines if line.quoted][:2] == [
        ("CPU per request at 1,000 connections", "20.0 → 24.0 µs, +20% (+20%): more"),
        ("Requests per second at 1,000 connections", "50,000 → 42,500/s, −15% (−15%): slower"),
    ]
    line = cost.lines[0]
    assert line.pool
    assert line.ratio
    assert line.ratio.low
    assert line.ratio.high
    assert line.pool.value == pytest.approx(20, rel=0.01)
    assert line.pool.unit == "µs"
    assert line.ratio.low <= line.ratio.value <= line.ratio.high


@given(st.floats(0.4, 2.5))
@settings(max_examples=25, deadline=None)
def test_the_same_figures_are_on_the_terminal_on_the_page_and_in_the_json(more: float) -> None:
    made = answer(found(more=more))
    lines, page = " ".join(" ".join(render_lines(made)).split()), render_page(made)
    assert Answer.model_validate_json(made.model_dump_json()) == made
    for block in made.blocks:
        for line in block.lines:
            assert line.text in page
            assert line.text in lines or not line.quoted
    cost = made.block("cost").verdict
    assert cost == ("keep the pool" if more > 1.06 else cost)
    assert cost == (MIXED if more < 0.94 else cost)
    assert all(len(line) <= WIDTH for line in render_lines(made))


@pytest.mark.parametrize(
    ("more", "slower", "verdict"),
    [
        (1.2, 0.85, "keep the pool"),
        (1.2, 1.0, "keep the pool"),
        (1.0, 0.85, "keep the pool"),
        (1.0, 1.0, "no difference"),
        (0.8, 1.0, "switching saves CPU time"),
        (1.0, 1.2, "switching is faster"),
        (0.8, 0.85, MIXED),
    ],
)
def test_the_cost_is_judged_by_cpu_time_and_speed(more: float, slower: float, verdict: str) -> None:
    assert answer(found(more=more, slower=slower)).block("cost").verdict == verdict


def test_two_counts_that_a_limit_reduces_to_one_keep_their_verdicts() -> None:
    records = [
        record(
            entry,
            tier,
            round_number=n,
            actual=500,
            limited_by="nofile hard limit",
            rps=50_000 * w,
            cpu_s_per_million=us / w,
        )
        for entry, tier, us in (
            (PLATFORM, "1k", 20.0),
            (VIRTUAL, "1k", 24.0),
            (PLATFORM, "25k", 20.0),
            (VIRTUAL, "25k", 16.0),
        )
        for n, w in enumerate(STEADY, 1)
    ]
    plan = builders.run([PLATFORM, VIRTUAL], ["hello"], ["1k", "25k"])
    cost = answer({COST: Summary.of(plan, records)}).block("cost")
    assert cost.verdict == "keep the pool"
    assert cost.reason == "judged at 500 connections; at 500, switching saves CPU time"
    assert len(cost.lines) == 6


def test_what_a_few_more_rounds_would_decide_is_said() -> None:
    assert rounds_needed(SIDES, found()) is None
    assert rounds_needed(SIDES, {}) is None
    assert answer(found()).command == ""
    unsteady = [
        *hello(PLATFORM, 50_000, 20.0),
        *(record(VIRTUAL, t, round_number=n, rps=50_000 * w) for t in ("100", "1k") for n, w in enumerate(WIDE, 1)),
    ]
    made = answer({COST: Summary.of(found()[COST].run, unsteady)})
    assert made.rounds_needed is not None
    assert 3 < made.rounds_needed <= 3 + 20
    assert made.command == f"make answer SERVER=java-a ROUNDS={made.rounds_needed}"
    assert made.command in render_page(made)
    assert any(text.startswith("Not decided: ") for text in made.certainty)


def test_a_pool_that_serves_all_is_left_alone() -> None:
    runs = found(served=(1.0, 1.0), shares=(1.0, 1.0), slower=1.0, more=1.0)
    assert answer(runs).block("waiting").verdict == "leave it"
    assert answer(runs).block("cost").verdict == "no difference"
    assert "0% (0%): the same (within 5%)" in summary(runs, "cost")


def test_a_pool_that_serves_all_of_them_late_is_a_reason_to_switch() -> None:
    late = found(served=(1.0, 1.0), shares=(1.0, 1.0))
    _, virtual = late[ARRIVING].records
    pool = tried("open", opened(1.0, p50_s=25.0, p99_s=31.4), PLATFORM)
    text = summary({**late, ARRIVING: Summary.of(late[ARRIVING].run, [pool, virtual])})
    assert text.startswith("Switch to virtual threads, or enlarge the pool")
    assert "within 60 s, the pool answers all (half of them only after 25 s) and virtual threads all." in text


def test_virtual_threads_that_serve_late_are_no_reason_to_switch() -> None:
    made = answer(found(served=(0.2, 0.97), shares=(0.13, 0.97))).block("waiting")
    assert made.verdict == "do not switch for this"
    assert made.reason == "virtual threads do not answer all of them in time"


def test_what_was_not_measured_is_said_with_the_command_that_measures_it() -> None:
    made = answer({COST: found()[COST]})
    assert {block.name: block.command for block in made.blocks if block.verdict == "not measured"} == {
        "waiting": "make answer SERVER=java-a",
        "cold": "make bench SERVER=java-a SCENARIO=cold",
        "memory": "make bench SERVER=java-a SCENARIO=held",
        "database": "make bench-jdbc",
    }
    assert made.block("waiting").summary == "Not measured: the runs have no requests that wait."


def test_an_answer_without_any_run_still_renders() -> None:
    made = answer({})
    assert {block.verdict for block in made.blocks} == {"not measured"}
    assert "not measured" in render_picture(made)
    assert render_page(made).count("<h2>") == len(made.blocks) + 1


def test_a_generator_that_fell_behind_says_nothing_about_the_server() -> None:
    arriving = found()[ARRIVING]
    behind = [tried("open", opened(0.5, behind="too few workers"), PLATFORM), *arriving.records[1:]]
    late = Summary.of(arriving.run, behind)
    assert "400 requests per second" not in summary({**found(), ARRIVING: late})


def test_a_cold_start_of_both_sides_is_quoted() -> None:
    runs = [cold(PLATFORM, 9.0), cold(VIRTUAL, None)]
    made = {COLD: Summary.of(builders.run([PLATFORM, VIRTUAL], ["cold"], ["1k"]), runs)}
    assert summary(made, "cold") == (
        "The pool: 95% of full speed after 9 s. Virtual threads: 95% of full speed was not reached within 40 s."
    )


def cold(entry: str, t95_s: float | None) -> Record:
    result = ColdResult(
        way="default",
        connections=1_000,
        duration_s=40,
        delay_s=0.1,
        seconds=[1],
        steady_rps=50_000,
        t95_s=t95_s,
        compiler=None,
        request=None,
        cpu_s=1.0,
        version="4.2.0",
    )
    return tried("cold", result, entry, "default", "1k")


def test_a_run_fills_the_parts_of_its_scenarios_at_the_quoted_connection_count() -> None:
    records = [*hello(PLATFORM, 1.0, 20.0), *(record(PLATFORM, tier, "sleep") for tier in ("100", "1k"))]
    parts = split_run(Summary.of(builders.run([PLATFORM]), records))
    assert {part: len(one.records) for part, one in parts.items()} == {COST: 6, WAITING: 1}


def test_the_pictures_are_svg_that_says_what_it_shows() -> None:
    made = answer(found())
    for text in (render_badge(made), render_picture(made)):
        root = ElementTree.fromstring(text)
        assert root.tag.endswith("svg")
        assert "java-a" in root.attrib["aria-label"]
    assert "nothing waits: keep the pool" in render_badge(made)
    assert "20.0 → 24.0 µs" in render_picture(made)


@given(st.floats(0.05, 20))
@settings(max_examples=25, deadline=None)
def test_no_mark_leaves_the_picture(more: float) -> None:
    root = ElementTree.fromstring(render_picture(answer(found(more=more))))
    marks = [float(e.attrib["cx"]) for e in root if e.tag.endswith("circle")]
    assert len(marks) == 4
    assert all(8 <= x <= 372 for x in marks)


def test_the_json_has_a_schema() -> None:
    assert set(schema()["properties"]) == set(Answer.model_fields)
    every = [schema(), *schema()["$defs"].values()]
    assert all(one["additionalProperties"] is False for one in every), "an unknown key is an error"


def test_its_runs_can_be_planned_for_a_server() -> None:
    catalog = Catalog((builders.catalog().servers[0],))
    wishes = {q.name: replace(q.options, servers=["java-a"]) for q in (*QUESTIONS, *POOL_QUESTIONS)}
    plans = {name: make_plan(wish, catalog, Condition(jdk="25")) for name, wish in wishes.items()}
    assert {name: (plan.rounds, plan.cells) for name, plan in plans.items()} == {
        WAITING: (1, 2),
        ARRIVING: (1, 2),
        COST: (3, 12),
        POOLS: (1, 4),
    }


def test_only_the_two_sides_are_measured() -> None:
    catalog = builders.catalog()
    assert compared("java-a", catalog) == ["platform", "virtual"]
    with pytest.raises(PlanError, match="make bench SERVER=rust-n"):
        compared("rust-n", catalog)


def test_pool_sizes_are_compared_if_they_can_be_set() -> None:
    catalog = builders.catalog()
    assert questions("java-a", ["platform", "virtual"], catalog) == POOL_QUESTIONS
    variants = [
        {"name": "platform", "model": "platform-thread", "summary": "a pool of one size", "settings": []},
        {"name": "virtual", "model": "virtual-thread", "summary": "no pool"},
    ]
    fixed = Catalog((builders.server("java-f", 8107, variants=variants),))
    assert questions("java-f", ["platform", "virtual"], fixed) == QUESTIONS


def test_the_comparison_of_pool_sizes_replaces_that_of_the_variants() -> None:
    pools = AnswerBlock(name="waiting", heading="If requests wait", verdict="enlarge the pool to about 1,000")
    made = make_answer(SIDES, found(), [pools])
    assert made.block("waiting") == pools
    assert made.text.startswith(
        "java-a: If requests wait: Enlarge the pool to about 1,000. If nothing waits: Keep the pool. "
    )


@pytest.mark.browser
@chrome.needed
@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (390, "dark")])
def test_the_page_fits_a_phone_and_asks_no_network(
    tmp_path: Path, chromium: webdriver.Chrome, width: int, scheme: str
) -> None:
    page = write_answer(answer(found()), tmp_path)
    with chrome.showing(chromium, page):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
        axe = Axe(chromium)
        axe.inject()  # type: ignore[no-untyped-call]
        issues = chromium.execute_async_script('axe.run({resultTypes: ["violations"]}).then(arguments[0])')
        serious = [issue for issue in issues["violations"] if issue["impact"] in ("serious", "critical")]
        assert serious == [], Axe.report(serious)
        assert {url.partition(":")[0] for url in chrome.asked(chromium)} <= {"file", "data", "chrome"}
