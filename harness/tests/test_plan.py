from __future__ import annotations

import math
from collections import Counter

import pytest
from builders import catalog
from hypothesis import given
from hypothesis import strategies as st

from zoo import plan
from zoo.bench import Wish, blocks_of, plan_of, profile_of, seconds
from zoo.catalog import CatalogError
from zoo.plan import FULL, QUICK, Block, PlanError, Profile
from zoo.records import Condition
from zoo.scenario import SCENARIOS
from zoo.scenario.base import sleeping_window

TIERS = tuple(plan.tier(name) for name in ("100", "1k", "25k"))
RATES = st.floats(1.0, 1e6)
ENTRIES = [f"server-{i}:v" for i in range(13)]


# --- tiers


@pytest.mark.parametrize(("name", "connections"), [("1", 1), ("100", 100), ("1k", 1_000), ("25K", 25_000)])
def test_a_tier_is_read_as_a_person_means_it(name: str, connections: int) -> None:
    assert plan.tier(name).connections == connections


@pytest.mark.parametrize("name", ["", "0", "0k", "k", "-1", "1.5k", "1m", "10 0", "١٠٠"])
def test_what_is_no_connection_count_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="tier must be a connection count such as 100, 1k or 25k, got"):
        plan.tier(name)


# --- order


@given(st.lists(st.sampled_from(ENTRIES), unique=True, min_size=1), st.integers(1, 20), st.integers())
def test_each_round_has_every_entry_once_and_each_even_round_is_the_reverse_of_the_one_before(
    entries: list[str], pair: int, seed: int
) -> None:
    odd, even = plan.order(entries, 2 * pair - 1, seed), plan.order(entries, 2 * pair, seed)
    assert sorted(odd) == sorted(entries)
    assert even == odd[::-1]
    assert plan.order(entries, 2 * pair - 1, seed) == odd


def test_the_seed_and_the_pair_of_rounds_decide_the_order() -> None:
    assert plan.order(ENTRIES, 1, seed=1) != plan.order(ENTRIES, 1, seed=2)
    assert plan.order(ENTRIES, 1, seed=1) != plan.order(ENTRIES, 3, seed=1)


def test_no_entry_is_favoured_with_the_first_place() -> None:
    first = Counter(plan.order(ENTRIES[:4], 1, seed)[0] for seed in range(2_000))
    assert all(400 < first[e] < 600 for e in ENTRIES[:4])


@given(st.integers(1, 4), st.permutations(TIERS), st.integers())
def test_every_cell_is_there_once_a_round_with_tiers_rising(rounds: int, tiers: list[plan.Tier], seed: int) -> None:
    made = plan.blocks(ENTRIES[:3], ["hello", "sleep"], [*tiers, tiers[0]], rounds, seed)
    assert all(b.tiers == TIERS for b in made)
    cells = Counter((b.entries[0], b.scenario, b.round) for b in made)
    assert set(cells.values()) == {1}
    assert len(cells) == 3 * 2 * rounds
    assert [b.round for b in made] == sorted(b.round for b in made)
    assert [b.entries[0] for b in made if b.round == 1][::2] == plan.order(ENTRIES[:3], 1, seed)
    assert [b.position for b in made if b.round == 1][::2] == [0, 1, 2]


# --- windows


@pytest.mark.parametrize(("profile", "cycle", "slack"), [(FULL, 11, 25), (QUICK, 3, 5)])
def test_a_window_is_the_profiles_or_follows_from_the_wait_and_many_connections_get_time_to_open(
    profile: Profile, cycle: float, slack: float
) -> None:
    hello, sleep = (Block(("e:v",), scenario, TIERS, 1, 0) for scenario in ("hello", "sleep"))
    one, opening = profile.window_s, profile.connect_s
    assert [plan.window(hello, t, profile) for t in TIERS] == [one, one, one + opening]
    assert [plan.window(sleep, t, profile) for t in TIERS] == [cycle, cycle, slack + opening]


@given(st.floats(0.1, 60), st.booleans())
def test_a_sleeping_window_holds_a_whole_cycle_and_slack(delay_s: float, highest: bool) -> None:
    seconds_ = sleeping_window(delay_s, highest=highest)
    assert seconds_ >= delay_s * (2.5 if highest else 1.1) > seconds_ - 1


def test_a_single_tier_is_the_highest() -> None:
    block = Block(("e:v",), "sleep", TIERS[:1], 1, 0)
    assert plan.window(block, TIERS[0], FULL) == 25


def test_what_the_scenarios_ask_of_a_server() -> None:
    hello, sleep = SCENARIOS["hello"], SCENARIOS["sleep"]
    assert (hello.path(0), hello.warm_path) == ("/", "/")
    assert (sleep.path(10), sleep.path(2.5), sleep.warm_path) == ("/sleep?ms=10000", "/sleep?ms=2500", "/sleep?ms=1")
    assert plan.delay("hello", FULL) == 0
    assert plan.delay("sleep", QUICK) == 2


# --- time


def minutes(profile: Profile, java: int, java_pools: int, native: int, native_pools: int) -> float:
    kinds = [(False, i < java_pools) for i in range(java)] + [(True, i < native_pools) for i in range(native)]
    once = sum(
        plan.block_seconds(Block(("e:v",), scenario, TIERS, 1, 0), profile, native=native_, bounded_pool=bounded)
        for native_, bounded in kinds
        for scenario in SCENARIOS
    )
    return once * profile.rounds / 60


def test_a_full_run_of_13_entries_takes_at_most_about_90_minutes() -> None:
    assert 60 < minutes(FULL, java=10, java_pools=4, native=3, native_pools=1) < 95


