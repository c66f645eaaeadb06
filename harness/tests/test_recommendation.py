"""Tests that the text and headings of the README's first screen follow from the figures."""

from __future__ import annotations

import math

import pytest
from builders import record

from zoo.report.section import NONE
from zoo.report.text import switch
from zoo.stats.databases import OPS
from zoo.stats.interval import Interval
from zoo.stats.memory_per_request import Cost
from zoo.stats.metrics import CPU
from zoo.stats.pair_interval import from_error
from zoo.stats.pairs import Comparison, Kind, Pair, compare
from zoo.stats.verdict import judge

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"


LOAD = "Served in the first wait, and peak memory"


def test_advice_about_waiting_requests_names_each_servers_own() -> None:
    enlarge = switch.Advice("enlarge the pool to about 1,000", "A pool of 200: 200", LOAD)
    change = switch.Advice("switch to virtual threads", "A pool of 200: 150", LOAD)
    case = switch.waiting_case({"java-a": enlarge, "java-b": change})
    assert case
    assert case.advice == f"enlarge the pool to about 1,000 or switch to virtual threads. {LOAD}"
    assert case.by_server["java-b"] == "Switch to virtual threads. A pool of 200: 150"
    alike = switch.waiting_case({"java-a": enlarge, "java-b": enlarge})
    assert alike
    assert alike.advice == f"enlarge the pool to about 1,000. {LOAD}"
    assert switch.waiting_case({}) is None


@pytest.mark.parametrize(
    ("value", "sd", "rejected", "said"),
    [
        (1.0, 0.1, False, "no clear difference: queries per second with 10 connections and 10 ms to the database"),
        (1.0, 0.1, False, "vs. a cached pool: no clear difference (−12 to +14%)"),
        (1.0, 0.01, False, "the same: queries"),
        (1.0, 0.01, False, "vs. a cached pool: the same (within 5%)"),
        (1.5, 0.01, True, "virtual threads do more: queries"),
        (1.5, 0.01, True, "vs. a cached pool: 50% more (48–52%)"),
        (0.6, 0.01, True, "virtual threads do less: queries"),
        (1.08, 0.02, False, "virtual threads probably do more: queries"),
        (1.08, 0.02, False, "vs. a cached pool: probably 8% more (5–11%)"),
    ],
)
def test_a_small_pool_is_said_to_be_the_same_only_within_5_percent(
    value: float, sd: float, rejected: bool, said: str
) -> None:
    ratio = from_error(math.log(value), sd, 3, 10)
    verdict = judge(OPS, ratio, rejected=rejected, family=1)
    case = switch.database_case(Comparison(OPS, ratio, verdict), 10, 10)
    assert case
    assert said in case.advice


def hello(more: float, wobble: tuple[float, ...] = (1.0, 1.001, 0.999)) -> list[Pair]:
    records = [
        record(entry, round_number=n, cpu_s_per_million=20.0 * (w if entry == PLATFORM else more / w))
        for entry in (PLATFORM, VIRTUAL)
        for n, w in enumerate(wobble, 1)
    ]
    return compare([PLATFORM, VIRTUAL], records).of(Kind.MODEL)


@pytest.mark.parametrize(
    ("pairs", "advice", "text"),
    [
        (hello(1.5), "don't switch for speed", "20 → 30 µs, 50% more ("),
        (hello(0.5), "switching saves CPU", "20 → 10 µs, 50% less ("),
        (hello(1.1, (1.0, 1.5, 0.6)), "no clear difference", "20 → 22 µs, no clear difference ("),
        (hello(1.0), "the same", "20 → 20 µs, the same (within 5%)"),
    ],
)
def test_advice_about_fast_requests_follows_from_the_verdicts(pairs: list[Pair], advice: str, text: str) -> None:
    assert pairs[0].comparisons[CPU].ratio
    cpu_us = {(PLATFORM, "1k"): 20.0, (VIRTUAL, "1k"): float(text.split()[2])}
    case = switch.fast_case({"java-a": pairs}, cpu_us)
    assert case
    assert case.advice.startswith(f"{advice}. Mean CPU per request, and p99 latency, at 1,000 connections")
    assert case.by_server["java-a"].startswith(f"at 1,000: {text}")


def test_memory_of_a_waiting_request_by_server() -> None:
    costs = {
        entry: Cost(Interval(kb, kb, kb, 3), 1.0)
        for entry, kb in {"b:x": 75.0, "c:p": 9.0, "c:q": 60.0, "a:y": 8.1}.items()
    }
    case = switch.memory_case(costs, {"b:x": 812.4}, ["b", "c"])
    assert case
    assert case.by_server == {"b": "75 kB, peak 812 MB (x)", "c": "9 kB (p), 60 kB (q)"}
    assert case.advice.endswith("; 8.1 kB in a:y")
    assert switch.memory_case({}, {}, ["b"]) is None


def test_a_server_without_a_text_in_a_case_has_a_dash_there() -> None:
    table = switch.render_cases(
        [switch.Situation("wait", "switch", {"java-b": "x"}), switch.Situation("are fast", "stay", {"java-a": "y"})]
    )
    assert table.columns == ["if your requests …", "then", "[java-a](java-a/)", "[java-b](java-b/)"]
    assert table.rows == [["**wait**", "switch", NONE, "x"], ["**are fast**", "stay", "y", NONE]]
