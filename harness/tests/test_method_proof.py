"""Tests of the method on made-up records whose truth is known."""

from __future__ import annotations

import re
from collections.abc import Sequence

import builders
import numpy as np
import pytest
from builders import record

from zoo import ROOT
from zoo.core.blocks import Design
from zoo.core.entry_id import aa_id
from zoo.core.manifest_files import load_catalog
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report.text import comparisons, method
from zoo.stats import method_proof, student_ratio
from zoo.stats.method_proof import FalseAlarms, Width, count_alarms, power, short_runs, widths
from zoo.stats.metrics import CPU, METRICS, PER_CONNECTION, REQUESTS, Metric
from zoo.stats.pairs import Kind, RunPairs, compare

NATIVE, JVM = "rust-n:bare", "java-a:virtual"
PLAIN, SLOWED, UNCHANGED = "slowed:plain", "slowed:slowed", "slowed:unchanged"
METRICS_OF_HELLO = [m for m in METRICS if m is not PER_CONNECTION]


def noisy(
    entry: str, chance: np.random.Generator, rounds: int, sd: float = 0.02, rps: float = 50_000, tier: str = "1k"
) -> list[Record]:
    """Return records whose metrics vary independently."""

    def luck() -> float:
        return float(chance.lognormal(sigma=sd))

    return [
        record(
            entry,
            tier,
            round_number=number,
            rps=rps * luck(),
            cpu_s_per_million=20 * luck(),
            p99_us=round(4e6 * luck()),
            rss_peak_kb=round(8e7 * luck()),
        )
        for number in range(1, rounds + 1)
    ]


def twins(chance: np.random.Generator, rounds: int = 5, factor: float = 1.0) -> list[Record]:
    """Return a native and a JVM entry, each measured twice. With a factor other than 1, the two differ."""
    records = [r for e in (NATIVE, JVM) for r in noisy(e, chance, rounds)]
    return records + [r for e in (NATIVE, JVM) for r in noisy(aa_id(e), chance, rounds, rps=50_000 * factor)]


def again(chance: np.random.Generator, rounds: int = 5, factor: float = 1.0) -> RunPairs:
    return compare([NATIVE, JVM], twins(chance, rounds, factor))


# --- A/A


def test_false_differences_come_at_the_nominal_rate_over_all_metrics() -> None:
    chance = np.random.default_rng(1)
    found = [count_alarms([again(chance)]) for _ in range(100)]
    assert {a.intervals for a in found} == {2 * len(METRICS_OF_HELLO)}
    assert 0.03 < sum(a.outside for a in found) / sum(a.intervals for a in found) < 0.075
    assert sum(a.chance < 0.05 for a in found) <= 8
    assert sum(a.called for a in found) < sum(a.outside for a in found), "Holm's correction leaves fewer"


def test_a_method_that_sees_differences_where_none_are_is_caught() -> None:
    found = again(np.random.default_rng(2), factor=1.2)
    counted = count_alarms([found], REQUESTS)
    assert (counted.intervals, counted.outside, counted.called) == (2, 2, 2)
    assert count_alarms([found], CPU) == count_alarms([again(np.random.default_rng(2))], CPU), (
        "only req/s was made to differ"
    )


def test_the_chance_of_so_many_is_that_of_the_binomial_distribution() -> None:
    found = FalseAlarms(intervals=2, outside=1, called=0)
    assert found.chance == pytest.approx(1 - 0.95**2)
    assert found.nominal == pytest.approx(0.1)
    assert FalseAlarms(0, 0, 0).chance == 1


def test_the_counts_stand_in_a_table_with_their_sum() -> None:
    section = method.aa_section(builders.run([NATIVE, JVM], rounds=5), [again(np.random.default_rng(2), factor=1.2)])
    (table,) = section.tables
    assert [row[0] for row in table.rows] == [*(m.name for m in METRICS_OF_HELLO), "all"]
    columns = [[int(row[column]) for row in table.rows] for column in (1, 2, 4)]
    assert all(sum(column[:-1]) == column[-1] for column in columns)
    assert f"{table.rows[-1][2]} of {table.rows[-1][1]} intervals exclude 1" in section.paragraphs[0]


