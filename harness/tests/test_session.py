from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import builders
import pytest
from fakes import (
    LAST_WORDS,
    POOL,
    RPS,
    Call,
    FakeAttacker,
    FakeBenchmarker,
    FakeClock,
    FakeDisplay,
    FakeGenerator,
    FakeInstruments,
    FakeRuntime,
    FakeServer,
    FakeSlowReaders,
    World,
    outcome,
)
from sessions import session

from zoo.bench.session import RunningServer
from zoo.bench.window import Window
from zoo.core import blocks as resume
from zoo.core import capacity
from zoo.core import windows as timing
from zoo.core.blocks import Block, Design
from zoo.core.condition import Condition
from zoo.core.defaults import Profile
from zoo.core.entry_id import aa_id
from zoo.core.errors import RuntimeFailure
from zoo.core.flag import Flag
from zoo.core.measurement import GeneratorUse, Measurement
from zoo.core.record import Record
from zoo.core.run_folder import Store, StoreError
from zoo.load.base import Generator, LoadOutcome
from zoo.load.spec import LoadError
from zoo.runtime.base import Launch
from zoo.stats.summary import cells, rows

PLATFORM, VIRTUAL, BARE = "java-a:platform", "java-a:virtual", "rust-n:bare"
TIERS = [capacity.parse_tier(name) for name in ("100", "1k", "25k")]
Fault = Callable[[Call], LoadOutcome | None]
PROFILE = Profile(
    rounds=1,
    cycles=2,
    window_s=8,
    brief_warmup_s=2,
    warmup_window_s=5,
    warmup_windows_native=4,
    warmup_windows_jvm=6,
    warmup_cap_s=35,
    sleep_warmup_s=6,
    sleep_delay_s=10,
    connect_s=6,
    burst_waits=3.5,
    idle_s=1,
    rest_s=5,
)


OWN = Condition(jdk="25.0.1", jvm_flags=["-Xmx1g"], env={"MAX_THREADS": "200"})
CONDITIONS = {"": OWN, "heap=50m": Condition(jdk="25.0.1", jvm_flags=["-Xmx50m"])}


class Bed:
    """A session on a simulated machine, with its store in a real folder."""

    def __init__(self, folder: Path) -> None:
        self.world = World()
        self.display = FakeDisplay()
        self.store = Store.create(folder / "results", builders.run())
        self.running: dict[str, RunningServer] = {}
        self.conditions = CONDITIONS

    def run(self, blocks: list[Block], done: frozenset[tuple[str, str, str, int]] = frozenset()) -> list[Record]:
        made, emulated = session(self.world, self.store), self.conditions[""].emulated
        replace(
            made,
            runtimes={name: FakeRuntime(self.world) for name in self.conditions},
            conditions=self.conditions,
            bench=replace(made.bench, profile=PROFILE, display=self.display, emulated=emulated),
            running=self.running,
        ).run(blocks, done)
        return self.store.records()


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def one_block(entry: str = VIRTUAL, scenario: str = "hello") -> list[Block]:
    return builders.blocks([entry], [scenario], TIERS, rounds=1, seed=1)


def once(fault: Fault, when: Callable[[Call], bool]) -> Fault:
    """Return a fault for the first matching call only."""
    left = [True]

    def maybe(call: Call) -> LoadOutcome | None:
        if left[0] and when(call):
            left[0] = False
            return fault(call)
        return None

    return maybe


def crashed(call: Call) -> LoadOutcome:
    """End the server within a window that its generator still reports."""
    call.server.running = False
    return outcome(call.spec, [[2_000, 500]])


def in_window(connections: int) -> Callable[[Call], bool]:
    return lambda call: call.measured and call.spec.connections == connections


def seen(record: Record) -> Measurement:
    assert record.measurement is not None, record.failure
    return record.measurement


def kinds(records: list[Record]) -> dict[str, str | None]:
    """Return the failure kind by tier, or None for a measured one."""
    return {r.tier: r.failure.kind if r.failure else None for r in records}


# --- no faults


def test_a_whole_run_measures_every_cell_once_a_round_in_the_planned_order(bed: Bed) -> None:
    blocks = builders.blocks([PLATFORM, VIRTUAL, BARE], ["hello", "sleep"], TIERS, rounds=3, seed=5)
    records = bed.run(blocks)
    assert [r.key for r in records] == [(b.entries[0], b.scenario, t.name, b.round) for b in blocks for t in b.tiers]
    assert all(r.measurement for r in records)
    assert [(s.launch.entry.id, s.graces) for s in bed.world.servers] == [
        (b.entries[0], [timing.BACKLOG_GRACE_S]) for b in blocks
    ]
    assert not bed.world.running
    assert bed.world.most_running == 1, "two servers at once would measure each other"
    assert bed.world.sampling == 0
    assert bed.display.records == records


def test_a_record_is_on_disk_before_the_next_cell_begins(bed: Bed) -> None:
    written: list[int] = []

    def look(call: Call) -> None:
        if call.measured:
            written.append(len(Store.open(bed.store.folder).records()))

    bed.world.fault = look
    bed.run(one_block(scenario="hello") + one_block(scenario="sleep"))
    assert written == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("reset", "mark_kb"), [(True, 59_000), (False, None)])
