from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import builders
import numpy as np
import pytest
from builders import catalog
from hypothesis import given
from hypothesis import strategies as st

from zoo.bench.warmup import TREND, is_steady
from zoo.core import blocks, budget, capacity
from zoo.core import windows as timing
from zoo.core.blocks import Block, Design, blocks_of, profile_of
from zoo.core.budget import estimate_seconds
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.defaults import FEW, FULL, QUICK, Profile
from zoo.core.entry_id import aa_id
from zoo.core.manifest import CatalogError
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.scenario import DEFAULT, SCENARIOS, ProgramOptions, sleeping_window
from zoo.core.windows import ONE_WAIT, TWO_WAITS

TIERS = tuple(capacity.parse_tier(name) for name in ("100", "1k", "25k"))
RATES = st.floats(1.0, 1e6)
ENTRIES = [f"server-{i}:v" for i in range(13)]


# --- tiers


@pytest.mark.parametrize(
    ("name", "connections"), [("1", 1), ("100", 100), ("1k", 1_000), ("25K", 25_000), ("1M", 1_000_000)]
)
def test_a_tier_is_read_as_a_person_means_it(name: str, connections: int) -> None:
    assert capacity.parse_tier(name).connections == connections


@pytest.mark.parametrize("name", ["", "0", "0k", "k", "-1", "1.5k", "1m", "10 0", "١٠٠"])
def test_what_is_no_connection_count_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="is not a number of connections; use numbers such as 100, 1k or 25k"):
        capacity.parse_tier(name)


# --- order


@given(st.lists(st.sampled_from(ENTRIES), unique=True, min_size=1), st.integers(1, 20), st.integers())
def test_each_round_has_every_entry_once_and_each_even_round_is_the_reverse_of_the_one_before(
    entries: list[str], pair: int, seed: int
) -> None:
    odd, even = blocks.round_order(entries, 2 * pair - 1, seed), blocks.round_order(entries, 2 * pair, seed)
    assert sorted(odd) == sorted(entries)
    assert even == odd[::-1]
    assert blocks.round_order(entries, 2 * pair - 1, seed) == odd


def test_the_seed_and_the_pair_of_rounds_decide_the_order() -> None:
    assert blocks.round_order(ENTRIES, 1, seed=1) != blocks.round_order(ENTRIES, 1, seed=2)
    assert blocks.round_order(ENTRIES, 1, seed=1) != blocks.round_order(ENTRIES, 3, seed=1)


def test_no_entry_is_favoured_with_the_first_place() -> None:
    first = Counter(blocks.round_order(ENTRIES[:4], 1, seed)[0] for seed in range(2_000))
    assert all(400 < first[e] < 600 for e in ENTRIES[:4])


@given(st.integers(1, 4), st.permutations(TIERS), st.integers())
def test_every_cell_is_there_once_a_round_with_tiers_rising(rounds: int, tiers: list[capacity.Tier], seed: int) -> None:
    made = builders.blocks(ENTRIES[:3], ["hello", "sleep"], [*tiers, tiers[0]], rounds, seed)
    assert all(b.tiers == TIERS for b in made)
    cells = Counter((b.entries[0], b.scenario, b.round) for b in made)
    assert set(cells.values()) == {1}
    assert len(cells) == 3 * 2 * rounds
    assert [b.round for b in made] == sorted(b.round for b in made)
    units = [((entry,), scenario) for scenario in ("hello", "sleep") for entry in ENTRIES[:3]]
    assert [(b.entries, b.scenario) for b in made if b.round == 1] == blocks.round_order(units, 1, seed)
    assert [b.position for b in made if b.round == 1] == list(range(6))


def test_twins_take_part_in_the_order_like_others_but_only_where_they_are_wanted() -> None:
    made = builders.blocks(ENTRIES[:3], ["hello", "sleep"], TIERS, 4, 1, twins=ENTRIES[:1], twin_scenarios=["hello"])
    again = aa_id(ENTRIES[0])
    for number in range(1, 5):
        at = [(b.entries[0], b.scenario) for b in made if b.round == number]
        assert sorted(entry for entry, scenario in at if scenario == "hello") == sorted([*ENTRIES[:3], again])
        assert sorted(entry for entry, scenario in at if scenario == "sleep") == ENTRIES[:3]
    places = Counter(b.position for b in made if b.entries == (again,))
    assert len(places) > 1


# --- servers running side by side


