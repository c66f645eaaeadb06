"""Tests of validity and analysis: what an expert would say about the figures."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest
from builders import measurement, record
from hypothesis import given
from hypothesis import strategies as st

from zoo.bench.readings import Readings, latency
from zoo.core.entry_id import aa_id
from zoo.core.flag import Flag
from zoo.core.histogram import Histogram
from zoo.core.manifest import Model
from zoo.core.record import Record
from zoo.core.samples import Samples
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot
from zoo.stats import flags, lower_bound
from zoo.stats.flags import ALL_OPEN
from zoo.stats.memory_per_request import slopes
from zoo.stats.metrics import served_each_wait
from zoo.stats.summary import cells, rows, spread

PLATFORM, VIRTUAL, BARE = "java-a:platform", "java-a:virtual", "rust-n:bare"


# --- Little's law


def closed_loop(connections: int, latency_s: float, runtime_s: float, servers: int | None = None) -> tuple[int, float]:
    """Return the number of responses within the window and their mean latency.

    Each connection sends its next request when its response arrives. `servers` limits how many requests are processed
    at once, first come, first served. Responses after the end of the window do not count.
    """
    free = [0.0] * min(servers or connections, connections)
    asking = [0.0] * connections
    done, total = 0, 0.0
    while True:
        asked, begun = heapq.heappop(asking), heapq.heappop(free)
        answered = max(asked, begun) + latency_s
        if answered > runtime_s:
            return done, total / done if done else 0.0
        done, total = done + 1, total + answered - asked
        heapq.heappush(asking, answered)
        heapq.heappush(free, answered)


@pytest.mark.parametrize(("latency_s", "delay_s"), [(10.002, 10), (10.3, 10), (2.01, 2)])
@pytest.mark.parametrize("cycles", [1.1, 2.5])
def test_a_window_that_cuts_a_cycle_off_still_adds_up(latency_s: float, delay_s: float, cycles: float) -> None:
    runtime_s = delay_s * cycles
    goodput, mean_s = closed_loop(500, latency_s, runtime_s)
    assert flags.served_share(goodput, mean_s, 500, runtime_s) == pytest.approx(1, abs=0.05)


def test_a_busy_closed_loop_adds_up() -> None:
    goodput, mean_s = closed_loop(100, 0.005, 8.0)
    assert flags.littles_law(goodput, mean_s, 100, 8.0) == pytest.approx(1, abs=0.01)


def test_connections_that_were_never_opened_are_missed() -> None:
    goodput, mean_s = closed_loop(9_000, 10.01, 25)
    assert flags.littles_law(goodput, mean_s, 25_000, 25) == pytest.approx(0.29, abs=0.01)
    assert flags.served_share(goodput, mean_s, 25_000, 25) == pytest.approx(0.36, abs=0.01)


def test_a_burst_that_is_taken_up_over_seconds_is_served_all_the_same() -> None:
    # 1,000 connections per second get their first response 10 s after they are accepted, the second 10 s later
    answers = [(start + 10, 10 + start) for start in (0, 1, 2)] + [(start + 20, 10) for start in (0, 1, 2)]
    done = [latency for at, latency in answers if at <= 26.5]
    mean_s = sum(done) / len(done)
    assert flags.served_share(len(done) * 1_000, mean_s, 3_000, 26.5) == pytest.approx(1)


def test_a_pool_shorter_than_its_queue_is_missed() -> None:
    goodput, mean_s = closed_loop(1_000, 10.0, 25, servers=200)
    assert flags.served_share(goodput, mean_s, 1_000, 25) < 0.9


@pytest.mark.parametrize("runtime_s", [11.1, 25.0, 37.1])
def test_of_a_pool_so_many_are_answered_in_each_wait_as_it_has_threads(runtime_s: float) -> None:
    goodput, mean_s = closed_loop(1_000, 10.0, runtime_s, servers=200)
    seen = record(PLATFORM, "1k", "sleep").measurement
    assert seen is not None
    latency = seen.load.latency.model_copy(update={"mean_us": mean_s * 1e6})
    load = seen.load.model_copy(update={"goodput": goodput, "runtime_s": runtime_s, "latency": latency})
    assert served_each_wait(seen.model_copy(update={"load": load})) == pytest.approx(0.2)


def test_no_answer_is_no_division_by_zero() -> None:
    assert flags.littles_law(0, 0.0, 100, 8) == 0
    assert flags.littles_law(5, 0.1, 100, 0) == 0
    assert flags.served_share(0, 0.0, 100, 8) == 0


# --- connecting


@pytest.mark.parametrize(
    ("established", "seconds"),
    [
        ([10, 10_010, 20_010, 20_010], 2 * ALL_OPEN),  # both ends, next to the 10 that existed before
        ([10, 8_010, 16_010, 20_010], 2.5 * ALL_OPEN),  # 8,000 per second
        ([10, 2_010, 4_010, 20_010], 3.0),  # faster than before, so at the latest when it was observed
        ([10, 20_010], 1.0),
        ([10, None, 20_010], 2.0),
        ([10, 19_000, 19_000], None),
        ([10, 20_000, 20_000], 1.0),  # a few may be missing
        ([None, None], None),
        ([], None),
    ],
)
def test_the_time_until_all_connections_are_open(established: list[int | None], seconds: float | None) -> None:
    times = [float(t) for t in range(len(established))]
    found = flags.connect_seconds(times, established, 10_000)
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_only_a_pool_of_platform_threads_has_a_ceiling() -> None:
    assert flags.pool_ceiling(Model.PLATFORM_THREAD, 200, 10) == 20
    assert flags.pool_ceiling(Model.PLATFORM_THREAD, None, 10) is None
    assert flags.pool_ceiling(Model.PLATFORM_THREAD, 200, 0) is None
    assert flags.pool_ceiling(Model.VIRTUAL_THREAD, 200, 10) is None
    assert flags.pool_ceiling(Model.ASYNC_SERVLET, 200, 10) is None


# --- flags

SOUND = measurement()


def flags_with(
    *, work_s: float = 0.0, processors: int | None = None, cut_short: bool = False, **changes: object
) -> list[Flag]:
    """Return the flags of SOUND with other values for some of its parts."""
    parts: dict[str, Any] = {"errors": SOUND.load.errors}
    parts |= {name: getattr(SOUND, name) for name in ("connections", "load", "work", "noise", "warmup", "kernel")}
    for name, value in changes.items():
        part = next(part for part, model in parts.items() if name in type(model).model_fields)
        parts[part] = parts[part].model_copy(update={name: value})
    parts["load"] = parts["load"].model_copy(update={"errors": parts.pop("errors")})
    return flags.find_flags(SOUND.model_copy(update=parts), work_s=work_s, processors=processors, cut_short=cut_short)


def test_a_sound_cell_has_no_flag() -> None:
    assert flags_with() == []


@pytest.mark.parametrize(
    ("flag", "raised", "just_not"),
    [
        (Flag.CLAMPED, {"limited_by": "nofile"}, {"limited_by": None}),
        (Flag.GENERATOR_SATURATED, {"busiest_thread": 0.901}, {"busiest_thread": 0.90}),
        (Flag.SHARED_CORES, {"busy_share": 0.901}, {"busy_share": 0.8999}),
        (Flag.STARVED, {"little": 0.899}, {"little": 0.90}),
        (Flag.STARVED, {"served": 0.899, "delay_s": 10.0}, {"served": 0.90, "little": 0.5, "delay_s": 10.0}),
        (Flag.LITTLE_HIGH, {"little": 1.101}, {"little": 1.10}),
        (Flag.POOL_CEILING, {"delay_s": 10.0, "ceiling_rps": 99.9}, {"delay_s": 10.0, "ceiling_rps": 100.0}),
        (Flag.NOT_ESTABLISHED, {"established": 979}, {"established": 980}),
        (Flag.SLOW_CONNECT, {"cut_short": True}, {"cut_short": False}),
        (Flag.LISTEN_DROPS, {"listen_drops": 1}, {"listen_overflows": 1}),
        (Flag.WARMUP_SHORT, {"reached": False}, {"reached": None}),
        (Flag.FOREIGN_CPU, {"foreign_share": 0.031}, {"foreign_share": 0.03}),
        (Flag.THROTTLED, {"throttled_share": 0.011}, {"throttled_share": 0.01}),
        (Flag.THROTTLED, {"throttled_share": 0.011, "processors": 2, "cpu_s": 8.0}, {"throttled_share": None}),
        (Flag.THROTTLED, {"throttled_share": 0.011, "delay_s": 10.0}, {"throttled_share": 0.0, "delay_s": 10.0}),
        (Flag.STOLEN, {"steal_share": 0.031}, {"steal_share": 0.03}),
        (Flag.SOCKETS_LINGER, {"lingering": 5_001}, {"lingering": 5_000}),
        (Flag.LEFT_OPEN, {"left_open": 21}, {"left_open": 20}),
        (Flag.BAD_ANSWERS, {"status": 1}, {"status": 0}),
        (
            Flag.RECONNECTS,
            {"reopened": 51, "requests": 10_000, "lingering": 9_000},
            {"reopened": 50, "requests": 10_000},
        ),
        (Flag.RECONNECTS, {"reopened": 11, "requests": 1_000}, {"reopened": 10, "requests": 1_000}),
        (Flag.RECONNECTS, {"reopened": 11, "requests": 100, "actual": 100}, {"reopened": 10, "requests": 100}),
        (
            Flag.LITTLE_WORK,
            {"work_s": 0.005, "cpu_s_per_million": 2_499.0},
            {"work_s": 0.005, "cpu_s_per_million": 2_500.0},
        ),
        (Flag.BAD_ANSWERS, {"read": 1}, {"read": 0}),
        (Flag.BAD_ANSWERS, {"write": 1}, {"write": 0}),
        (Flag.BAD_ANSWERS, {"timeout": 1}, {"timeout": 0}),
    ],
)
def test_a_flag_is_raised_beyond_its_bound_and_not_at_it(
    flag: Flag, raised: dict[str, Any], just_not: dict[str, Any]
) -> None:
    assert flags_with(**raised) == [flag]
    assert flags_with(**just_not) == []


def test_what_is_unknown_raises_no_flag() -> None:
    assert flags_with(established=None, lingering=None, left_open=None) == []
    assert flags_with(foreign_share=None) == []
    assert flags_with(work_s=0.005, cpu_s_per_million=None) == []
    unknown = SOUND.model_copy(update={"kernel": None})
    assert flags.find_flags(unknown, work_s=0.0, processors=None, cut_short=False) == []


def test_a_cell_that_waits_is_not_limited_by_cores_nor_by_its_warm_up() -> None:
    assert flags_with(delay_s=10.0, busiest_thread=0.99, busy_share=1.0, reached=False) == []


def test_a_generator_with_cores_of_its_own_shares_none_and_may_use_them_up() -> None:
    assert flags_with(processors=2, cpu_s=8.0, busy_share=1.0) == []
    assert flags_with(processors=2, cpu_s=15.2) == [Flag.GENERATOR_SATURATED]


def test_a_pool_at_its_ceiling_is_not_called_starved() -> None:
    assert flags_with(delay_s=10.0, served=0.2, ceiling_rps=20.0) == [Flag.POOL_CEILING]


def test_flags_come_in_one_order() -> None:
    seen = flags_with(limited_by="nofile", status=1, foreign_share=0.5, busy_share=1.0)
    assert seen == [f for f in Flag if f in seen]
    assert len(seen) == 4


def test_every_flag_says_what_it_means() -> None:
    assert len({flag.text for flag in Flag}) == len(Flag)


# --- figures


def test_a_quantile_without_100_samples_beyond_it_is_not_given() -> None:
    ladder = latency(Histogram.from_pairs([[us, 1] for us in range(1, 10_001)]))
    assert (ladder.p50_us, ladder.p90_us, ladder.p99_us, ladder.p999_us) == (5_000, 9_000, 9_900, None)
    assert ladder.mean_us == pytest.approx(5_000.5)
    few = latency(Histogram.from_pairs([[10, 100]]))
    assert (few.samples, few.p50_us, few.max_us) == (100, None, 10)


def test_kernel_counters_are_those_of_the_window() -> None:
    before = TcpCounters(listen_overflows=5, listen_drops=7, req_q_full_drop=0, req_q_full_cookies=1)
    after = TcpCounters(listen_overflows=6, listen_drops=10, req_q_full_drop=0, req_q_full_cookies=1)
    counted = Readings(None, None, counters_before=before, counters=after).kernel
    assert counted is not None
    assert (counted.listen_overflows, counted.listen_drops, counted.req_q_full_cookies) == (1, 3, 0)
    assert Readings(None, None, counters=after).kernel is None


def test_the_peak_is_the_highest_seen_by_any_reading() -> None:
    samples = Samples(
        hz=5,
        elapsed_s=8,
        own_cpu_s=0,
        vanished=False,
        t=[0, 1],
        rss_kb=[100, 300],
        cpu_s=[0, 1],
        threads=[10, 12],
        established=[None, None],
        tcp_mem_kb=[None, 64],
        runnable=[None, None],
    )
    before = Snapshot(processes=1, rss_kb=90, cpu_s=1, threads=11)
    after = Snapshot(processes=1, rss_kb=310, cpu_s=3, threads=11)
    readings = Readings(None, before, after=after)
    memory = readings.memory(80, samples)
    assert memory is not None
    assert (memory.rss_idle_kb, memory.rss_peak_kb, memory.socket_peak_kb, memory.heap_used_kb) == (80, 310, 64, None)
    work = readings.work(2.0, 0, samples)
    assert work is not None
    assert work.threads_peak == 12
    assert work.cpu_s_per_million is None  # there was no response
    assert work.voluntary_switches is None  # nothing sampled the threads


# --- rows


def test_a_row_has_median_and_range_over_rounds() -> None:
    made = rows(cells([record(BARE, round_number=n, rps=rps) for n, rps in enumerate([300.0, 100.0, 110.0], 1)]))
    assert len(made) == 1
    rps = made[0].rps
    assert rps is not None
    assert (rps.median, rps.low, rps.high, rps.rounds) == (110, 100, 300, 3)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), max_size=9))
def test_a_spread_is_of_what_is_known(values: list[float | None]) -> None:
    known = sorted(v for v in values if v is not None)
    found = spread(values)
    if not known:
        assert found is None
        return
    assert found is not None
    assert (found.low, found.high, found.rounds) == (known[0], known[-1], len(known))
    assert found.low <= found.median <= found.high
    assert sum(v <= found.median for v in known) * 2 >= len(known)


def test_rows_come_by_scenario_size_and_entry() -> None:
    keys = [(BARE, "25k", "sleep"), (VIRTUAL, "100", "hello"), (BARE, "25k", "hello"), (BARE, "100", "hello")]
    made = rows(cells([*(record(*key) for key in keys), record(PLATFORM, "1k", "hello", failure="gone")]))
    assert [(r.entry, r.tier, r.scenario) for r in made] == [
        (VIRTUAL, "100", "hello"),
        (BARE, "100", "hello"),
        (PLATFORM, "1k", "hello"),
        (BARE, "25k", "hello"),
        (BARE, "25k", "sleep"),
    ]


def test_a_cell_that_failed_in_every_round_has_no_figures_but_its_reasons() -> None:
    row = rows(cells([record(BARE, "25k", round_number=n, failure=f"reason {n}") for n in (1, 2)]))[0]
    assert (row.measured, row.failures, row.requested) == (0, ["reason 1", "reason 2"], 25_000)
    assert (row.actual, row.rps, row.held, row.lower_bound) == (None, None, False, False)


def test_a_cell_that_failed_once_has_the_figures_of_the_other_rounds() -> None:
    row = rows(
        cells([record(BARE, rps=10.0), record(BARE, round_number=2, failure="gone"), record(BARE, round_number=3)])
    )[0]
    assert (row.measured, row.failures) == (2, ["gone"])
    assert row.rps is not None
    assert row.rps.rounds == 2


def test_the_record_written_last_wins() -> None:
    row = rows(cells([record(BARE, failure="gone"), record(BARE, rps=42.0)]))[0]
    assert (row.measured, row.failures) == (1, [])
    assert row.rps is not None
    assert row.rps.median == 42


def test_errors_are_added_up_and_flags_counted_by_round() -> None:
    bad: dict[str, Any] = {"status_errors": 7, "flags": [Flag.BAD_ANSWERS]}
    row = rows(cells([record(BARE, **bad), record(BARE, round_number=2, **bad), record(BARE, round_number=3)]))[0]
    assert row.errors == 14
    assert row.flags == [(Flag.BAD_ANSWERS, 2)]
    assert not row.lower_bound


@pytest.mark.parametrize("flag", [Flag.GENERATOR_SATURATED, Flag.SHARED_CORES, Flag.THROTTLED])
def test_a_throughput_that_the_server_did_not_limit_is_a_lower_bound(flag: Flag) -> None:
    assert rows(cells([record(BARE, flags=[flag])]))[0].lower_bound


S, G, N = Flag.SHARED_CORES, Flag.GENERATOR_SATURATED, Flag.NEAR_REFERENCE


@pytest.mark.parametrize(
    ("rounds", "limits"),
    [
        ([], set()),
        ([[S], [], []], set()),
        ([[S], []], {S}),
        ([[S], [S], [N]], {S}),
        ([[S, G], [S], [N]], {S, G, N}),
        ([[S], [G], [], []], {S, G}),
        ([[Flag.FOREIGN_CPU]] * 3, set()),
    ],
)
def test_half_of_the_rounds_make_a_lower_bound(rounds: list[list[Flag]], limits: set[Flag]) -> None:
    assert lower_bound.limiting_flags(rounds) == limits


def test_a_cell_is_a_lower_bound_when_half_of_its_rounds_are() -> None:
    records = [record(BARE, round_number=n, flags=[S] if n in (1, 2) else []) for n in range(1, 6)]
    assert rows(cells(records))[0].limits == set()
    assert rows(cells(records[:4]))[0].limits == {S}


def test_a_throughput_near_the_bare_reference_of_its_round_is_a_lower_bound() -> None:
    records = [
        *(record(BARE, round_number=n, rps=rps) for n, rps in [(1, 100.0), (2, 200.0)]),
        *(record(VIRTUAL, round_number=n, rps=rps) for n, rps in [(1, 90.0), (2, 179.0)]),
    ]
    by_entry = {r.entry: r for r in rows(cells(records, reference=BARE))}
    assert by_entry[VIRTUAL].flags == [(Flag.NEAR_REFERENCE, 1)]
    assert by_entry[VIRTUAL].lower_bound
    assert by_entry[BARE].flags == []
    assert all(not r.flags for r in rows(cells(records)))


def test_nothing_is_near_a_reference_that_was_not_measured_nor_where_requests_wait() -> None:
    assert rows(cells([record(VIRTUAL), record(BARE, failure="gone")], reference=BARE))[0].flags == []
    waiting = [record(VIRTUAL, scenario="sleep"), record(BARE, scenario="sleep")]
    assert [r.flags for r in rows(cells(waiting, reference=BARE))] == [[], []]


# --- memory per waiting request

COUNTS = {"100": 100, "1k": 1_000, "25k": 19_500}


def holding(kb: float, round_number: int = 1, **changes: dict[str, Any]) -> list[Record]:
    """Return one round of a sleep block whose server takes exactly `kb` kB per connection. `changes` are by tier."""
    made, before = [], 60_000
    for tier, count in COUNTS.items():
        peak = 60_000 + round(kb * count)
        more: dict[str, Any] = {"actual": count, "rss_before_kb": before, "rss_peak_kb": peak}
        made.append(record(VIRTUAL, tier, "sleep", round_number, **(more | changes.get(f"at_{tier}", {}))))
        before = peak
    return made


@pytest.mark.parametrize("kb", [0.5, 14.0, 150.0])
def test_the_cost_of_a_connection_is_the_slope_not_the_total(kb: float) -> None:
    for row in rows(cells([*holding(kb, 1), *holding(kb, 2)])):
        assert row.held
        assert row.kb_per_connection is not None
        assert row.kb_per_connection.value == pytest.approx(kb, rel=0.05)
        assert row.kb_per_connection.n == 2


def test_the_process_at_rest_counts_as_no_connection() -> None:
    peaks = {"100": 70_000, "1k": 80_000, "25k": 350_000}
    changes: dict[str, Any] = {f"at_{tier}": {"rss_peak_kb": kb, "rss_before_kb": 60_000} for tier, kb in peaks.items()}
    [(found,)] = (each.values() for each in slopes(holding(14, **changes)).values())
    expected = np.polyfit([0, *COUNTS.values()], [60_000, *peaks.values()], 1)[0]
    assert found.kb == pytest.approx(expected)


def test_at_rest_is_before_the_fewest_whatever_a_server_gives_back_later() -> None:
    given_back = holding(14, at_25k={"rss_before_kb": 20_000})
    assert slopes(given_back) == slopes(holding(14))


@pytest.mark.parametrize("flag", [Flag.STARVED, Flag.POOL_CEILING, Flag.NOT_ESTABLISHED, Flag.BAD_ANSWERS])
def test_what_was_not_held_has_no_cost(flag: Flag) -> None:
    made = rows(cells(holding(14, at_25k={"flags": [flag]})))
    assert [r.held for r in made] == [True, True, False]
    assert [r.kb_per_connection for r in made] == [None] * 3


@pytest.mark.parametrize(("threads", "held"), [(9_493, False), (19_540, True)])
def test_a_pool_that_came_to_fewer_threads_than_requests_did_not_hold_them(threads: int, held: bool) -> None:
    made = rows(cells(holding(14, at_25k={"ceiling_rps": 2_550.0, "threads_peak": threads})))
    assert [r.held for r in made] == [True, True, held]


def test_a_round_in_which_a_tier_failed_has_no_slope_and_the_others_count() -> None:
    failed = [*holding(14, 1)[:2], record(VIRTUAL, "25k", "sleep", 1, failure="gone")]
    [found] = slopes([*failed, *holding(20, 2)]).values()
    assert {number: each.kb for number, each in found.items()} == {2: pytest.approx(20, rel=0.05)}


def test_a_clamped_tier_is_held_at_its_own_count() -> None:
    made = rows(cells(holding(14, at_25k={"flags": [Flag.CLAMPED], "limited_by": "nofile"})))
    assert made[2].held
    assert made[2].kb_per_connection is not None


@pytest.mark.parametrize("made", [holding(14)[:2], holding(14, at_25k={"actual": 1_000})])
def test_two_counts_are_too_few_for_a_slope(made: list[Record]) -> None:
    assert slopes(made) == {}


def test_cells_that_do_not_wait_hold_nothing() -> None:
    made = rows(cells([record(VIRTUAL, tier) for tier in COUNTS]))
    assert [r.held for r in made] == [False] * 3
    assert [r.kb_per_connection for r in made] == [None] * 3


# --- an outlying round


def test_a_round_that_stands_apart_is_named_and_kept() -> None:
    rps = [50_000.0, 50_400.0, 49_700.0, 20_000.0, 50_100.0, 49_900.0]
    row = rows(cells([record(BARE, round_number=n, rps=value) for n, value in enumerate(rps, 1)]))[0]
    assert row.outliers == [("req/s", 4)]
    assert row.rps is not None
    assert (row.rps.low, row.rps.rounds) == (20_000, 6)
    assert (
        rows(cells([record(BARE, round_number=n, rps=value) for n, value in enumerate(rps[:4], 1)]))[0].outliers == []
    )


def test_the_second_measurement_of_an_entry_is_a_row_of_its_own() -> None:
    first, second = rows(cells([record(BARE), record(aa_id(BARE))], reference=BARE))
    assert (first.again, second.again) == (False, True)
    assert second.flags == []  # a reference is not flagged as close to itself