def test_a_peak_between_two_samples_is_seen_where_its_mark_was_reset(
    bed: Bed, reset: bool, mark_kb: int | None
) -> None:
    bed.world.kb_per_connection, bed.world.unsampled_kb, bed.world.resets_marks = 10, 8_000, reset
    memory = seen(bed.run(one_block())[0]).memory
    assert memory is not None
    assert (memory.rss_peak_kb, memory.hwm_kb, memory.peak_kb) == (51_000, mark_kb, mark_kb or 51_000)


def test_a_measured_cell_carries_what_was_read(bed: Bed) -> None:
    bed.world.kb_per_connection = 10
    first = bed.run(one_block())[0]
    cell = seen(first)
    assert (first.entry, first.model, first.tier, first.round, first.position) == (
        VIRTUAL,
        "virtual-thread",
        "100",
        1,
        0,
    )
    assert first.condition.jvm_flags == ["-Xmx1g"]
    assert cell.load.goodput_rps == 50_000
    assert cell.load.latency.p50_us == 2_000
    assert cell.load.little == pytest.approx(1.0)
    assert cell.connections.established == 100
    assert cell.memory is not None
    assert cell.memory.rss_idle_kb == 50_000
    assert cell.memory.rss_peak_kb == 51_000
    assert cell.memory.heap_used_kb == 1_024
    assert cell.memory.heap_max_kb is None
    assert cell.work is not None
    assert cell.work.cpu_s == pytest.approx(2.0)
    assert cell.work.cpu_s_per_million == pytest.approx(2.0 / (50_000 * PROFILE.window_s) * 1e6)
    assert cell.work.threads_peak == 231
    assert cell.warmup.reached
    assert cell.server is not None
    assert cell.server.virtual
    assert cell.sampling.sampler == "host"
    assert cell.container is not None
    assert cell.container.cpu_s == pytest.approx(2.0)
    assert cell.container.memory_peak_kb == 70_000
    assert cell.flags == []
    assert (bed.store.folder / str(cell.load.histogram)).is_file()
    assert (bed.store.folder / cell.sampling.samples).is_file()


def test_only_the_last_cell_of_a_block_is_followed_by_a_rest(bed: Bed) -> None:
    memories = [seen(r).memory for r in bed.run(one_block())]
    assert [m is not None and m.rss_rested_kb is not None for m in memories] == [False, False, True]


def test_settings_reach_the_server(bed: Bed) -> None:
    bed.run(one_block())
    launch = bed.world.servers[0].launch
    assert launch.env == {"MAX_THREADS": "200"}
    assert launch.jvm_flags == ("-Xmx1g",)


def test_a_sleeping_cell_is_warmed_without_its_wait_and_measured_with_it(bed: Bed) -> None:
    bed.run(one_block(scenario="sleep"))
    paths = [(c.measured, c.spec.url.partition("8101")[2], c.spec.duration_s) for c in bed.world.calls]
    assert paths == [
        (False, "/sleep?ms=1", PROFILE.sleep_warmup_s),
        (True, "/sleep?ms=10000", 11),
        (True, "/sleep?ms=10000", 11),
        (True, "/sleep?ms=10000", 35 + PROFILE.connect_s),
    ]
    assert all(c.spec.timeout_s > c.spec.duration_s for c in bed.world.calls)


def test_the_readings_before_a_window_are_no_news_to_a_compiler(bed: Bed) -> None:
    # A compiler that has seen only one kind of request discards its code at the first request of another kind.
    first = seen(bed.run(one_block())[0])
    assert [turn.goodput / turn.loaded_s for turn in first.windows] == pytest.approx([50_000] * len(first.windows))


def test_a_jvm_is_warmed_longer_and_first_gently_and_every_server_briefly_at_each_further_tier(bed: Bed) -> None:
    bed.run(one_block(VIRTUAL))
    bed.run(one_block(BARE))
    warm = {
        e: [(c.spec.connections, c.spec.duration_s) for c in bed.world.calls if not c.measured and c.entry == e]
        for e in (VIRTUAL, BARE)
    }
    assert warm == {
        VIRTUAL: [(2, 5)] * 2 + [(100, 5)] * 4 + [(1_000, 2), (2_500, 2)],
        BARE: [(100, 5)] * 4 + [(1_000, 2), (2_500, 2)],
    }


@pytest.mark.parametrize(("slow", "loads", "held"), [(0, 6, True), (8, 9, True), (99, 12, False)])
def test_an_emulated_server_is_warmed_until_all_its_requests_can_be_held(
    bed: Bed, slow: int, loads: int, held: bool
) -> None:
    # 25,000 requests are read within 10 s or, in the first loads, within 50 s.
    bed.conditions = {"": Condition(runtime="vm", network="vm", accelerator="tcg")}
    bed.world.fault = lambda call: (
        outcome(call.spec, [[5_000_000 if len(bed.world.calls) <= slow else 50_000, 2_500]])
        if call.delay_s < 1
        else None
    )
    cell = seen(bed.run(builders.blocks([VIRTUAL], ["sleep"], TIERS[2:], rounds=1, seed=1))[0])
    assert [c.spec.connections for c in bed.world.calls if c.delay_s < 1] == [2_500] * loads
    assert cell.warmup.seconds == loads * PROFILE.sleep_warmup_s
    assert cell.warmup.pace is not None
    assert cell.warmup.pace.served == (50_000 if held else 500)
    assert (Flag.NOT_AT_ONCE in cell.flags) is not held


