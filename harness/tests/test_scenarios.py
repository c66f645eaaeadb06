"""Tests of the requests in each scenario, and that a session measures what a simulated machine really does."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import builders
import pytest
from fakes import IDLE_KB, Call, FakeRuntime, World, outcome
from sessions import session

import zoo.scenarios.startup.trial as startup
from zoo.bench import trial as base
from zoo.bench.display import Display
from zoo.bench.session import calibrate_plan
from zoo.core import blocks as plan
from zoo.core.budget import estimate_seconds
from zoo.core.capacity import PlanError
from zoo.core.capacity import parse_tier as tier_of
from zoo.core.condition import Condition
from zoo.core.defaults import EMULATED, FULL, Profile
from zoo.core.flag import Flag
from zoo.core.manifest import Catalog
from zoo.core.measurement import Measurement
from zoo.core.plan import BenchOptions, make_plan, started_entries
from zoo.core.record import Record, Trial
from zoo.core.run import PlanFacts
from zoo.core.run_folder import Store
from zoo.core.samples import Noise
from zoo.core.trial_results import (
    AbResult,
    HeapResult,
    OpenResult,
    RampResult,
    ScaleResult,
    SlowReadersResult,
    StartupResult,
)
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.sample.noise import NoiseProbe
from zoo.stats.memory_per_request import costs, freed_share

PLATFORM, VIRTUAL, BARE = "java-a:platform", "java-a:virtual", "rust-n:bare"
JAVA = Condition(jdk="25.0.1")


def catalog() -> Catalog:
    """Return the catalog of `builders`, whose Java server has the service that one scenario needs."""
    found = builders.catalog()
    java = builders.server("java-a", 8101, "platform-thread", "virtual-thread", paths=["/service"])
    return Catalog((java, *found.servers[1:]))


def planned(scenario: str, condition: Condition = JAVA, **wish: object) -> PlanFacts:
    return make_plan(BenchOptions(scenarios=[scenario], aa=False, **wish), catalog(), condition)  # type: ignore[arg-type]


class Bed:
    """A session on a simulated machine, with its store in a real folder."""

    def __init__(self, folder: Path, runtime: str = "fake") -> None:
        self.world = World()
        self.store = Store.create(folder / "results", builders.run())
        self.runtime = FakeRuntime(self.world, runtime)

    def run(self, made: PlanFacts, profile: Profile = FULL) -> list[Record]:
        blocks = plan.blocks_of(made)
        usual = session(self.world, self.store)
        replace(
            usual,
            catalog=catalog(),
            runtimes={"": self.runtime},
            conditions={"": made.condition},
            bench=replace(usual.bench, profile=profile, emulated=made.condition.emulated),
        ).run(blocks)
        assert not self.world.running
        return self.store.records()


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def trial(record: Record) -> Trial:
    assert record.trial is not None, record.failure
    return record.trial


def seen(record: Record) -> Measurement:
    assert record.measurement is not None, record.failure
    return record.measurement


# --- plans


@pytest.mark.parametrize(
    ("scenario", "cells"),
    [
        ("ramp", 3 * 1 * 1 * 3),
        ("pool-size", (1 * 3 + 1) * 4),
        ("held", 3 * 1 * 5 * 3),
        ("heap", 2 * 1 * 1 * 1),
        ("scale", 3 * 1 * 1 * 1),
        ("service", 2 * 3 * 7 * 3),
        ("cpu", 3 * 8 * 7 * 3),
        ("bytes", 3 * 9 * 6 * 1),
        ("slow-readers", 3 * 1 * 4 * 1),
        ("open", 3 * 1 * 1 * 3),
        ("rate", 3 * 5 * 1 * 3),
        ("ab", 3 * 1 * 1 * 3),
        ("startup", 3 * 1 + 2 * 2),
        ("cold", (3 * 1 + 2 * 1) * 3),
    ],
)
def test_a_plan_has_so_many_cells_and_its_blocks_have_each_once(scenario: str, cells: int) -> None:
    # Entries × cases × connection counts × rounds. Archives and heaps are for the two JVM entries only.
    made = planned(scenario)
    blocks = plan.blocks_of(made)
    keys = [key for block in blocks for tier in block.tiers for key in block.keys(tier)]
    assert made.cells == cells == len(keys) == len(set(keys))
    assert estimate_seconds(blocks, FULL, catalog()) > 5 * made.rounds


def test_a_stored_plan_gives_the_same_blocks() -> None:
    made = planned("cpu")
    again = PlanFacts.model_validate_json(made.model_dump_json())
    assert plan.blocks_of(again) == plan.blocks_of(made)


def test_hello_and_sleep_are_asked_alike_whatever_else_is() -> None:
    alone = make_plan(BenchOptions(seed=3), catalog(), JAVA)
    beside = make_plan(BenchOptions(seed=3, scenarios=["hello", "sleep", "ramp"]), catalog(), JAVA)
    assert alone.scenarios == ["hello", "sleep"]
    assert alone.programs == {}
    assert set(plan.blocks_of(alone)[0].keys(tier_of("1k"))) <= {
        key for block in plan.blocks_of(beside) for key in block.keys(tier_of("1k"))
    }


def test_a_case_of_several_can_be_asked_alone() -> None:
    made = planned("cpu", cases=["2ms+2ms"], tiers=["5", "50"])
    assert {(b.workload, tuple(t.name for t in b.tiers)) for b in plan.blocks_of(made)} == {
        ("cpu 2ms+2ms", ("5", "50"))
    }


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (BenchOptions(scenarios=["cpu"], cases=["7ms"]), 'no case "7ms"; known: 0.1ms, 0.5ms'),
        (BenchOptions(scenarios=["cpu"], cases=["0.5ms", "7ms"]), 'cpu: no case "7ms"'),
        (BenchOptions(scenarios=["hello"], cases=["0.5ms"]), 'hello: no case "0.5ms"'),
        (BenchOptions(scenarios=["heap"], servers=["rust-n"]), "heap applies to none of these entries"),
        (BenchOptions(scenarios=["service"], servers=["rust-n"]), "service applies to none of these entries"),
    ],
)
def test_what_cannot_be_asked_is_said(wish: BenchOptions, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        make_plan(wish, catalog(), JAVA)


def test_an_ahead_of_time_cache_needs_jdk_25_and_archives_a_process() -> None:
    def ways(condition: Condition) -> list[str]:
        return [case.name for case in planned("startup", condition).programs["startup"].cases]

    assert ways(JAVA) == ["default", "cds", "aot"]
    assert ways(Condition(jdk="21.0.9")) == ["default", "cds"]
    assert ways(Condition(runtime="container", jdk="25")) == ["default"]


# --- ramp


def test_a_ramp_is_measured_from_a_fresh_server_each(bed: Bed) -> None:
    records = bed.run(planned("ramp", rounds=1, tiers=["100", "500"]))
    assert len(bed.world.servers) == len(records) == 6
    for record in records:
        found = trial(record).result
        assert isinstance(found, RampResult)
        assert (found.t95_s, found.plateau, found.kept) == (2.0, 1.0, True)
        assert found.connections == {"100": 100, "500": 500}[record.tier]
        assert sum(found.windows) == found.answered == 30 * found.connections
        assert len(found.threads_t) == len(found.threads) > 0
        assert bed.store.read_raw(found.answers)[0] == 2.0
    assert {r.workload for r in records} == {"ramp 2s"}


def test_a_server_that_crashes_in_a_ramp_is_what_failed(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        bed.world.running[0].running = False
        raise LoadError("generator_failed", "vegeta ended with exit code 1")

    monkeypatch.setattr("fakes.FakeAttacker.run", crash)
    records = bed.run(planned("ramp", rounds=1))
    assert [r.failure and r.failure.kind for r in records] == ["crashed"] * 3


# --- held


def test_what_a_held_connection_costs_is_found_again(bed: Bed) -> None:
    bed.world.kb_per_connection = 17.0
    bed.world.keeps = 0.25
    records = bed.run(planned("held", rounds=2, variants=["virtual"]))
    found = costs(records)
    assert found[VIRTUAL, "rss"].interval.value == pytest.approx(17.0, rel=0.05)
    assert found[VIRTUAL, "anon"].interval.value == pytest.approx(17.0, rel=0.05)
    assert found[VIRTUAL, "rss"].fit > 0.99
    assert found[VIRTUAL, "heap"].interval.value == pytest.approx(0, abs=1e-6)
    held = [seen(r).held for r in records]
    assert [h is not None and h.released is not None for h in held] == ([False] * 4 + [True]) * 2
    last = seen(records[-1])
    assert last.held is not None
    assert last.held.released is not None
    assert freed_share(IDLE_KB, last.held.rss_kb, last.held.released.rss_kb) == pytest.approx(0.75, abs=0.01)
    assert last.held.established == 25_000


def test_an_emulated_host_holds_requests_for_as_long_as_it_needs_to_read_them(bed: Bed) -> None:
    emulated = Condition(runtime="vm", network="vm", jdk="25.0.1", accelerator="tcg")
    records = bed.run(planned("held", emulated, rounds=1, variants=["virtual"]), EMULATED)
    assert [seen(r).load.delay_s for r in records] == [20.0] * 5
    assert [call.spec.url[-9:] for call in bed.world.windows if call.delay_s >= 1] == ["?ms=20000"] * 5
    assert all(seen(r).load.goodput_rps is None for r in records)
    assert seen(records[-1]).held is not None
    assert costs(records)[VIRTUAL, "rss"].interval.value == pytest.approx(20.0, rel=0.05)


def test_a_pool_that_cannot_hold_all_has_no_cost(bed: Bed) -> None:
    records = bed.run(planned("held", rounds=1, variants=["platform"]))
    assert costs(records) == {}
    assert all(Flag.POOL_CEILING in seen(r).flags for r in records)


def test_the_smallest_heap_is_found(bed: Bed) -> None:
    def too_small(call: Call) -> LoadOutcome | None:
        mb = int(call.server.launch.jvm_flags[-1].removeprefix("-Xmx").removesuffix("m"))
        if mb < 195:
            call.server.running = False
            raise LoadError("generator_failed", "wrk exited without a report")
        return None

    bed.world.fault = too_small
    (record,) = bed.run(planned("heap", variants=["virtual"], rounds=1))
    found = trial(record).result
    assert isinstance(found, HeapResult)
    assert found.smallest_mb == 200
    assert found.steady
    assert {t.mb: t.worked for t in found.trials}[192] is False
    assert sum(t.worked and t.mb == 200 for t in found.trials) == 3


def test_a_search_ends_where_the_harness_itself_fails(bed: Bed) -> None:
    def missing(call: Call) -> LoadOutcome | None:
        raise LoadError("generator_missing", "wrk is not there")

    bed.world.fault = missing
    (record,) = bed.run(planned("heap", variants=["virtual"], rounds=1))
    assert record.failure is not None
    assert record.failure.kind == "generator_missing"


def test_scale_goes_on_until_a_limit_says_stop(bed: Bed) -> None:
    bed.world.nofile = 50_500
    (record,) = bed.run(planned("scale", variants=["virtual"], rounds=1))
    found = trial(record).result
    assert isinstance(found, ScaleResult)
    assert [step.connections for step in found.steps] == [10_000, 20_000, 40_000, 50_000]
    assert (found.reached, found.stopped_by) == (50_000, "nofile hard limit 50,500")
    assert "HOST" not in bed.world.servers[0].launch.env, "the network of this condition is the host's"


def test_scale_takes_no_memory_that_is_not_there(bed: Bed) -> None:
    bed.world.available_kb = 300_000
    (record,) = bed.run(planned("scale", variants=["virtual"], rounds=1))
    found = trial(record).result
    assert isinstance(found, ScaleResult)
    assert found.reached == 20_000
    assert found.stopped_by == "memory: 40,000 would need 391 MB more, but 293 MB are free"


# --- sweeps


def test_rounds_are_calibrated_once_and_asked_of_all(bed: Bed) -> None:
    bed.world.seconds_per_round = 2e-7
    bed.world.cpu_s_a_load = 1_000.0
    made = planned("cpu", rounds=1, cases=["0.5ms", "2ms+2ms"], tiers=["5", "50"])
    made = calibrate_plan(made, started_entries(made, catalog()), bed.runtime, bed.store, Display())
    assert {case.name: case.path for case in made.programs["cpu"].cases} == {
        "0.5ms": "/cpu?rounds=2500",
        "2ms+2ms": "/cpu?rounds=10000&ms=2",
    }
    assert bed.world.servers[0].launch.entry.id == BARE, "a native entry, where nothing has to warm up"
    records = bed.run(made)
    assert {seen(r).load.path for r in records if r.case == "2ms+2ms"} == {"/cpu?rounds=10000&ms=2"}
    together = {frozenset(r.together) for r in records if r.entry != BARE}
    assert together == {frozenset({PLATFORM, VIRTUAL})}, "variants of a server are compared in turns"
    assert calibrate_plan(made, started_entries(made, catalog()), bed.runtime, bed.store, Display()) == made


def test_rounds_that_take_far_less_than_the_work_of_their_case_give_no_figures(bed: Bed) -> None:
    # This happens if the rounds were timed on a JVM that had just started: 10,000 responses in 2 s of CPU time are 0.2
    # ms each.
    def answered(call: Call) -> LoadOutcome:
        return outcome(call.spec, [[round(call.spec.connections * call.spec.duration_s / 10_000 * 1e6), 10_000]])

    bed.world.fault = answered
    made = planned("cpu", rounds=1, cases=["0.1ms", "5ms"], tiers=["5"], variants=["platform", "virtual"])
    records = bed.run(calibrate_plan(made, started_entries(made, catalog()), bed.runtime, bed.store, Display()))
    assert {(r.case, r.failure and r.failure.kind) for r in records} == {("0.1ms", None), ("5ms", "little_work")}


def test_windows_are_as_long_as_twenty_answers_to_a_connection_take(bed: Bed) -> None:
    bed.world.fault = lambda call: outcome(call.spec, [[10_000, round(100 * call.spec.duration_s)]])
    made = planned("cpu", rounds=1, cases=["5ms"], tiers=["5", "50", "200"], variants=["platform", "virtual"])
    bed.run(calibrate_plan(made, started_entries(made, catalog()), bed.runtime, bed.store, Display()))
    windows: dict[int, list[float]] = {}
    for call in bed.world.windows:
        windows.setdefault(call.spec.connections, []).append(call.spec.duration_s)
    assert windows == {5: [1] * 8, 50: [10] * 4, 200: [20] * 4}, "fewer of them, once in each place of A B B A"


def test_bodies_are_asked_by_a_thread_for_each_connection_in_turns(bed: Bed) -> None:
    made = planned("bytes", cases=["1024"], variants=["platform", "virtual"], tiers=["1", "8"], rounds=1)
    records = bed.run(made)
    calls = bed.world.windows
    asked = Counter((c.spec.threads, c.spec.connections, c.spec.duration_s) for c in calls)
    assert asked == {(1, 1, 1): 20, (8, 8, 1): 20}
    assert {c.spec.url.partition("?")[2] for c in calls} == {"n=1024"}
    assert [len(seen(record).windows) for record in records] == [10] * 4
    assert {seen(record).load.duration_s for record in records} == {10}


def test_a_wait_for_the_service_is_seen_whole(bed: Bed) -> None:
    # Two waits of 5 s fit into each window, however short the windows for throughput are.
    records = bed.run(planned("service", cases=["5s", "0ms"], tiers=["8"], rounds=1))
    assert {r.entry for r in records} == {PLATFORM, VIRTUAL}
    durations: dict[str, set[float]] = {}
    for call in bed.world.windows:
        durations.setdefault(call.spec.url.partition("?ms=")[2], set()).add(call.spec.duration_s)
    assert durations == {"5000": {13}, "0": {1}}


@pytest.mark.parametrize("quick", [False, True])
def test_a_wait_for_the_service_is_seen_whole_by_an_entry_alone(bed: Bed, *, quick: bool) -> None:
    bed.run(planned("service", cases=["5s"], variants=["virtual"], tiers=["8"], rounds=1, quick=quick))
    assert {call.spec.duration_s for call in bed.world.windows} == {13}


# --- rates


def test_a_constant_rate_is_accounted_from_all_requests(bed: Bed) -> None:
    records = bed.run(planned("open", rounds=1))
    attack = bed.world.attacks[0]
    assert (attack.rate, attack.duration_s, attack.timeout_s, attack.keep_alive) == (400, 60, 60, False)
    for record in records:
        found = trial(record).result
        assert isinstance(found, OpenResult)
        assert (found.due, found.sent, found.ok, found.ok_share) == (24_000, 24_000, 24_000, 1.0)
        assert found.latency.p50_us == 4_000_000
        assert found.ok_per_s == pytest.approx(24_000 / 64, rel=0.01)
        assert trial(record).flags == []


def test_a_generator_that_fell_behind_makes_no_data(bed: Bed) -> None:
    bed.world.lag_us = 300_000
    found = trial(bed.run(planned("open", rounds=1))[0])
    assert isinstance(found.result, OpenResult)
    assert found.result.behind is not None
    assert found.flags == [Flag.GENERATOR_BEHIND]
    assert "no figures" in found.result.summary


def test_fixed_rates_are_shares_of_the_slowest_entry(bed: Bed) -> None:
    # 64 clients, each served after 10 ms, make 6,400 requests per second.
    made = planned("rate", rounds=1, cases=["50pct", "90pct"])
    made = calibrate_plan(made, started_entries(made, catalog()), bed.runtime, bed.store, Display())
    assert made.programs["rate"].capacity_rps == pytest.approx(6_400)
    assert [case.rate for case in made.programs["rate"].cases] == [3_200, 5_760]
    found = [trial(r).result for r in bed.run(made) if r.case == "90pct"]
    assert [isinstance(r, OpenResult) and (r.rate, r.share) for r in found] == [(5_760, 0.9)] * 3


# --- the rest


def test_apache_bench_is_counted(bed: Bed) -> None:
    found = trial(bed.run(planned("ab", rounds=1))[0])
    assert isinstance(found.result, AbResult)
    assert (found.result.requests, found.result.flawless) == (100_000, True)
    assert found.memory is not None
    assert found.work is not None
    assert found.work.cpu_s_per_million == 0, "the fake spends nothing here"


@pytest.mark.parametrize(("bad", "fails"), [(1_000, False), (1_001, True)])
def test_apache_bench_with_over_one_percent_bad_responses_gives_no_figures(bed: Bed, bad: int, fails: bool) -> None:
    bed.world.ab_non_2xx = bad
    record = bed.run(planned("ab", rounds=1))[0]
    assert (record.failure is not None) is fails
    if record.failure:
        assert (record.failure.kind, record.trial) == ("bad_responses", None)
        assert record.failure.message == "1,001 of 100,000 responses were bad"


@pytest.mark.parametrize(("closed", "flags"), [(500, []), (501, [Flag.RECONNECTS])])
def test_apache_bench_on_a_server_that_closes_connections_is_flagged(bed: Bed, closed: int, flags: list[Flag]) -> None:
    bed.world.ab_closed = closed
    assert trial(bed.run(planned("ab", rounds=1))[0]).flags == flags


def test_slow_readers_hold_the_threads_of_a_pool(bed: Bed) -> None:
    found = {(r.entry, r.tier): trial(r).result for r in bed.run(planned("slow-readers", tiers=["100", "300"]))}
    answered = {key: (one.answered, one.p50_us) for key, one in found.items() if isinstance(one, SlowReadersResult)}
    assert answered.pop((PLATFORM, "300")) == (0, None)
    assert set(answered.values()) == {(10, 2_000)}
    assert len(answered) == 5


def test_a_capacity_of_bad_responses_is_none(bed: Bed) -> None:
    bed.world.attack_fails = 1_000
    with pytest.raises(LoadError, match=r"1,000 of \S+ responses were bad: status 503"):
        calibrate_plan(
            planned("rate", rounds=1), started_entries(planned("rate"), catalog()), bed.runtime, bed.store,
            Display(),
        )  # fmt: skip


def test_starts_of_containers_are_timed_by_their_line(tmp_path: Path) -> None:
    bed = Bed(tmp_path, runtime="container")
    records = bed.run(planned("startup", Condition(runtime="container", jdk="25"), rounds=1))
    for record in records:
        found = trial(record).result
        assert isinstance(found, StartupResult)
        assert found.first_answer_s == [0.4] * 20
        assert found.rss_kb == [IDLE_KB] * 6
    assert len(bed.world.servers) == 60


@pytest.mark.parametrize("scenario", ["ramp", "open", "ab"])
@pytest.mark.parametrize("step_s", [-5.0, 5.0])
def test_a_clock_that_was_set_fails_the_trial(
    bed: Bed, scenario: str, step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Waking from sleep counts, too: the time of day has advanced then, and the harness's own clock has not.
    at = itertools.count()
    monkeypatch.setattr(base, "clock_offset", lambda: step_s * next(at))
    kinds = {record.failure.kind for record in bed.run(planned(scenario, rounds=1)) if record.failure}
    assert kinds == {"clock_set"}


def test_starts_that_a_quota_or_a_hypervisor_slowed_down_are_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Probe(NoiseProbe):
        def stop(self, *_: object, **__: object) -> Noise:
            return Noise(elapsed_s=1.0, throttled_share=0.5, steal_share=0.5)

    monkeypatch.setattr(startup, "NoiseProbe", Probe)
    records = Bed(tmp_path, runtime="container").run(
        planned("startup", Condition(runtime="container", jdk="25"), rounds=1)
    )
    assert {tuple(trial(record).flags) for record in records} == {(Flag.THROTTLED, Flag.STOLEN)}


@pytest.mark.parametrize("scenario", ["ramp", "open", "ab", "slow-readers"])
def test_a_record_is_read_back_as_it_was_written(bed: Bed, scenario: str) -> None:
    records = bed.run(planned(scenario, rounds=1))
    assert Store.open(bed.store.folder).records() == records
