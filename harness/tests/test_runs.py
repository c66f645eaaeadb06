"""Tests that compare two runs: what may differ between them, what may not, and the text about their cells."""

from __future__ import annotations

from typing import Any

import builders
import pytest
from builders import record

from zoo.core.entry_id import aa_id
from zoo.core.record import PROTOCOL, Record
from zoo.core.run import Program, Run
from zoo.stats.metrics import CPU, REQUESTS, Word
from zoo.stats.two_runs import compare_runs, find_slower

VIRTUAL, BARE = "java-a:virtual", "rust-n:bare"


def made(name: str = "first", **changes: Any) -> Run:  # noqa: ANN401 (fields of a run)
    return builders.run([VIRTUAL, BARE]).model_copy(update={"id": name, **changes})


def cells(entry: str, *rps: float, **changes: Any) -> list[Record]:  # noqa: ANN401 (what record() takes)
    return [record(entry, round_number=n, rps=value, **changes) for n, value in enumerate(rps, 1)]


BEFORE = cells(VIRTUAL, 100.0, 101.0, 99.0, 100.5)
SLOWED = cells(VIRTUAL, 90.0, 91.0, 89.5)


def test_the_second_run_is_held_against_the_first_without_pairing_rounds() -> None:
    found = compare_runs(made(), BEFORE, made("second"), SLOWED)
    (pair,) = found.pairs
    comparison = pair.comparisons[REQUESTS]
    assert (found.obstacles, found.changes, pair.rounds) == ([], [], 3)
    assert comparison.ratio is not None
    assert comparison.ratio.value == pytest.approx(90.1667 / 100.125, rel=1e-4)
    assert comparison.ratio.sd_log is None
    assert comparison.verdict.word is Word.SLOWER
    assert pair.comparisons[CPU].verdict.word is Word.SAME


def test_only_cells_of_both_are_compared_and_no_twins() -> None:
    after = [*SLOWED, *cells(BARE, 1.0, 2.0), *cells(aa_id(VIRTUAL), 90.0)]
    found = compare_runs(made(), [*BEFORE, *cells(aa_id(VIRTUAL), 90.0)], made("second"), after)
    assert [p.a for p in found.pairs] == [VIRTUAL]
    assert compare_runs(made(), BEFORE, made("second"), cells(BARE, 1.0)).obstacles == [
        "the runs have no cell in common"
    ]


def test_one_round_is_open_and_a_failed_side_is_named_with_its_run() -> None:
    (pair,) = compare_runs(made(), BEFORE, made("second"), cells(VIRTUAL, 50.0)).pairs
    assert pair.comparisons[REQUESTS].verdict.text == "no clear difference (one round has no interval)"
    (pair,) = compare_runs(made(), cells(VIRTUAL, 1.0, 100.0, 50.0), made("second"), BEFORE).pairs
    assert pair.comparisons[REQUESTS].verdict.why == "figures that vary so much have no interval"
    (pair,) = compare_runs(made(), BEFORE, made("second"), [record(VIRTUAL, failure="gone")]).pairs
    assert pair.comparisons[REQUESTS].verdict.text == f"not measured ({VIRTUAL} in second: gone)"


def test_what_may_differ_is_told_and_what_may_not_is_an_obstacle() -> None:
    before = made()
    plan = before.plan
    jdk = plan.model_copy(update={"condition": plan.condition.model_copy(update={"jdk": "21.0.9"})})
    found = compare_runs(before, BEFORE, made("second", plan=jdk, commit="fedcba9876543210"), BEFORE)
    assert found.obstacles == []
    assert found.changes == ["commit: 0123456789ab → fedcba987654", "JDK: 25.0.1 → 21.0.9"]
    host = before.host.model_copy(update={"cpu_model": "Other CPU"})
    other = compare_runs(before, BEFORE, made("second", protocol=PROTOCOL - 1, host=host), BEFORE)
    assert other.obstacles == [f"protocol: {PROTOCOL} → {PROTOCOL - 1}", "processor: Some CPU → Other CPU"]
    times = plan.model_copy(update={"profile": {"sleep_delay_s": 2.0}})
    assert compare_runs(before, BEFORE, made("second", plan=times), BEFORE).obstacles == [
        "time sleep_delay_s: 10.0 → 2.0"
    ]
    turned = [plan.model_copy(update={"profile": {**plan.profile, "turn_s": seconds}}) for seconds in (1.0, 60.0)]
    told = [compare_runs(before, BEFORE, made("second", plan=each), BEFORE).obstacles for each in turned]
    assert told == [[], ["time turn_s: 1.0 → 60.0"]], "turns of 1 s were those of runs that did not store it"


def test_times_of_a_scenarios_own_are_an_obstacle_where_both_runs_have_it() -> None:
    def ran(**programs: float) -> Run:
        own = {name: Program(cases=[], tiers=[], duration_s=length) for name, length in programs.items()}
        return made(plan=made().plan.model_copy(update={"programs": own}))

    assert compare_runs(ran(held=25.0), BEFORE, ran(held=25.0, ramp=60.0), BEFORE).obstacles == []
    assert compare_runs(ran(held=25.0), BEFORE, ran(held=30.0), BEFORE).obstacles == ["held duration_s: 25.0 → 30.0"]


def test_more_rounds_are_no_obstacle() -> None:
    plan = made().plan
    first = made(plan=plan.model_copy(update={"profile": {"rounds": 3.0}}))
    second = made("second", plan=plan.model_copy(update={"profile": {"rounds": 12.0}}))
    assert compare_runs(first, BEFORE, second, BEFORE).obstacles == []


def test_a_loss_counts_when_it_is_found_and_large_enough() -> None:
    pairs = compare_runs(made(), BEFORE, made("second"), SLOWED).pairs
    assert [p.a for p in find_slower(pairs, 0.05)] == [VIRTUAL]
    assert find_slower(pairs, 0.15) == []
    assert find_slower(compare_runs(made(), BEFORE, made("second"), cells(VIRTUAL, 60.0, 130.0)).pairs, 0.05) == []
    assert find_slower(compare_runs(made(), SLOWED, made("second"), BEFORE).pairs, 0.05) == []
