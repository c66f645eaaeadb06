"""Tests that rounds are added according to the noise and the budget, and never because of a difference."""

from __future__ import annotations

import builders
import pytest
from builders import record

from zoo.core.blocks import blocks_of, profile_of
from zoo.core.budget import estimate_seconds
from zoo.core.defaults import FULL
from zoo.core.errors import BenchError
from zoo.core.record import Record
from zoo.core.run import PlanFacts, Run
from zoo.report.wording import describe_rounds
from zoo.stats import extra_rounds

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"
CALM, NOISY = (1.0, 1.002, 0.998), (1.0, 1.1, 0.9)


def asked(precision: float | None = 0.05, budget_s: float = 1e9) -> Run:
    run = builders.run([PLATFORM, VIRTUAL], ["hello", "sleep"], ["100", "1k", "25k"])
    changes = {"precision": precision, "budget_s": budget_s, "profile": FULL.numbers(), "design": "turns"}
    return run.model_copy(update={"plan": run.plan.model_copy(update=changes)})


def seen(wobble: tuple[float, ...], factor: float = 1.0, tier: str = "1k") -> list[Record]:
    return [
        record(entry, tier, round_number=n, rps=50_000 * (w if entry == PLATFORM else factor))
        for entry in (PLATFORM, VIRTUAL)
        for n, w in enumerate(wobble, 1)
    ]


def test_figures_that_hardly_vary_need_no_more() -> None:
    more = extra_rounds.plan_extra_rounds(asked(), seen(CALM), builders.catalog())
    assert more == extra_rounds.ExtraRounds(0, "3 rounds: throughput and CPU time are known to ±5%")


def test_noise_asks_for_more_a_few_at_a_time() -> None:
    more = extra_rounds.plan_extra_rounds(asked(), seen(NOISY), builders.catalog())
    assert more.rounds == extra_rounds.AT_ONCE
    assert more.text.endswith(" more; 3 follow")


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_a_difference_is_no_reason_to_stop_or_to_go_on(factor: float) -> None:
    assert extra_rounds.plan_extra_rounds(
        asked(), seen(NOISY, factor), builders.catalog()
    ) == extra_rounds.plan_extra_rounds(asked(), seen(NOISY), builders.catalog())


def test_the_noise_of_25_000_connections_is_no_reason() -> None:
    assert (
        extra_rounds.plan_extra_rounds(asked(), [*seen(CALM), *seen(NOISY, tier="25k")], builders.catalog()).rounds == 0
    )


def test_a_run_may_be_given_more_rounds_of_what_measures_throughput() -> None:
    planned = asked().plan.model_copy(update={"rounds_of": {"sleep": 1}})
    longer = extra_rounds.extend_rounds(planned, 6)
    assert (longer.rounds_in("hello"), longer.rounds_in("sleep")) == (6, 1)
    assert blocks_of(longer)[: len(blocks_of(planned))] == blocks_of(planned), "what was measured stays what it was"
    alone = planned.model_copy(update={"scenarios": ["sleep"]})
    assert extra_rounds.extend_rounds(alone, 4).rounds_in("sleep") == 4


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_run_is_not_given_fewer_rounds_than_it_has(rounds: int) -> None:
    with pytest.raises(BenchError, match="give ROUNDS a number above 3, which the run already has"):
        extra_rounds.extend_rounds(asked().plan, rounds)


def more_of(planned: PlanFacts, rounds: int) -> PlanFacts:
    return extra_rounds.ExtraRounds(rounds, "", (PLATFORM, VIRTUAL), ("1k",)).add_to(planned)


def test_the_budget_is_kept() -> None:
    def all_s(plan: PlanFacts) -> float:
        return estimate_seconds(blocks_of(plan), profile_of(plan), builders.catalog())

    plan = asked().plan
    two_more = asked(budget_s=all_s(more_of(plan, 2)))
    assert extra_rounds.plan_extra_rounds(two_more, seen(NOISY), builders.catalog()).rounds == 2
    at_its_end = extra_rounds.plan_extra_rounds(asked(budget_s=all_s(plan)), seen(NOISY), builders.catalog())
    assert at_its_end.rounds == 0
    assert "over the budget of" in at_its_end.text


@pytest.mark.parametrize(("pace", "rounds"), [(0.5, 3), (1.0, 2), (2.0, 0)])
def test_the_budget_allows_more_rounds_if_cells_take_less_time_than_estimated(pace: float, rounds: int) -> None:
    plan = more_of(asked().plan, 2)
    budget_s = estimate_seconds(blocks_of(plan), profile_of(plan), builders.catalog())
    more = extra_rounds.plan_extra_rounds(asked(budget_s=budget_s), seen(NOISY), builders.catalog(), pace)
    assert more.rounds == rounds


def test_added_rounds_measure_only_what_is_not_known_well_enough() -> None:
    run = asked()
    wide = run.model_copy(update={"plan": run.plan.model_copy(update={"entries": [PLATFORM, VIRTUAL, "rust-n:bare"]})})
    records = [*seen(NOISY), *seen(CALM, tier="100"), *(record("rust-n:bare", "1k", round_number=n) for n in (1, 2, 3))]
    more = extra_rounds.plan_extra_rounds(wide, records, builders.catalog())
    assert (set(more.entries), more.tiers) == ({PLATFORM, VIRTUAL}, ("1k",))
    plan = more.add_to(wide.plan)
    added = [block for block in blocks_of(plan) if block.round > 3]
    assert {(block.scenario, block.entries, tuple(tier.name for tier in block.tiers)) for block in added} == {
        ("hello", (PLATFORM, VIRTUAL), ("1k",))
    }
    assert plan.cells == wide.plan.cells + 2 * more.rounds
    assert [b for b in blocks_of(plan) if b.round <= 3] == blocks_of(wide.plan), "what was measured stays what it was"


def test_only_what_measures_throughput_gets_further_rounds() -> None:
    plan = more_of(asked().plan, 2)
    rounds = {(b.scenario, b.round) for b in blocks_of(plan)}
    assert {number for scenario, number in rounds if scenario == "hello"} == {1, 2, 3, 4, 5}
    assert {number for scenario, number in rounds if scenario == "sleep"} == {1, 2, 3}
    assert more_of(plan, 1).rounds == 6
    assert describe_rounds(plan) == "3 to 5 rounds, more where intervals were wide"


def test_rounds_that_a_user_adds_measure_everything_again() -> None:
    plan = extra_rounds.extend_rounds(more_of(asked().plan, 1), 5)
    tiers: dict[int, set[str]] = {number: set() for number in (3, 4, 5)}
    for block in blocks_of(plan):
        if block.scenario == "hello" and block.round in tiers:
            tiers[block.round] |= {tier.name for tier in block.tiers}
    assert tiers == {3: {"100", "1k", "25k"}, 4: {"1k"}, 5: {"100", "1k", "25k"}}
    assert (plan.common_rounds, plan.rounds) == (3, 5)


def test_nobody_asked_for_a_precision() -> None:
    assert extra_rounds.plan_extra_rounds(
        asked(precision=None), seen(NOISY), builders.catalog()
    ) == extra_rounds.ExtraRounds(0)