def test_a_quick_run_of_11_entries_takes_less_than_8_minutes() -> None:
    assert 3 < minutes(QUICK, java=8, java_pools=3, native=3, native_pools=1) < 8


def test_a_block_lasts_at_least_its_warm_up_and_windows() -> None:
    block = Block(("e:v",), "sleep", TIERS, 1, 0)
    plain = plan.block_seconds(block, FULL, native=True, bounded_pool=False)
    assert plain > FULL.sleep_warmup_s + 11 + 11 + 25 + FULL.connect_s + FULL.rest_s
    assert plan.block_seconds(block, FULL, native=False, bounded_pool=False) > plain
    assert plan.block_seconds(block, FULL, native=True, bounded_pool=True) > plain


# --- steady


@given(RATES, st.lists(st.floats(0.996, 1.004), min_size=4, max_size=12), st.lists(RATES, max_size=4))
def test_even_rates_are_steady_whatever_came_before(rate: float, wobble: list[float], before: list[float]) -> None:
    assert plan.steady([*before, *(rate * w for w in wobble)])


@given(st.lists(RATES, max_size=3))
def test_fewer_than_four_windows_are_never_steady(rates: list[float]) -> None:
    assert not plan.steady(rates)


@given(RATES, st.floats(0.007, 0.5), st.booleans())
def test_a_slope_is_not_steady(rate: float, step: float, falling: bool) -> None:
    rates = [rate * (1 + step * i) for i in range(4)]
    assert not plan.steady(rates[::-1] if falling else rates)


@given(RATES, st.floats(0.04, 0.5))
def test_a_bump_without_a_slope_is_not_steady(rate: float, swing: float) -> None:
    assert not plan.steady([rate, rate * (1 + swing), rate * (1 + swing), rate])


def test_a_slope_within_the_variation_allowed_is_still_a_slope() -> None:
    rates = [100.0, 100.7, 101.4, 102.1]  # varies by 0.9 %, but rises by 2.1 %
    assert not plan.steady(rates)


def test_a_standstill_is_not_steady() -> None:
    assert not plan.steady([0.0] * 6)


@given(st.lists(RATES, min_size=4, max_size=8), st.floats(0.01, 100))
def test_the_unit_of_rates_does_not_matter(rates: list[float], factor: float) -> None:
    deviation = math.dist(rates[-4:], [sum(rates[-4:]) / 4] * 4) / 3**0.5 / (sum(rates[-4:]) / 4)
    if not math.isclose(deviation, 0.02, rel_tol=1e-3):
        assert plan.steady([r * factor for r in rates]) == plan.steady(rates)


# --- from a wish to blocks


def test_no_words_mean_everything_three_rounds() -> None:
    made = plan_of(Wish(seed=4), catalog(), Condition())
    assert made.entries == ["java-a:platform", "java-a:virtual", "rust-n:bare"]
    assert (made.scenarios, made.tiers, made.rounds, made.seed) == (["hello", "sleep"], ["100", "1k", "25k"], 3, 4)
    assert len(blocks_of(made)) == 3 * 2 * 3


def test_words_narrow_the_plan_and_a_duration_is_that_of_cells_without_a_wait() -> None:
    wish = Wish(["java-a"], ["virtual"], ["sleep", "hello"], ["1k", "100"], rounds=2, duration_s=30)
    made = plan_of(wish, catalog(), Condition())
    assert (made.entries, made.tiers, made.rounds) == (["java-a:virtual"], ["100", "1k"], 2)
    block = blocks_of(made)[0]
    assert (block.scenario, plan.window(block, block.tiers[0], profile_of(made))) == ("sleep", 11)
    assert profile_of(made).window_s == 30


def test_a_cell_named_twice_is_measured_once_a_round() -> None:
    made = plan_of(Wish(["java-a", "java-a"], [], ["hello", "hello"], ["1k", "1000"], rounds=1), catalog(), Condition())
    cells = [(b.entries[0], b.scenario, t.name) for b in blocks_of(made) for t in b.tiers]
    assert len(cells) == len(set(cells)) == 2


@pytest.mark.parametrize("quick", [True, False])
def test_a_stored_profile_is_the_one_that_was_used(quick: bool) -> None:
    wish = Wish(quick=quick)
    assert profile_of(plan_of(wish, catalog(), Condition())) == wish.profile()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(scenarios=["crawl"]), 'no scenario "crawl"; known: hello, sleep'),
        (Wish(tiers=["lots"]), "tier must be"),
        (Wish(tiers=[]), "no tier; name connection counts"),
    ],
)
def test_words_that_name_nothing_are_refused(wish: Wish, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan_of(wish, catalog(), Condition())


def test_servers_and_variants_that_are_not_there_are_refused() -> None:
    with pytest.raises(CatalogError, match='no server "x"; known: java-a, rust-n'):
        plan_of(Wish(servers=["x"]), catalog(), Condition())
    with pytest.raises(CatalogError, match='no variant "bare" there; known: platform, virtual'):
        plan_of(Wish(servers=["java-a"], variants=["bare"]), catalog(), Condition())


def test_two_random_plans_differ_in_their_seed() -> None:
    seeds = {plan_of(Wish(), catalog(), Condition()).seed for _ in range(5)}
    assert len(seeds) > 1


def test_the_time_of_a_plan_is_that_of_its_blocks() -> None:
    made = plan_of(Wish(servers=["rust-n"], scenarios=["hello"], rounds=2), catalog(), Condition())
    block = blocks_of(made)[0]
    alone = plan.block_seconds(block, profile_of(made), native=True, bounded_pool=False)
    assert seconds(blocks_of(made), profile_of(made), catalog()) == pytest.approx(2 * alone)