def test_a_warm_up_that_never_settles_ends_at_its_cap_and_is_flagged(bed: Bed) -> None:
    rates = itertools.count(1_000, 200)

    def rise(call: Call) -> LoadOutcome | None:
        return None if call.measured else outcome(call.spec, [[2_000, next(rates)]])

    bed.world.fault = rise
    cell = seen(bed.run(one_block())[0])
    assert cell.warmup.reached is False
    assert cell.warmup.seconds == PROFILE.warmup_cap_s
    assert cell.flags == [Flag.WARMUP_SHORT]


def test_memory_held_by_a_connection_is_found_again(bed: Bed) -> None:
    bed.world.kb_per_connection = 17.0
    records = bed.run(builders.blocks([VIRTUAL], ["sleep"], TIERS, rounds=2, seed=1))
    for row in rows(cells(records)):
        assert row.held
        assert row.kb_per_connection is not None
        assert row.kb_per_connection.value == pytest.approx(17.0, rel=0.05)
        assert row.kb_per_connection.n == 2


def test_a_tier_that_the_host_cannot_hold_is_cut_and_says_so(bed: Bed) -> None:
    bed.world.nofile = 20_000
    low, _, high = (seen(r) for r in bed.run(one_block()))
    assert low.connections.limited_by is None
    assert high.connections.requested == 25_000
    assert high.connections.actual == high.connections.established == 19_500
    assert high.connections.limited_by == "nofile hard limit 20,000"
    assert high.flags == [Flag.CLAMPED]
    assert bed.world.windows[-1].spec.connections == 19_500


def test_the_time_to_open_many_connections_is_no_part_of_the_load(bed: Bed) -> None:
    bed.world.connect_s = 4.0
    low, _, high = (seen(r) for r in bed.run(one_block()))
    assert low.load.connect_s == 0
    assert high.load.connect_s == pytest.approx(4.0, rel=0.05)
    assert high.load.goodput_rps == pytest.approx(50_000, rel=0.02)
    assert high.load.little == pytest.approx(1.0, rel=0.02)
    assert high.flags == []


def test_load_while_other_connections_are_opened_counts_as_load(bed: Bed) -> None:
    # A thread of wrk starts when its own connections are open. If that did not count, the rate would be too high.
    def early(call: Call) -> LoadOutcome | None:
        if not call.measured or call.spec.connections < 25_000:
            return None
        busy_s = 0.7 * call.spec.duration_s
        return outcome(call.spec, [[round(call.spec.connections / RPS * 1e6), round(RPS * busy_s)]])

    bed.world.connect_s, bed.world.fault = 5.0, early
    high = seen(bed.run(one_block())[2])
    assert high.load.connect_s == pytest.approx(0.3 * high.load.runtime_s, rel=0.01)
    assert high.load.goodput_rps == pytest.approx(RPS, rel=0.01)
    assert high.flags == []


def test_a_window_spent_on_connecting_is_flagged(bed: Bed) -> None:
    bed.world.connect_s = 9.0
    assert seen(bed.run(one_block())[2]).flags == [Flag.SLOW_CONNECT]


@pytest.mark.parametrize("waited_s", [0, 14])
def test_a_tier_begins_when_nothing_of_the_tier_before_is_left(bed: Bed, waited_s: int) -> None:
    # A thread that waits in a request notices only at its end that the client is gone. If an event loop has closed the
    # connection, the thread keeps waiting.
    begun: list[float] = []
    bed.world.fault = lambda call: begun.append(bed.world.seconds) if call.measured else None
    bed.world.closes_after_s = waited_s
    records = bed.run(one_block(VIRTUAL, "sleep"))
    assert [seen(r).connections.left_open for r in records] == [0, 0, 0]
    assert all(row.held for row in rows(cells(records)))
    windows = [call.spec.duration_s for call in bed.world.windows]
    gaps = [later - earlier for earlier, later in itertools.pairwise(begun)]
    assert gaps == pytest.approx([window + max(waited_s, 10) for window in windows[:2]], abs=1.5)


def test_a_server_that_never_closes_them_is_said_to_hold_them_and_makes_no_slope(bed: Bed) -> None:
    bed.world.closes_after_s = 1e6
    records = bed.run(one_block(VIRTUAL, "sleep"))
    _, middle, high = (seen(r) for r in records)
    assert [m.connections.left_open for m in (middle, high)] == [100, 1_000]
    assert Flag.LEFT_OPEN in middle.flags
    assert Flag.LEFT_OPEN in high.flags
    assert all(row.kb_per_connection is None for row in rows(cells(records)))


# --- a pool


def test_a_bounded_pool_reaches_its_ceiling_and_that_is_no_failure(bed: Bed) -> None:
    low, middle, _ = (seen(r) for r in bed.run(one_block(PLATFORM, "sleep")))
    assert low.flags == []
    assert middle.flags == [Flag.POOL_CEILING]
    assert middle.load.ceiling_rps == POOL / 10
    assert middle.load.goodput_rps is not None
    assert middle.load.goodput_rps <= middle.load.ceiling_rps


def test_a_pool_is_bounded_by_the_threads_it_came_to(bed: Bed) -> None:
    bed.world.threads = 31
    low, *_ = (seen(r) for r in bed.run(one_block(PLATFORM, "sleep")))
    assert low.flags == [Flag.POOL_CEILING]
    assert low.load.ceiling_rps == 31 / 10