def test_each_three_rounds_of_a_long_run_are_a_run_of_their_own() -> None:
    records = twins(np.random.default_rng(4), rounds=10)
    runs = short_runs(builders.run([NATIVE, JVM], rounds=10), records)
    assert [{pair.rounds for pair in one.of(Kind.AA)} for one in runs] == [{3}, {3}, {3}]
    assert count_alarms(runs).intervals == 3 * 2 * len(METRICS_OF_HELLO)
    (whole,) = short_runs(builders.run([NATIVE, JVM], rounds=5), twins(np.random.default_rng(4)))
    assert {pair.rounds for pair in whole.of(Kind.AA)} == {5}


@pytest.mark.parametrize("metric", [REQUESTS, CPU])
def test_what_is_found_is_what_would_be_found_of_a_server_that_is_slower(metric: Metric) -> None:
    chance = np.random.default_rng(5)
    runs = [again(chance, rounds=3) for _ in range(200)]
    none, little, much = (power(runs, metric, "1k", change) for change in (0.0, 0.05, 0.5))
    assert none.tried == little.tried == 400
    assert none.alone < 0.05 * none.tried, "of equal servers one side's false alarms are found"
    assert none.alone < little.alone < much.alone == much.called == much.tried
    assert little.called < little.alone, "Holm's correction finds fewer"


def test_a_change_is_found_as_often_as_in_servers_that_have_it() -> None:
    chance = np.random.default_rng(6)
    moved = power([again(chance, rounds=3) for _ in range(300)], REQUESTS, "1k", 0.05)
    slower = [again(chance, rounds=3, factor=0.95) for _ in range(300)]
    found = [
        c.ratio.high < 1
        for one in slower
        for pair in one.of(Kind.AA)
        for c in [pair.comparisons[REQUESTS]]
        if c.ratio and c.ratio.high
    ]
    assert moved.alone / moved.tried == pytest.approx(sum(found) / len(found), abs=0.08)


def test_power_stands_in_a_table_by_metric_and_load() -> None:
    run = builders.run([NATIVE, JVM], rounds=6)  # with tiers at which nothing was measured
    section = method.power_section(run, short_runs(run, twins(np.random.default_rng(7), rounds=6)))
    (table,) = section.tables
    assert [tuple(row[:2]) for row in table.rows] == [(m.name, "1k") for m in (REQUESTS, CPU)]
    assert table.rows[0][-1] == "4 of 4 (4)"


def test_the_noise_between_processes_is_found_where_windows_have_none() -> None:
    (table,) = method.noise_section(again(np.random.default_rng(8), rounds=400).pairs).tables
    for row in table.rows:
        between = float(row[4].removesuffix("%")) / 100
        assert row[1:4] == ["1k", "400", "0.0%"], "a made-up record has one window"
        assert between == pytest.approx(0.02 * np.sqrt(2), rel=0.15)
        assert row[5] == f"±{100 * np.expm1(1.966 * between / 20):.1f}%"
    assert [row[0] for row in table.rows] == [f"{e}, measured twice" for e in (JVM, NATIVE)]


# --- a known slowdown


def slowed(factors: Sequence[float]) -> RunPairs:
    """Compare requests per second of the plain, the slowed and the unchanged server, multiplied by these factors."""
    chance = np.random.default_rng(3)
    entries = (PLAIN, SLOWED, UNCHANGED)
    records = [
        r for e, factor in zip(entries, factors, strict=True) for r in noisy(e, chance, 8, 0.01, 10_000 * factor)
    ]
    return compare(entries, records)


