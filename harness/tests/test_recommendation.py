"""Tests that the text and headings of the README's first screen follow from the figures."""

from __future__ import annotations

import math

import pytest
from builders import record
from test_experiments import opened, tried

from zoo.report.text import switch
from zoo.stats.databases import OPS
from zoo.stats.interval import Interval
from zoo.stats.memory_per_request import Cost
from zoo.stats.metrics import CPU
from zoo.stats.pair_interval import from_error
from zoo.stats.pairs import Comparison, Kind, Pair, compare
from zoo.stats.verdict import judge

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"


def test_a_pool_that_leaves_requests_unanswered_is_told_with_its_share() -> None:
    told = switch.waiting_sentence(
        switch.constant_rate_results([tried("open", opened(0.13), PLATFORM), tried("open", opened(1.0), VIRTUAL)])
    )
    assert told.startswith("**Requests that wait: yes.** At 400 requests per second that wait 4 s each")
    assert "answers 13% in java-a; virtual threads answer all in time." in told


def test_a_pool_that_answers_all_of_them_late_does_not_answer_all() -> None:
    late = opened(1.0, p50_s=25.0, p99_s=31.4)
    told = switch.waiting_sentence(
        switch.constant_rate_results([tried("open", late, PLATFORM), tried("open", opened(1.0), VIRTUAL)])
    )
    assert "the pool of platform threads answers all, but half of them only after 25 s, in java-a" in told
    assert "virtual threads answer all in time." in told


def test_virtual_threads_that_answer_late_are_no_reason_to_switch() -> None:
    late = opened(1.0, p99_s=9.0)
    told = switch.waiting_sentence(
        switch.constant_rate_results([tried("open", opened(0.13), PLATFORM), tried("open", late, VIRTUAL)])
    )
    assert "yes" not in told
    assert "virtual threads answer all, but 1 in 100 of them only after 9 s, in java-a" in told


def test_97_of_100_are_not_all() -> None:
    told = switch.waiting_sentence(
        switch.constant_rate_results([tried("open", opened(0.97), PLATFORM), tried("open", opened(1.0), VIRTUAL)])
    )
    assert "answers 97% in java-a; virtual threads answer all in time." in told


def test_nothing_is_said_where_the_pool_answers_all_or_the_generator_fell_behind() -> None:
    assert (
        switch.waiting_sentence(
            switch.constant_rate_results([tried("open", opened(1.0), PLATFORM), tried("open", opened(1.0), VIRTUAL)])
        )
        == ""
    )
    late = opened(0.13, behind="too few workers")
    assert (
        switch.waiting_sentence(
            switch.constant_rate_results([tried("open", late, PLATFORM), tried("open", opened(1.0), VIRTUAL)])
        )
        == ""
    )


@pytest.mark.parametrize(
    ("value", "sd", "rejected", "said"),
    [
        (1.0, 0.1, False, "no clear difference.** With 10 connections and 10 ms to the database, queries "),
        (1.0, 0.1, False, "of threads: no clear difference (−12 to +14%)."),
        (1.0, 0.01, False, "the same.** "),
        (1.0, 0.01, False, "of threads: the same (within 5%)."),
        (1.5, 0.01, True, "virtual threads do more.** "),
        (1.5, 0.01, True, "of threads: 50% more (48–52%)."),
        (0.6, 0.01, True, "virtual threads do less.** "),
        (1.08, 0.02, False, "virtual threads probably do more.** "),
        (1.08, 0.02, False, "of threads: probably 8% more (5–11%)."),
    ],
)
def test_a_small_pool_is_said_to_be_the_same_only_within_5_percent(
    value: float, sd: float, rejected: bool, said: str
) -> None:
    ratio = from_error(math.log(value), sd, 3, 10)
    verdict = judge(OPS, ratio, rejected=rejected, family=1)
    assert said in switch.database_sentence(Comparison(OPS, ratio, verdict), 10, 10)


def hello(more: float, wobble: tuple[float, ...] = (1.0, 1.001, 0.999)) -> list[Pair]:
    records = [
        record(entry, round_number=n, cpu_s_per_million=20.0 * (w if entry == PLATFORM else more / w))
        for entry in (PLATFORM, VIRTUAL)
        for n, w in enumerate(wobble, 1)
    ]
    return compare([PLATFORM, VIRTUAL], records).of(Kind.MODEL)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (hello(1.5), "**Fast handlers: it costs CPU.** At 1,000 connections and no wait"),
        (hello(0.5), "**Fast handlers: it saves CPU.**"),
        (hello(1.1, (1.0, 1.5, 0.6)), "**Fast handlers: no clear difference.** At 1,000 connections and no wait"),
        (hello(1.0), "**Fast handlers: the same.** At 1,000 connections and no wait"),
    ],
)
def test_the_heading_of_fast_handlers_follows_from_the_verdicts(pairs: list[Pair], told: str) -> None:
    assert pairs[0].comparisons[CPU].ratio
    assert switch.fast_sentence(pairs).startswith(told)


def test_the_cheapest_held_connection_comes_first() -> None:
    costs = {
        entry: Cost(Interval(kb, kb, kb, 3), 1.0)
        for entry, kb in {"b:x": 75.0, "c:p": 9.0, "c:q": 60.0, "a:y": 8.1}.items()
    }
    assert switch.memory_sentence(costs).endswith(
        "A waiting request takes 8.1 kB in a:y, 9–60 kB in c and 75 kB in b:x."
    )
    assert switch.memory_sentence({}) == ""