def test_a_pool_without_a_bound_holds_what_it_has_threads_for(bed: Bed) -> None:
    bed.world.sizes_itself = True
    low, middle, _ = (seen(r) for r in bed.run(one_block(PLATFORM, "sleep")))
    assert low.flags == []
    assert middle.flags == [Flag.POOL_CEILING]
    assert middle.load.ceiling_rps == bed.world.threads / 10


def test_a_pool_that_cannot_work_off_its_queue_is_started_anew(bed: Bed) -> None:
    bed.world.answers = lambda server: bed.world.windows[-1].spec.connections <= POOL
    records = bed.run(one_block(PLATFORM, "sleep"))
    assert kinds(records) == {"100": None, "1k": None, "25k": None}
    by_server = [[c.spec.connections for c in bed.world.windows if c.server is s] for s in bed.world.servers]
    assert by_server == [[100, 1_000], [25_000]]
    logs = [s.launch.log for s in bed.world.servers]
    assert len(set(logs)) == 2
    assert all(log.is_file() for log in logs)
    assert not bed.world.running


# --- faults


def test_a_server_that_does_not_start_fails_its_cells_and_the_run_goes_on(bed: Bed) -> None:
    def refuse(launch: Launch) -> None:
        if launch.entry.id == PLATFORM:
            raise RuntimeFailure("not_started", "ended with exit code 1 before it listened", "address already in use")

    bed.world.refuse_start = refuse
    records = bed.run(one_block(PLATFORM) + one_block(VIRTUAL))
    failed = [r.failure for r in records if r.entry == PLATFORM]
    assert [f and (f.kind, f.log_tail) for f in failed] == [("not_started", "address already in use")] * 3
    assert [r.failure for r in records if r.entry == VIRTUAL] == [None] * 3


def test_a_server_that_breaks_the_contract_is_not_measured(bed: Bed) -> None:
    def refuse(server: object) -> None:
        raise RuntimeFailure("contract", "contract probe: GET / answered 500")

    bed.world.refuse_probe = refuse
    records = bed.run(one_block())
    assert kinds(records) == {"100": "contract", "1k": "contract", "25k": "contract"}
    assert records[0].failure is not None
    assert records[0].failure.log_tail == LAST_WORDS
    assert bed.world.calls == []
    assert not bed.world.running


def test_a_server_that_ends_right_after_its_probe_fails_its_cells(bed: Bed) -> None:
    rest = FakeClock.rest

    def end(self: FakeClock, seconds: float) -> None:
        rest(self, seconds)
        for server in bed.world.running:
            server.running = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeClock, "rest", end)
        records = bed.run(one_block())
    assert kinds(records) == {"100": "crashed", "1k": "crashed", "25k": "crashed"}


def test_a_crash_in_warm_up_names_the_crash_not_the_generator(bed: Bed) -> None:
    def crash(call: Call) -> LoadOutcome:
        call.server.running = False
        raise LoadError("generator_failed", "wrk exited without a report")

    bed.world.fault = crash
    records = bed.run(one_block())
    assert kinds(records) == {"100": "crashed", "1k": "crashed", "25k": "crashed"}
    assert records[0].failure is not None
    assert records[0].failure.log_tail == LAST_WORDS


def test_a_crash_in_warm_up_that_the_generator_does_not_notice_is_a_crash(bed: Bed) -> None:
    def crash(call: Call) -> LoadOutcome:
        call.server.running = False
        return outcome(call.spec, [], connect=100)

    bed.world.fault = once(crash, lambda call: not call.measured)
    assert kinds(bed.run(one_block())) == {"100": "crashed", "1k": None, "25k": None}


def test_a_crash_in_a_window_costs_that_cell_and_the_next_has_a_fresh_server(bed: Bed) -> None:
    bed.world.fault = once(crashed, in_window(1_000))
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": "crashed", "25k": None}
    assert records[1].failure is not None
    assert records[1].failure.log_tail == LAST_WORDS
    assert len(bed.world.servers) == 2
    assert seen(records[2]).warmup.reached
    assert not bed.world.running
    assert bed.world.sampling == 0


def test_a_full_disk_ends_the_run_and_its_servers(bed: Bed) -> None:
    records = bed.store.folder / "records.ndjson"
    records.unlink()
    records.symlink_to("/dev/full")
    with pytest.raises(StoreError, match="No space left on device"):
        bed.run(one_block())
    assert len(bed.world.servers) == 1
    assert not bed.world.running


def no_response_at(connections: int) -> Callable[[Call], LoadOutcome | None]:
    """Return a fault that leaves each window with these connections without a response."""
    return lambda call: outcome(call.spec, []) if in_window(connections)(call) else None