def test_variants_of_a_server_and_its_twin_are_alive_at_once_where_throughput_is_measured() -> None:
    entries = ["a:platform", "a:virtual", "b:one"]
    again = {"twins": ["a:virtual"], "twin_scenarios": ["hello"]}
    made = builders.blocks(entries, ["hello", "sleep"], TIERS, 1, 7, **again, design=Design.TURNS)
    assert sorted(b.entries for b in made if b.scenario == "hello") == [
        ("a:platform", "a:virtual", "a:virtual.again"),
        ("b:one",),
    ]
    assert sorted(b.entries for b in made if b.scenario == "sleep") == [("a:platform",), ("a:virtual",), ("b:one",)]


def test_a_guest_is_alive_with_all_others_and_guests_alone_with_those_of_their_server() -> None:
    entries = ["a:platform", "b:one", "mine:plain"]
    again = {"twins": ["b:one"], "twin_scenarios": ["hello"]}
    (block,) = builders.blocks(entries, ["hello"], TIERS, 1, 7, **again, design=Design.TURNS, guests=["mine:plain"])
    assert block.entries == (*entries, "b:one.again")
    alone = builders.blocks(entries, ["hello"], TIERS, 1, 7, design=Design.TURNS, guests=entries)
    assert sorted(b.entries for b in alone) == [("a:platform",), ("b:one",), ("mine:plain",)]
    sleeping = builders.blocks(entries, ["sleep"], TIERS, 1, 7, design=Design.TURNS, guests=["mine:plain"])
    assert all(len(b.entries) == 1 for b in sleeping)


@given(st.integers(1, 5), st.integers(0, 100), st.sampled_from(TIERS), st.integers(1, 3))
def test_turns_are_palindromes_so_that_drift_is_the_same_for_all(
    members: int, seed: int, at: capacity.Tier, cycles: int
) -> None:
    block = Block(tuple(f"a:v{i}" for i in range(members)), "hello", TIERS, 1, 0, seed)
    profile = replace(FULL, cycles=cycles)
    turns = timing.slots(block, at, profile)
    if members == 1:
        assert turns == [(0,)]
        return
    expected = 1 if at.connections > timing.MANY else cycles
    assert Counter(turns) == {(i,): 2 * expected for i in range(members)}
    for start in range(0, len(turns), 2 * members):
        cycle = turns[start : start + 2 * members]
        assert cycle == cycle[::-1]
    load = (
        (timing.window_length(block, at, profile) - profile.connect_s * (at.connections > timing.MANY)) * 2 * expected
    )
    asked = profile.window_s * (profile.few_times if at.connections <= FEW else 1)
    assert asked <= load < asked + 2 * expected


@pytest.mark.parametrize(("load_s", "turn_s", "turns", "lasts_s"), [(8, 1, 8, 1), (8, 60, 2, 60), (240, 60, 4, 60)])
def test_a_turn_is_as_long_as_asked_and_each_server_has_two_or_more(
    load_s: int, turn_s: int, turns: int, lasts_s: int
) -> None:
    profile = BenchOptions(duration_s=load_s, turn_s=turn_s).profile()
    block = Block(("a:p", "a:v"), "hello", TIERS, 1, 0)
    assert timing.window_length(block, TIERS[0], profile) == lasts_s
    assert Counter(timing.slots(block, TIERS[0], profile)) == {(0,): turns, (1,): turns}


def test_who_begins_is_left_to_chance() -> None:
    begins = Counter(
        timing.slots(Block(("a:p", "a:v"), "hello", TIERS, number, 0, 3), TIERS[0], FULL)[0] for number in range(200)
    )
    assert all(70 < begins[side] < 130 for side in ((0,), (1,)))


def test_in_parallel_all_are_loaded_at_once() -> None:
    made = builders.blocks(["a:p", "a:v"], ["hello"], TIERS, 1, 7, design=Design.PARALLEL)
    assert timing.slots(made[0], TIERS[0], FULL) == [(0, 1)]
    assert timing.window_length(made[0], TIERS[0], FULL) == FULL.window_s


# --- windows


@pytest.mark.parametrize(("profile", "cycle", "slack"), [(FULL, 11, 35), (QUICK, 1, 2)])
def test_a_window_is_the_profiles_or_follows_from_the_wait_and_many_connections_get_time_to_open(
    profile: Profile, cycle: float, slack: float
) -> None:
    hello, sleep = (Block(("e:v",), scenario, TIERS, 1, 0) for scenario in ("hello", "sleep"))
    one, opening = profile.window_s, profile.connect_s
    assert [timing.window_length(hello, t, profile) for t in TIERS] == [one, one, one + opening]
    assert [timing.window_length(sleep, t, profile) for t in TIERS] == [cycle, cycle, slack + opening]


