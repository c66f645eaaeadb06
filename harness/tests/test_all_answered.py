"""Tests of the single rule behind "all" in generated sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import record
from test_experiments import opened

from zoo.core.trial_results import OpenResult, Quantiles
from zoo.stats.all_answered import AnsweredShare, share_of_open, share_of_row
from zoo.stats.summary import Row, cells, rows


@pytest.mark.parametrize(
    ("results", "text"),
    [
        ([opened(1.0)], "all"),
        ([opened(0.99)], "all"),
        ([opened(0.989)], "99%"),
        ([opened(0.97)], "97%"),
        ([opened(1.0, p50_s=25.0, p99_s=31.4)], "all (half of them only after 25 s)"),
        ([opened(1.0, p99_s=4.5)], "all (1 in 100 of them only after 4.5 s)"),
        ([opened(1.0, p99_s=4.4)], "all"),
        ([opened(1.0), opened(0.5)], "50%"),
        ([opened(1.0), opened(1.0, p50_s=25.0)], "all (half of them only after 25 s)"),
    ],
)
def test_all_means_99_percent_in_time_in_every_round(results: list[OpenResult], text: str) -> None:
    seen = share_of_open(results)
    assert seen.text == text
    assert seen.complete == (text == "all")


def few(p50_s: float | None, p90_s: float | None) -> OpenResult:
    p50_us, p90_us = (None if s is None else round(1e6 * s) for s in (p50_s, p90_s))
    latency = Quantiles(p50_us=p50_us, p90_us=p90_us, p99_us=None, p999_us=None)
    return opened(1.0).model_copy(update={"latency": latency})


def test_of_few_requests_one_in_ten_stands_for_one_in_a_hundred() -> None:
    assert share_of_open([few(4.0, 4.1)]).complete
    assert share_of_open([few(4.0, 9.0)]).text == "all (1 in 10 of them only after 9 s)"


def test_so_few_requests_that_no_latency_is_known_are_not_called_all() -> None:
    seen = share_of_open([few(None, None)])
    assert not seen.complete
    assert seen.text == "all (too few to judge the time)"


def asleep(**changes: object) -> Row:
    (row,) = rows(cells([record("java-a:virtual", "1k", "sleep")]))
    return replace(row, **changes)  # type: ignore[arg-type]


def answered(row: Row) -> AnsweredShare:
    seen = share_of_row(row)
    assert seen is not None
    return seen


def test_connections_that_wait_are_all_answered_where_99_in_100_are_in_time() -> None:
    row = asleep()
    assert row.p99_us
    late = replace(row.p99_us, high=12_250_000.0)
    assert answered(row).complete
    assert not answered(replace(row, p99_us=late)).complete
    assert answered(replace(row, p99_us=late)).of(19_500) == "1 in 100 of 19,500 only after 12 s"


def test_of_few_connections_the_slowest_stands_for_one_in_a_hundred() -> None:
    row = asleep(p50_us=None, p99_us=None)
    assert row.max_us
    assert answered(row).complete
    slow = replace(row, max_us=replace(row.max_us, high=12_000_000.0))
    assert answered(slow).of(100) == "the slowest of 100 only after 12 s"


def test_an_emulated_host_records_no_latency_so_the_share_alone_counts() -> None:
    unknown = asleep(p50_us=None, p99_us=None, max_us=None)
    assert not answered(unknown).complete
    assert answered(replace(unknown, emulated=True)).complete


def test_where_nothing_waits_nothing_is_said_of_it() -> None:
    (row,) = rows(cells([record("java-a:virtual")]))
    assert share_of_row(row) is None