def test_connections_that_others_close_meanwhile_hide_no_hung_server(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    # The samples count the connections of the whole network; the check in mid-run counts those of the server.
    bed.world.fault = no_response_at(1_000)
    monkeypatch.setattr(Window, "sampled_connections", 0)
    failure = bed.run(one_block())[1].failure
    assert failure is not None
    assert failure.kind == "hung"


def test_no_request_and_no_error_is_a_hung_server(bed: Bed) -> None:
    bed.world.fault = no_response_at(1_000)
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": "hung", "25k": None}
    assert records[1].failure is not None
    assert records[1].failure.message.startswith("no request was answered in 32 s, and none failed")
    assert records[1].failure.log_tail == LAST_WORDS
    assert (bed.store.raw / "java-a-virtual-hello-1k-r1-threads.json").is_file()


def test_a_server_that_answers_late_gets_a_longer_window(bed: Bed) -> None:
    bed.world.cpu_s_a_load = 8.0
    bed.world.fault = once(lambda call: outcome(call.spec, []), in_window(1_000))
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": None, "25k": None}
    assert seen(records[1]).load.duration_s == 4 * 8


@pytest.mark.parametrize(("connect_s", "duration_s"), [(9.0, 23.0), (30.0, 45.0)])
def test_a_window_too_short_to_open_its_connections_is_run_longer(
    bed: Bed, connect_s: float, duration_s: float
) -> None:
    bed.world.connect_s = connect_s
    bed.world.fault = once(no_response_at(25_000), in_window(25_000))
    load = seen(bed.run(one_block())[2]).load
    assert load.duration_s == duration_s
    assert load.connect_s == pytest.approx(connect_s, abs=0.2)


@pytest.mark.parametrize(
    ("connect_s", "kind", "message"),
    [
        (9.0, "hung", "no request was answered in 23 s, and none failed"),
        (30.0, "not_connected", "opening 25,000 connections took 30.0 of 45.0 s, and no request was answered in the"),
        (300.0, "not_connected", "only 5,833 of 25,000 connections were open when the window ended, and wrk waits for"),
    ],
)
def test_a_window_without_a_response_is_run_longer_only_once(
    bed: Bed, connect_s: float, kind: str, message: str
) -> None:
    bed.world.connect_s = connect_s
    bed.world.fault = no_response_at(25_000)
    failure = bed.run(one_block())[2].failure
    assert failure is not None
    assert failure.kind == kind
    assert failure.message.startswith(message)


def test_connect_errors_fail_the_cell_and_say_how_many(bed: Bed) -> None:
    def refused(call: Call) -> LoadOutcome:
        return outcome(call.spec, [[2_000, 1_000]], connect=5_005)

    bed.world.fault = once(refused, in_window(25_000))
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": None, "25k": "connect_errors"}
    assert records[2].failure is not None
    assert records[2].failure.message == "5,005 of 25,000 connections could not be opened"


def test_bad_answers_are_flagged_and_left_out_of_goodput(bed: Bed) -> None:
    def bad(call: Call) -> LoadOutcome | None:
        return outcome(call.spec, [[2_000, 400_000]], status=40) if call.measured else None

    bed.world.fault = bad
    cell = seen(bed.run(one_block())[0])
    assert cell.load.goodput == 399_960
    assert cell.flags == [Flag.BAD_ANSWERS]


@pytest.mark.parametrize(
    "bad",
    [{"status": 9_000}, {"bytes": -500_000}, {"bytes": 500_000_000}],
    ids=["above 399", "shorter", "longer"],
)
@pytest.mark.parametrize("measured", [False, True])
def test_too_many_bad_responses_fail_the_cell(bed: Bed, bad: dict[str, int], measured: bool) -> None:
    # This applies in a window and before it: a server that sends errors is not warm.
    def faulty(call: Call) -> LoadOutcome:
        made = outcome(call.spec, [[2_000, 400_000]], status=bad.get("status", 0))
        return replace(made, bytes=made.bytes + bad.get("bytes", 0))

    bed.world.fault = once(faulty, lambda call: call.measured is measured and call.spec.connections == 1_000)
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": "bad_responses", "25k": None}
    assert records[1].failure is not None
    message = records[1].failure.message
    assert "9,000 of 400,000 responses were bad" in message if "status" in bad else "bytes on average" in message


@pytest.mark.parametrize(("share", "raised"), [(1.0, True), (0.01, True), (0.004, False)])
def test_a_server_that_closes_connections_is_flagged(bed: Bed, share: float, raised: bool) -> None:
    bed.world.reopens = round(400_000 * share)
    cell = seen(bed.run(one_block(BARE))[0])
    assert (Flag.RECONNECTS in cell.flags) is raised
    assert cell.connections.reopened == bed.world.reopens


@pytest.mark.parametrize(("cpu_s", "kind"), [(0.0, "wrong_process"), (0.5, "wrong_process"), (2.0, None)])
def test_a_process_that_does_too_little_under_load_is_another_one(bed: Bed, cpu_s: float, kind: str | None) -> None:
    bed.world.cpu_s_a_load = cpu_s
    records = bed.run(one_block(BARE))
    assert kinds(records)["100"] == kind
    if kind:
        assert records[0].failure is not None
        assert records[0].failure.message == (
            f"400,000 responses took process 1001 only {cpu_s:.2f} s of CPU time, so another process sends them: "
            "name its PID (PID=)"
        )


def test_latency_that_bad_responses_may_have_changed_is_not_published(bed: Bed) -> None:
    def bad(call: Call) -> LoadOutcome | None:
        return outcome(call.spec, [[2_000, 396_000], [90_000, 4_000]], status=3_000) if call.measured else None

    bed.world.fault = bad
    latency = seen(bed.run(one_block())[1]).load.latency
    assert (latency.p50_us, latency.p90_us, latency.p99_us) == (2_000, 2_000, None)


def test_a_window_that_something_cut_short_is_no_data(bed: Bed) -> None:
    def cut(call: Call) -> LoadOutcome:
        return replace(outcome(call.spec, [[2_000, 500]]), runtime_s=0.7 * call.spec.duration_s)

    bed.world.fault = once(cut, in_window(1_000))
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": "generator_cut", "25k": None}
    failure = records[1].failure
    assert failure is not None
    assert failure.message == "the load generator stopped after 5.6 of 8 s"


def two_hosts(call: Call, apart_s: float) -> LoadOutcome:
    """Return the outcome of two generators, the second of which started later."""
    made = outcome(call.spec, [[2_000, 500]])
    link = {"cpu_s": 1.0, "busiest_thread": 0.5, "round_trip_us": 100.0, "bandwidth_mb_s": 100.0}
    begun = [GeneratorUse(host=f"{at}", connections=1, requests=1, began_s=at, **link) for at in (0.0, apart_s)]
    return replace(made, generators=tuple(begun))


@pytest.mark.parametrize(("apart_s", "kind"), [(0.39, None), (0.41, "generators_apart")])
def test_a_window_whose_generators_begin_apart_is_no_data(bed: Bed, apart_s: float, kind: str | None) -> None:
    # At most 5% of the window's 8 s are allowed.
    bed.world.fault = once(lambda call: two_hosts(call, apart_s), in_window(1_000))
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": kind, "25k": None}
    if kind:
        failure = records[1].failure
        assert failure is not None
        assert failure.message == "the generators started 0.41 s apart in a load of 8 s"


def test_generators_may_begin_a_warm_up_apart(bed: Bed) -> None:
    bed.world.fault = lambda call: None if call.measured else two_hosts(call, 1.0)
    assert kinds(bed.run(one_block())) == {"100": None, "1k": None, "25k": None}


@pytest.mark.parametrize("told_s", [3_600.0, 20.0], ids=["set", "suspended"])
def test_a_window_in_which_the_clock_was_set_is_no_data(bed: Bed, told_s: float) -> None:
    def another_time(call: Call) -> LoadOutcome:
        return replace(outcome(call.spec, [[2_000, 500]]), runtime_s=told_s)

    bed.world.fault = once(another_time, in_window(1_000))
    records = bed.run(one_block())
    assert kinds(records) == {"100": None, "1k": "clock_set", "25k": None}
    assert records[1].failure is not None
    assert f"{told_s:,.0f} s of load took 8.0" in records[1].failure.message


def test_a_missing_generator_fails_every_cell_of_the_block(bed: Bed) -> None:
    def missing(call: Call) -> LoadOutcome:
        raise LoadError("generator_missing", "wrk is not there")

    bed.world.fault = missing
    records = bed.run(one_block())
    assert {r.failure.kind for r in records if r.failure} == {"generator_missing"}
    assert len(records) == 3
    assert not bed.world.running


def test_a_histogram_that_contradicts_itself_fails_its_cell_alone(bed: Bed) -> None:
    def invalid(call: Call) -> LoadOutcome:
        raise LoadError("histogram_invalid", "a negative bin", "what wrk printed")

    bed.world.fault = once(invalid, in_window(100))
    records = bed.run(one_block())
    assert kinds(records) == {"100": "histogram_invalid", "1k": None, "25k": None}
    assert records[0].failure is not None
    assert records[0].failure.log_tail == "what wrk printed"
    assert bed.world.sampling == 0


@pytest.mark.parametrize("measured", [True, False])
def test_ctrl_c_leaves_nothing_running_and_keeps_what_is_done(bed: Bed, measured: bool) -> None:
    def interrupt(call: Call) -> None:
        if call.spec.connections == 1_000 and call.measured is measured:
            raise KeyboardInterrupt

    bed.world.fault = interrupt
    with pytest.raises(KeyboardInterrupt):
        bed.run(one_block())
    assert kinds(bed.store.records()) == {"100": None}
    assert not bed.world.running
    assert bed.world.sampling == 0


def test_ctrl_c_in_the_first_warm_up_stops_the_server(bed: Bed) -> None:
    def interrupt(call: Call) -> None:
        raise KeyboardInterrupt

    bed.world.fault = interrupt
    with pytest.raises(KeyboardInterrupt):
        bed.run(one_block())
    assert len(bed.world.servers) == 1
    assert not bed.world.running


def test_a_fault_of_the_harness_itself_leaves_nothing_running(bed: Bed) -> None:
    def full(call: Call) -> None:
        if call.measured:
            raise OSError(28, "No space left on device")

    bed.world.fault = full
    with pytest.raises(OSError, match="No space left"):
        bed.run(one_block())
    assert not bed.world.running


# --- resuming


def test_resuming_measures_just_what_is_missing_in_the_stored_order(bed: Bed) -> None:
    blocks = builders.blocks([PLATFORM, VIRTUAL, BARE], ["hello", "sleep"], TIERS, rounds=2, seed=3)
    every = [(b.entries[0], b.scenario, t.name, b.round) for b in blocks for t in b.tiers]

    def interrupt(call: Call) -> None:
        if len(bed.world.windows) == 14:
            raise KeyboardInterrupt

    bed.world.fault = interrupt
    with pytest.raises(KeyboardInterrupt):
        bed.run(blocks)
    done = frozenset(r.key for r in bed.store.records())
    assert len(done) == 13

    bed.world.fault = lambda call: None
    started = len(bed.world.servers)
    records = bed.run(blocks, done)
    assert [r.key for r in records] == every
    assert len(bed.world.servers) - started == len(blocks) - 4  # four blocks were complete


def test_a_complete_run_is_not_measured_again(bed: Bed) -> None:
    blocks = one_block()
    done = frozenset(r.key for r in bed.run(blocks))
    bed.run(blocks, done)
    assert len(bed.world.servers) == 1
    assert len(bed.store.records()) == 3


def test_an_entry_measured_twice_a_round_has_two_ids_and_files_of_its_own(bed: Bed) -> None:
    twice = {"twins": [BARE], "twin_scenarios": ["hello"]}
    records = bed.run(builders.blocks([BARE], ["hello", "sleep"], TIERS[:1], rounds=2, seed=1, **twice))
    ids = [(r.entry, r.scenario) for r in records]
    assert sorted(set(ids)) == [(BARE, "hello"), (BARE, "sleep"), (aa_id(BARE), "hello")]
    assert len(ids) == len(bed.world.servers) == 6
    assert {s.launch.entry.id for s in bed.world.servers} == {BARE}
    files = [str(seen(r).load.histogram) for r in records]
    assert len(set(files)) == 6
    assert all((bed.store.folder / name).is_file() for name in files)


def test_the_fake_generator_is_one() -> None:
    generator: Generator = FakeGenerator(World())
    assert generator.pids() == []


# --- servers running side by side


def in_turns(rounds: int = 1) -> list[Block]:
    return builders.blocks([PLATFORM, VIRTUAL], ["hello"], TIERS, rounds, seed=1, design=Design.TURNS)


def test_variants_of_a_server_are_alive_at_once_and_loaded_in_turns(bed: Bed) -> None:
    records = bed.run(in_turns())
    assert [(r.entry, r.tier) for r in records] == [(e, t.name) for t in TIERS for e in (PLATFORM, VIRTUAL)]
    assert bed.world.most_running == 2
    assert not bed.world.running
    assert all(r.together == [PLATFORM, VIRTUAL] for r in records)
    low = [c for c in bed.world.windows if c.spec.connections == 100]
    assert [c.spec.duration_s for c in low] == [2] * 8
    turns = [c.entry for c in low]
    assert turns[:4] == turns[:4][::-1]
    assert turns[4:] == turns[4:][::-1]
    assert turns.count(PLATFORM) == turns.count(VIRTUAL) == 4


def test_a_cell_in_turns_is_the_sum_of_its_windows(bed: Bed) -> None:
    a, b = (seen(r) for r in bed.run(in_turns())[:2])
    assert sorted(w.place for w in [*a.windows, *b.windows]) == list(range(8))
    assert [w.goodput for w in a.windows] == [100_000] * 4
    assert a.load.requests == a.load.goodput == 400_000
    assert a.load.goodput_rps == 50_000
    assert a.load.runtime_s == a.load.duration_s == 8
    assert a.load.latency.samples == 400_000
    assert a.work is not None
    assert a.work.cpu_s == pytest.approx(8.0)
    assert a.load.little == pytest.approx(1.0)
    assert a.connections.established == 100
    assert a.flags == b.flags == []


def test_a_window_waits_for_what_the_one_before_left_to_do(bed: Bed) -> None:
    # Responses for clients that are gone would take CPU time from the next server.
    bed.world.works_on_s = 3.0
    begun: list[float] = []

    def note(call: Call) -> None:
        if in_window(100)(call):
            begun.append(bed.world.seconds)

    bed.world.fault = note
    bed.run(in_turns())
    between = [later - earlier - 2 for earlier, later in itertools.pairwise(begun)]
    assert len(between) == 7
    assert all(3.0 <= gap < 3.3 for gap in between)


def test_a_server_that_is_never_quiet_is_measured_all_the_same(bed: Bed) -> None:
    bed.world.works_on_s = 1e9
    assert all(record.measurement for record in bed.run(in_turns()))


@pytest.mark.parametrize("late", [{"starved": True}, {"count_s": 60.0}], ids=["begun late", "ended late"])
def test_connections_that_were_counted_too_late_are_not_observed(bed: Bed, late: dict[str, object]) -> None:
    for name, value in late.items():
        setattr(bed.world, name, value)
    cell = seen(bed.run(one_block())[0])
    assert cell.connections.established is None
    assert Flag.NOT_ESTABLISHED not in cell.flags


def test_each_round_starts_the_servers_of_a_block_in_the_reverse_order_of_the_one_before(bed: Bed) -> None:
    bed.run(builders.blocks([PLATFORM, VIRTUAL], ["hello"], TIERS[:1], rounds=2, design=Design.TURNS))
    started = [s.launch.entry.id for s in bed.world.servers]
    assert sorted(started[:2]) == [PLATFORM, VIRTUAL]
    assert started[2:] == started[1::-1]


def test_one_server_that_crashes_leaves_the_other_to_be_measured(bed: Bed) -> None:
    bed.world.fault = once(crashed, lambda call: in_window(1_000)(call) and call.entry == PLATFORM)
    records = bed.run(in_turns())
    found = {(r.entry, r.tier): r.failure.kind if r.failure else None for r in records}
    assert found.pop((PLATFORM, "1k")) == "crashed"
    assert set(found.values()) == {None}
    assert len(found) == 5
    assert sorted(s.launch.entry.id for s in bed.world.servers[:2]) == [PLATFORM, VIRTUAL]
    assert [s.launch.entry.id for s in bed.world.servers[2:]] == [PLATFORM]
    assert not bed.world.running


def test_one_server_that_does_not_start_leaves_the_other_to_be_measured(bed: Bed) -> None:
    def refuse(launch: Launch) -> None:
        if launch.entry.id == VIRTUAL:
            raise RuntimeFailure("not_started", "ended with exit code 1 before it listened")

    bed.world.refuse_start = refuse
    records = bed.run(in_turns())
    assert {(r.entry, r.failure.kind if r.failure else None) for r in records} == {
        (PLATFORM, None),
        (VIRTUAL, "not_started"),
    }


def test_ctrl_c_between_turns_leaves_nothing_running(bed: Bed) -> None:
    def interrupt(call: Call) -> None:
        if len(bed.world.windows) == 5:
            raise KeyboardInterrupt

    bed.world.fault = interrupt
    with pytest.raises(KeyboardInterrupt):
        bed.run(in_turns())
    assert not bed.world.running
    assert bed.store.records() == []


def test_going_on_measures_a_tier_anew_for_all_servers_alive_at_once(bed: Bed) -> None:
    blocks = in_turns()
    records = bed.run(blocks, frozenset({(PLATFORM, "hello", "100", 1)}))
    assert [(r.entry, r.tier) for r in records] == [(e, t.name) for t in TIERS for e in (PLATFORM, VIRTUAL)]


def test_going_on_measures_a_failed_cell_again_beside_those_of_its_turns(bed: Bed) -> None:
    bed.world.fault = once(crashed, in_window(1_000))
    before = bed.run(in_turns())
    failed = [r.entry for r in before if r.failure]
    assert len(failed) == 1

    records = bed.run(in_turns(), resume.measured_keys(before))
    assert [(r.entry, r.tier) for r in records[len(before) :]] == [(PLATFORM, "1k"), (VIRTUAL, "1k")]
    assert resume.measured_keys(records) == {r.key for r in before}


# --- conditions


def test_an_entry_under_two_conditions_is_measured_in_turns_with_itself(bed: Bed) -> None:
    blocks = builders.blocks([VIRTUAL], ["hello"], TIERS[:1], design=Design.TURNS, variations={"heap=50m": Condition()})
    records = bed.run(blocks)
    assert [(r.entry, r.condition) for r in records] == [
        (VIRTUAL, OWN),
        (f"{VIRTUAL}@heap=50m", CONDITIONS["heap=50m"]),
    ]
    assert sorted(s.launch.jvm_flags for s in bed.world.servers) == [("-Xmx1g",), ("-Xmx50m",)]
    assert bed.world.most_running == 2
    assert all(r.measurement for r in records)


# --- an external server


TARGET = "target:9000"


class Target(FakeServer):
    """An external server: its process is unknown, it lacks the contract, and the harness must not stop it."""

    def probe(self) -> None:
        return None

    def stop(self, grace_s: float = 15.0) -> int | None:
        self.graces.append(grace_s)
        return 0


class Outside(FakeInstruments):
    def snapshot(self, pid: int, deep: bool = False) -> None:
        return None


def target(bed: Bed) -> Target:
    world = bed.world
    launch = Launch(builders.entry(BARE), bed.store.raw / "none")
    made = Target(
        launch,
        7,
        9000,
        Outside(world),
        FakeGenerator(world),
        FakeAttacker(world),
        FakeBenchmarker(world),
        FakeSlowReaders(world),
    )
    made.home = "/page?x=1"
    world.servers.append(made)
    bed.running[TARGET] = RunningServer(made, Condition(runtime="target"))
    return made


def test_a_running_server_is_measured_in_turns_with_an_entry_and_never_started_or_ended(bed: Bed) -> None:
    hosted = target(bed)
    blocks = builders.blocks([BARE, TARGET], ["hello"], TIERS[:1], 2, 1, design=Design.TURNS, guests=[TARGET])
    records = bed.run(blocks)
    assert [(r.entry, r.failure) for r in records] == [(BARE, None), (TARGET, None)] * 2
    mine, other = records[1], records[0]
    assert (mine.model, mine.condition.runtime, mine.together) == ("unknown", "target", [BARE, TARGET])
    assert other.condition == OWN
    assert (seen(mine).memory, seen(mine).work, seen(mine).server) == (None, None, None)
    assert {turn.cpu_s for turn in seen(mine).windows} == {None}
    assert seen(mine).load.path == "/page?x=1"
    assert {call.spec.url for call in bed.world.calls if call.server is hosted} == {"http://127.0.0.1:9000/page?x=1"}
    assert seen(mine).warmup.gentle > 0, "nothing is known of it: warmed up like a JVM"
    assert hosted.running
    assert len(bed.world.servers) == 3, "the entry was started in each round, the target never"


def test_the_same_running_server_can_be_measured_twice_a_round(bed: Bed) -> None:
    hosted = target(bed)
    twins = {"twins": [TARGET], "twin_scenarios": ["hello"], "design": Design.TURNS}
    records = bed.run(builders.blocks([TARGET], ["hello"], TIERS[:1], 1, 1, **twins, guests=[TARGET]))
    assert [(r.entry, r.failure) for r in records] == [(TARGET, None), (aa_id(TARGET), None)]
    assert {call.server for call in bed.world.calls} == {hosted}
