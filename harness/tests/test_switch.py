"""What the README's first screen says follows from the figures, its headings too."""

from __future__ import annotations

import math

import pytest
from builders import record
from test_experiments import opened, tried

from zoo.analysis.held import Cost
from zoo.analysis.metrics import CPU
from zoo.analysis.pairs import Comparison, Kind, Pair, compare
from zoo.analysis.stats.interval import Interval
from zoo.analysis.stats.ratio import from_error
from zoo.analysis.verdict import judge
from zoo.jdbc.pairs import OPS
from zoo.report.text import switch

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"


def test_a_pool_that_leaves_requests_unanswered_is_told_with_its_share() -> None:
    told = switch.waiting([tried("open", opened(0.13), PLATFORM), tried("open", opened(1.0), VIRTUAL)])
    assert told.startswith("**Requests that wait: yes.** At 400 requests a second that wait 4 s each")
    assert "answers 13 % in java-a; virtual threads answer all." in told


def test_nothing_is_said_where_the_pool_answers_all_or_the_generator_fell_behind() -> None:
    assert switch.waiting([tried("open", opened(1.0), PLATFORM), tried("open", opened(1.0), VIRTUAL)]) == ""
    late = opened(0.13, behind="too few workers")
    assert switch.waiting([tried("open", late, PLATFORM), tried("open", opened(1.0), VIRTUAL)]) == ""


@pytest.mark.parametrize(
    ("value", "sd", "heading"),
    [(1.0, 0.1, "no difference seen"), (1.5, 0.01, "virtual threads do more"), (0.6, 0.01, "virtual threads do less")],
)
def test_the_heading_of_databases_follows_from_the_verdict(value: float, sd: float, heading: str) -> None:
    ratio = from_error(math.log(value), sd, 3, 10, 0.95)
    verdict = judge(OPS, ratio, rejected=abs(math.log(value)) > 0.2, family=1)
    assert f"database pool: {heading}.**" in switch.database(Comparison(OPS, ratio, verdict), 10, 10)


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
        (hello(1.1, (1.0, 1.5, 0.6)), "**Fast handlers: not decided.** At 1,000 connections and no wait"),
    ],
)
def test_the_heading_of_fast_handlers_follows_from_the_verdicts(pairs: list[Pair], told: str) -> None:
    assert pairs[0].comparisons[CPU].ratio
    assert switch.fast(pairs).startswith(told)


def test_the_cheapest_held_connection_comes_first() -> None:
    costs = {
        entry: Cost(Interval(kb, kb, kb, 3), 1.0)
        for entry, kb in {"b:x": 75.0, "c:p": 9.0, "c:q": 60.0, "a:y": 8.1}.items()
    }
    assert switch.held(costs).endswith("One that waits takes 8.1 kB in a:y, 9–60 kB in c and 75 kB in b:x.")
    assert switch.held({}) == ""