@given(st.floats(0.1, 60), st.sampled_from([ONE_WAIT, TWO_WAITS]))
def test_a_sleeping_window_is_whole_seconds_and_no_shorter(delay_s: float, waits: float) -> None:
    seconds_ = sleeping_window(delay_s, waits)
    assert seconds_ >= delay_s * waits > seconds_ - 1


def test_a_burst_of_connections_gets_slack_at_any_tier() -> None:
    block = Block(("e:v",), "sleep", tuple(map(capacity.parse_tier, ("1k", "5k", "10k"))), 1, 0)
    assert [
        timing.window_length(block, at, FULL) - FULL.connect_s * (at.connections > timing.MANY) for at in block.tiers
    ] == [
        11,
        35,
        35,
    ]


def test_memory_is_held_in_windows_of_one_length() -> None:
    tiers = ("100", "1k", "5k")
    assert SCENARIOS["held"].program is not None
    program = SCENARIOS["held"].program(ProgramOptions((), tiers=tiers))
    at = tuple(map(capacity.parse_tier, tiers))
    block = Block(("e:v",), "held", at, 1, 0, program=program, case=program.cases[0])
    assert {timing.window_length(block, at, FULL) for at in block.tiers} == {30}


def test_a_single_tier_is_the_highest() -> None:
    block = Block(("e:v",), "sleep", TIERS[:1], 1, 0)
    assert timing.window_length(block, TIERS[0], FULL) == 25


def test_what_the_scenarios_ask_of_a_server() -> None:
    hello, sleep = SCENARIOS["hello"], SCENARIOS["sleep"]
    assert (hello.path(0), hello.warm_path()) == ("/", "/")
    assert (hello.path(0, "/a?b"), hello.warm_path("/a?b")) == ("/a?b", "/a?b")
    assert (sleep.path(10), sleep.path(2.5, "/a")) == ("/sleep?ms=10000", "/sleep?ms=2500")
    assert sleep.warm_path("/a") == "/sleep?ms=1"
    block = Block(("java-a:virtual",), "hello", (capacity.parse_tier("100"),), round=1, position=0)
    assert block.delay(FULL) == 0
    assert replace(block, scenario="sleep").delay(QUICK) == 0.5


# --- time


def minutes(profile: Profile, java: int, java_pools: int, native: int, native_pools: int) -> float:
    kinds = [(False, i < java_pools) for i in range(java)] + [(True, i < native_pools) for i in range(native)]
    return sum(
        budget.single_entry_seconds(
            Block(("e:v",), scenario, TIERS, 1, 0), profile, native=native_, bounded_pool=bounded
        )
        * (1 if SCENARIOS[scenario].once else profile.rounds)
        / 60
        for native_, bounded in kinds
        for scenario in DEFAULT
    )


def test_a_full_run_of_13_entries_takes_at_most_about_90_minutes() -> None:
    assert 60 < minutes(FULL, java=10, java_pools=4, native=3, native_pools=1) < 95


def test_a_a_of_a_full_run_takes_less_than_8_minutes() -> None:
    hello = Block(("e:v",), "hello", TIERS, 1, 0)
    once = sum(budget.single_entry_seconds(hello, FULL, native=native, bounded_pool=False) for native in (True, False))
    assert once * FULL.rounds / 60 < 8


def test_a_quick_run_of_13_entries_takes_less_than_8_minutes() -> None:
    assert 3 < minutes(QUICK, java=10, java_pools=4, native=3, native_pools=1) < 8


def test_a_block_lasts_at_least_its_warm_up_and_windows() -> None:
    block = Block(("e:v",), "sleep", TIERS, 1, 0)
    plain = budget.single_entry_seconds(block, FULL, native=True, bounded_pool=False)
    assert plain > FULL.sleep_warmup_s + 11 + 11 + 25 + FULL.connect_s + FULL.rest_s
    assert budget.single_entry_seconds(block, FULL, native=False, bounded_pool=False) > plain
    assert budget.single_entry_seconds(block, FULL, native=True, bounded_pool=True) > plain


# --- steady


@given(RATES, st.lists(st.floats(0.996, 1.004), min_size=4, max_size=12), st.lists(RATES, max_size=4))
def test_even_rates_are_steady_whatever_came_before(rate: float, wobble: list[float], before: list[float]) -> None:
    assert is_steady([*before, *(rate * w for w in wobble)])


@given(st.lists(RATES, max_size=3))
def test_fewer_than_four_windows_are_never_steady(rates: list[float]) -> None:
    assert not is_steady(rates)