def test_a_slowdown_of_5_percent_is_found_and_none_where_there_is_none() -> None:
    found = slowed((1, 1 / 1.05, 1))
    (table,) = comparisons.verdict_section(Kind.VARIANT, found.of(Kind.VARIANT), 8).tables
    assert [row[0] for row in table.rows] == [f"{SLOWED} ÷ plain", f"{UNCHANGED} ÷ plain"]
    assert re.match(r"5% slower \(\d–\d%\)", table.rows[0][4])
    assert not re.match(r"slower|faster", table.rows[1][4])


# --- designs


def timed(design: Design, minutes: int, rounds: int) -> Run:
    run = builders.run([JVM, "java-a:platform"], ["hello"], ["100"], rounds)
    finished = f"2026-01-02T03:{4 + minutes:02}:05+00:00"
    planned = run.plan.model_copy(update={"design": design.value})
    return run.model_copy(update={"plan": planned, "finished_at": finished})


def test_a_design_is_worth_its_width_at_equal_time() -> None:
    ratio = student_ratio([0.1, 0.0, -0.1])
    assert ratio.sd_log is not None
    width = Width(JVM, "java-a:platform", "turns", REQUESTS, rounds=3, minutes=6.0, pair=ratio, again=ratio)
    assert width.sd_log == pytest.approx(ratio.sd_log)
    # The same time gives the original interval around its middle. Ten times as long uses t(.975, 29) = 2.045230.
    assert width.half_width(6.0) == pytest.approx((ratio.high or 0) / ratio.value - 1)
    assert np.log1p(width.half_width(60.0)) == pytest.approx(2.045230 * ratio.sd_log / np.sqrt(30), rel=1e-5)


def test_a_run_gives_the_width_of_its_pair_and_what_its_a_a_said() -> None:
    chance = np.random.default_rng(4)
    entries = ["java-a:platform", JVM]
    records = [r for e in (*entries, aa_id(JVM)) for r in noisy(e, chance, 4, tier="100")]
    found = widths(timed(Design.PARALLEL, 5, 4), compare(entries, records))
    assert [(w.a, w.b, w.design, w.metric, w.rounds, w.minutes) for w in found] == [
        (JVM, "java-a:platform", "parallel", REQUESTS, 4, 5.0),
        (JVM, "java-a:platform", "parallel", CPU, 4, 5.0),
    ]
    (table,) = method.design_section(found).tables
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert all(("leaves out 1" in row[-1]) == bool(w.again.differs) for row, w in zip(table.rows, found, strict=True))


def test_the_designs_are_summed_up() -> None:
    narrow, wide = student_ratio([0.01, 0.0, -0.01]), student_ratio([0.1, 0.0, -0.1])
    off = student_ratio([0.18, 0.19, 0.17])
    found = [
        Width(JVM, "java-a:platform", design, metric, rounds=3, minutes=5.0, pair=pair, again=again)
        for metric in (REQUESTS, CPU)
        for design, pair, again in (("rounds", wide, off), ("turns", narrow, narrow))
    ]
    assert method.design_section(found).paragraphs[-1] == (
        "Narrowest after one hour: rounds in 0 of 2, turns in 2 of 2. "
        "A/A intervals that exclude 1: rounds 2 of 2, turns 0 of 2."
    )


def test_a_run_that_has_not_ended_took_no_time_that_is_known() -> None:
    with pytest.raises(ValueError, match="has not ended"):
        method_proof.run_minutes(builders.run())


def test_the_fixture_has_the_variants_that_the_proof_speaks_of() -> None:
    catalog = load_catalog(ROOT, ROOT / "harness/tests/fixtures/slowed")
    assert [e.id for e in catalog.entries if e.server.guest] == [PLAIN, SLOWED, UNCHANGED]
    assert [e.variant.env for e in catalog.entries if e.server.guest] == [{}, {"SLOWDOWN": "0.05"}, {}]