@given(RATES, st.floats(0.007, 0.5), st.booleans())
def test_a_slope_is_not_steady(rate: float, step: float, falling: bool) -> None:
    rates = [rate * (1 + step * i) for i in range(4)]
    assert not is_steady(rates[::-1] if falling else rates)


def test_a_slope_under_2_percent_does_not_matter() -> None:
    assert is_steady([100.0, 100.5, 101.0, 101.5])
    assert not is_steady([100.0, 100.7, 101.4, 102.1])


def test_ups_and_downs_are_noise_and_no_warm_up() -> None:
    assert is_steady([100.0, 112.0, 95.0, 104.0, 91.0, 103.0])


def test_a_standstill_is_not_steady() -> None:
    assert not is_steady([0.0] * 6)


@given(st.lists(RATES, min_size=4, max_size=8), st.integers(-8, 8))
def test_the_unit_of_rates_does_not_matter(rates: list[float], power: int) -> None:
    assert is_steady([r * 2.0**power for r in rates]) == is_steady(rates)


@pytest.mark.parametrize("windows", list(TREND))
def test_an_order_that_counts_as_a_trend_is_rare_without_one(windows: int) -> None:
    def s(order: Sequence[int]) -> int:
        return sum((b > a) - (b < a) for a, b in itertools.combinations(order, 2))

    orders = [abs(s(order)) for order in itertools.permutations(range(windows))]
    assert sum(o >= TREND[windows] for o in orders) / len(orders) < 0.10
    assert sum(o >= TREND[windows] - 2 for o in orders) / len(orders) > 0.10


def settled(noise: float, left: float, windows: int = 6) -> float:
    """Return the share of warm-ups that count as settled.

    Throughput approaches its end value. At the start of the windows, the fraction `left` is still missing.
    """
    random = np.random.default_rng(20260401)
    warm = 1 - left * np.exp(-np.arange(windows) / 3)
    runs = warm * random.lognormal(0, noise, size=(2_000, windows))
    return sum(is_steady(run) for run in runs.tolist()) / len(runs)


@pytest.mark.parametrize("noise", [0.005, 0.013, 0.03, 0.08, 0.12])
@pytest.mark.parametrize("windows", [4, 6])
def test_a_warm_server_is_found_settled_however_much_windows_vary(noise: float, windows: int) -> None:
    assert settled(noise, left=0.0, windows=windows) > 0.90


@pytest.mark.parametrize(("noise", "left"), [(0.013, 0.2), (0.03, 0.4), (0.08, 0.8)])
def test_a_cold_server_is_not_taken_for_settled(noise: float, left: float) -> None:
    assert settled(noise, left) < 0.10


def test_what_is_left_to_gain_when_noise_hides_it_is_no_more_than_the_noise() -> None:
    # Windows of ± 8% hide a rise of 20%, of which 4% are left after six windows. One case in four is detected.
    assert 0.5 < settled(0.08, left=0.2) < 0.9


def test_a_bound_on_the_variation_would_never_be_met_by_a_noisy_warm_server() -> None:
    windows = np.random.default_rng(20260402).lognormal(0, 0.08, size=(10_000, 4))
    assert np.mean(windows.std(axis=1, ddof=1) / windows.mean(axis=1) < 0.02) < 0.03


# --- from options to blocks


def test_no_words_mean_everything_three_rounds() -> None:
    made = make_plan(BenchOptions(seed=4), catalog(), Condition())
    assert made.entries == ["java-a:platform", "java-a:virtual", "rust-n:bare"]
    assert made.natives == ["rust-n:bare"]
    assert (made.scenarios, made.tiers, made.rounds, made.seed) == (["hello", "sleep"], ["100", "1k", "25k"], 3, 4)
    assert (made.twins, made.twin_scenarios) == (["rust-n:bare", "java-a:platform"], ["hello"])
    assert made.rounds_of == {"sleep": 1}
    assert len(blocks_of(made)) == 2 * 3 + 3
    assert sum(len(b.entries) * len(b.tiers) for b in blocks_of(made)) == made.cells == 54
    assert made.aa_cells == 18


def test_rounds_that_are_asked_for_are_those_of_every_scenario() -> None:
    assert make_plan(BenchOptions(rounds=3), catalog(), Condition()).rounds_of == {}
    assert make_plan(BenchOptions(scenarios=["sleep"]), catalog(), Condition()).rounds_of == {}


@pytest.mark.parametrize(
    ("wish", "doubled"),
    [
        (BenchOptions(), ["hello"]),
        (BenchOptions(scenarios=["sleep"]), []),
        (BenchOptions(servers=["java-a"]), []),
        (BenchOptions(variants=["virtual"]), []),
        (BenchOptions(quick=True), []),
        (BenchOptions(rounds=1), []),
        (BenchOptions(aa=False), []),
        (BenchOptions(servers=["java-a"], scenarios=["sleep"], aa=True), ["sleep"]),
        (BenchOptions(quick=True, aa=True), ["hello", "sleep"]),
    ],
)
def test_a_a_is_measured_when_asked_for_and_otherwise_for_the_whole_zoo(wish: BenchOptions, doubled: list[str]) -> None:
    made = make_plan(wish, catalog(), Condition())
    assert made.twin_scenarios == doubled
    assert bool(made.twins) == bool(doubled)


def test_words_narrow_the_plan_and_a_duration_is_that_of_cells_without_a_wait() -> None:
    wish = BenchOptions(["java-a"], ["virtual"], ["sleep", "hello"], tiers=["1k", "100"], rounds=2, duration_s=30)
    made = make_plan(wish, catalog(), Condition())
    assert (made.entries, made.tiers, made.rounds) == (["java-a:virtual"], ["100", "1k"], 2)
    block = next(b for b in blocks_of(made) if b.scenario == "sleep")
    assert timing.window_length(block, block.tiers[0], profile_of(made)) == 11
    assert profile_of(made).window_s == 30


def test_turns_of_about_a_second_add_up_to_about_the_duration() -> None:
    pair = Block(("e:a", "e:b"), "hello", TIERS[:1], 1, 0)
    for duration, windows, window_s in ((1, 2, 1), (2, 2, 1), (3, 4, 1), (4, 4, 1), (7, 8, 1), (30, 24, 2)):
        profile = BenchOptions(duration_s=duration).profile()
        assert len(timing.slots(pair, TIERS[0], profile)) == 2 * windows
        assert timing.window_length(pair, TIERS[0], profile) == window_s


@pytest.mark.parametrize(("asked", "window", "cap"), [(None, 4, 60), (6, 1, 6), (9, 1, 9), (60, 10, 60)])
def test_a_shorter_warm_up_has_shorter_windows_and_as_many(asked: int | None, window: int, cap: int) -> None:
    made = BenchOptions(warmup_s=asked).profile()
    assert (made.warmup_window_s, made.warmup_cap_s) == (window, cap)
    assert made.warmup_windows_jvm * window <= cap
    assert made.warmup_windows(native=False) == FULL.warmup_windows_jvm


def test_a_cell_named_twice_is_measured_once_a_round() -> None:
    wish = BenchOptions(["java-a", "java-a"], [], ["hello", "hello"], tiers=["1k", "1000"], rounds=1)
    made = make_plan(wish, catalog(), Condition())
    cells = [key for b in blocks_of(made) for t in b.tiers for key in b.keys(t)]
    assert len(cells) == len(set(cells)) == 2


@pytest.mark.parametrize("quick", [True, False])
def test_a_stored_profile_is_the_one_that_was_used(quick: bool) -> None:
    wish = BenchOptions(quick=quick)
    assert profile_of(make_plan(wish, catalog(), Condition())) == wish.profile()


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (BenchOptions(scenarios=["crawl"]), 'no scenario "crawl"; known: hello, sleep'),
        (BenchOptions(tiers=["lots"]), "not a number of connections"),
    ],
)
def test_words_that_name_nothing_are_refused(wish: BenchOptions, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make_plan(wish, catalog(), Condition())


def test_servers_and_variants_that_are_not_there_are_refused() -> None:
    with pytest.raises(CatalogError, match='no server "x"; known: java-a, rust-n'):
        make_plan(BenchOptions(servers=["x"]), catalog(), Condition())
    with pytest.raises(CatalogError, match='there is no variant "bare"; known: platform, virtual'):
        make_plan(BenchOptions(servers=["java-a"], variants=["bare"]), catalog(), Condition())


def test_two_random_plans_differ_in_their_seed() -> None:
    seeds = {make_plan(BenchOptions(), catalog(), Condition()).seed for _ in range(5)}
    assert len(seeds) > 1


def test_the_time_of_a_plan_is_that_of_its_blocks() -> None:
    made = make_plan(BenchOptions(servers=["rust-n"], scenarios=["hello"], rounds=2), catalog(), Condition())
    block = blocks_of(made)[0]
    alone = budget.single_entry_seconds(block, profile_of(made), native=True, bounded_pool=False)
    assert estimate_seconds(blocks_of(made), profile_of(made), catalog()) == pytest.approx(2 * alone)
