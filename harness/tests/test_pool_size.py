"""Tests of `pool-size`: who counts as served, which limit is named, what is recommended, and cells in a fake world."""

from __future__ import annotations

import re
from pathlib import Path

import builders
import pytest
from fakes import FakeServer, World
from hypothesis import given
from hypothesis import strategies as st
from sessions import session

from zoo.core.blocks import blocks_of
from zoo.core.condition import Condition
from zoo.core.errors import RuntimeFailure
from zoo.core.host_facts import CgroupLimits, Limits
from zoo.core.measurement import TaskLimit
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.core.samples import Hits
from zoo.core.trial_results import PoolSizeResult, Quantiles
from zoo.load.vegeta import Attack, AttackResult
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.runtime.base import Launch
from zoo.scenarios.pool_size.analysis import (
    MEMORY_MARGIN,
    Action,
    PoolOption,
    Stop,
    burst,
    ended,
    first_requests,
    recommend,
    stop,
)
from zoo.scenarios.pool_size.spec import PoolChoice
from zoo.scenarios.pool_size.view import answer_block, switch_advice

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"

LOAD = "Served in the first wait of 1,000 requests at once, each waiting {} s, and peak memory; 1 round"


def pool_result(pool: int | None, served: int, requests: int = 1_000) -> PoolSizeResult:
    """Return the result of requests that wait 4 s, of which this many are served in the first wait."""
    return PoolSizeResult(
        delay_s=4.0,
        timeout_s=10.0,
        requests=requests,
        pool=pool,
        served_first=served,
        served=requests,
        failed={},
        latency=Quantiles(p50_us=None, p90_us=None, p99_us=None, p999_us=None),
        grown_s=None,
        threads=None,
        rss_kb=None,
        heap_kb=None,
        stacks_kb=None,
        hello=None,
        cpu_s=None,
        version="",
        answers=None,
    )


# --- who was served


def hits(requests: int, pool: int, delay_s: float, timeout_s: float, spread_s: float = 0.0) -> Hits:
    """Return the requests of a pool that starts each of its threads as soon as a request arrives."""
    sent = [round(1e6 * spread_s * place / requests) for place in range(requests)]
    free = [0] * pool
    took: list[int] = []
    late: list[int] = []
    for place, at in enumerate(sent):
        begun = max(at, free[place % pool])
        free[place % pool] = begun + round(1e6 * delay_s)
        latency = free[place % pool] - at
        if latency > 1e6 * timeout_s:
            late.append(place)
        took.append(min(latency, round(1e6 * timeout_s)))
    return Hits(sent, took, {"timeout": late} if late else {})


@given(
    st.integers(1, 400), st.integers(1, 400), st.sampled_from([0.5, 2.0, 10.0]), st.floats(0.0, 0.5), st.integers(1, 3)
)
def test_a_pool_serves_as_many_in_the_first_wait_as_it_has_threads(
    requests: int, pool: int, delay_s: float, spread: float, processes: int
) -> None:
    # Requests may arrive over half of the first wait, and several processes may send them.
    whole = hits(requests, pool, delay_s, 2.5 * delay_s, spread * delay_s)
    parts = [
        Hits(
            whole.sent_us[n::processes],
            whole.took_us[n::processes],
            {kind: [p // processes for p in of if p % processes == n] for kind, of in whole.failed.items()},
        )
        for n in range(processes)
    ]
    found = burst(parts, delay_s)
    assert found.served_first == min(requests, pool)
    assert found.served_first <= found.served <= requests
    assert found.grown_s is not None
    assert found.grown_s == pytest.approx(0, abs=spread * delay_s + 0.01)
    assert found.took_us == sorted(found.took_us)


@given(st.integers(200, 2_000), st.integers(1, 2_000))
def test_requests_without_a_response_count_as_slower_than_all_others(requests: int, served: int) -> None:
    served = min(served, requests)
    one = Hits([0] * requests, [1_000_000] * requests, {"timeout": list(range(served, requests))})
    found = burst([one], 1.0)
    assert found.served == served
    assert (found.latency.p50_us is not None) == (served >= requests / 2)


def test_the_request_that_the_generator_had_ready_is_left_out() -> None:
    one = Hits([0, 5, 1_000_100], [1_000_000, 900, 7], {"reset": [1], "timeout": [2]})
    assert first_requests([one], 1.0) == [Hits([0, 5], [1_000_000, 900], {"reset": [1]})]


def test_nobody_was_served() -> None:
    found = burst([Hits([0, 0], [9, 9], {"refused": [0, 1]})], 1.0)
    assert (found.served_first, found.served, found.grown_s, found.latency.p50_us) == (0, 0, None, None)


# --- limits

HOST = Limits(nproc=None, threads_max=190_000, pid_max=32_768, max_map_count=65_530)
NO_THREAD = 'WARN Failed to start thread "Unknown thread" with pthread_create failed (EAGAIN) for attributes: …'


def limit(most: int, refused: int) -> TaskLimit:
    return TaskLimit(most=most, refused=refused)


def test_a_container_that_refused_threads_is_named_with_its_setting() -> None:
    groups = (limit(4_096, 2), limit(4_096, 9))
    assert stop("", HOST, groups, 5_000, contained=True) == Stop("cgroup pids.max 4,096", "SERVER_PIDS=5100")
    assert stop("", HOST, groups, 5_000, contained=False).fix.startswith("TasksMax=5100 in systemd")
    assert stop("", HOST, (limit(4_096, 9), limit(4_096, 9)), 5_000, contained=True) == Stop()


@pytest.mark.parametrize(
    ("limits", "before", "expected"),
    [
        (HOST, None, Stop("vm.max_map_count 65,530 (two per thread)", "sysctl -w vm.max_map_count=80200")),
        (HOST, limit(4_096, 0), Stop("cgroup pids.max 4,096", "SERVER_PIDS=40100")),
        (
            HOST.model_copy(update={"max_map_count": 70_000}),
            None,
            Stop("kernel.pid_max 32,768", "sysctl -w kernel.pid_max=40100"),
        ),
        (HOST.model_copy(update={"nproc": 800}), None, Stop("ulimit -u 800", "ulimit -u 40100")),
        (Limits(), None, Stop("the system refused another thread")),
        (Limits(cgroup=CgroupLimits(pids=900)), None, Stop("cgroup pids.max 900", "SERVER_PIDS=40100")),
    ],
)
def test_a_server_that_got_no_thread_reached_the_lowest_limit(
    limits: Limits, before: TaskLimit | None, expected: Stop
) -> None:
    # A server that has ended cannot be read any more, so its log and the limits from before have to do.
    assert stop(NO_THREAD, limits, (before, None), 40_000, contained=True) == expected


def test_a_heap_that_is_full_and_an_end_without_words() -> None:
    full = stop("java.lang.OutOfMemoryError: Java heap space", HOST, (None, None), 9, contained=False)
    assert full.by == "the heap is full"
    assert ended("", full) == full
    assert ended("a\nthread 'main' panicked at x", Stop()).by == "the server ended: thread 'main' panicked at x"
    assert ended("", Stop()).by == "the server ended: its log names no reason"


# --- recommendations


def way(size: PoolChoice, pool: int | None, served: int, **more: float) -> PoolOption:
    entry = VIRTUAL if size is PoolChoice.VIRTUAL else PLATFORM
    peak_mb, hello = more.get("peak_mb"), more.get("hello")
    return PoolOption(entry, size, pool, 1_000, 10.0, served, peak_mb, hello, threads=pool)


NOW = way(PoolChoice.CURRENT, 200, 200, peak_mb=150)
HALF = way(PoolChoice.HALF, 500, 500, peak_mb=200)
ALL = way(PoolChoice.ALL, 1_000, 1_000, peak_mb=300, hello=20)
FREE = way(PoolChoice.VIRTUAL, None, 1_000, peak_mb=280, hello=21)


def test_a_pool_that_serves_all_is_left() -> None:
    found = recommend([way(PoolChoice.CURRENT, 2_000, 995), HALF, ALL, FREE])
    assert found is not None
    assert (found.text, found.next) == ("leave it", ())


def test_a_larger_pool_that_costs_about_as_much_is_the_smaller_change() -> None:
    found = recommend([NOW, HALF, ALL, FREE])
    assert found is not None
    assert found.text == "enlarge the pool to about 1,000"
    assert found.why == (
        "a pool of 200 serves 200 of 1,000 in the first wait. All are served by a pool of 1,000 (peak 300 MB) and "
        "virtual threads (peak 280 MB)"
    )
    assert [one.partition(":")[0] for one in found.next] == ["database connections", "limits of a container", "memory"]
    assert found.next[1].endswith("the compose file allows 4,096, which is enough")
    assert found.next[2].startswith("memory: 150 MB more than now at the peak")


def test_a_pool_beyond_the_limit_of_the_compose_file_names_its_setting() -> None:
    now = PoolOption(PLATFORM, PoolChoice.CURRENT, 200, 5_000, 10.0, 200)
    whole = PoolOption(PLATFORM, PoolChoice.ALL, 5_000, 5_000, 10.0, 5_000, threads=5_031)
    found = recommend([now, whole])
    assert found is not None
    assert found.next[1].endswith("so set SERVER_PIDS=5200")


def test_a_pool_that_takes_clearly_more_memory_is_not_enlarged() -> None:
    found = recommend([NOW, HALF, way(PoolChoice.ALL, 1_000, 1_000, peak_mb=421, hello=20), FREE])
    assert found is not None
    assert found.text == "switch to virtual threads"
    assert found.why.endswith(
        "A pool of 1,000 (peak 421 MB) and virtual threads (peak 280 MB) serve all, but the pool takes over 1.5 times "
        "the memory"
    )


def test_cpu_time_of_one_short_load_does_not_decide() -> None:
    found = recommend([NOW, HALF, way(PoolChoice.ALL, 1_000, 1_000, peak_mb=300, hello=60), FREE])
    assert found is not None
    assert found.text == "enlarge the pool to about 1,000"


def test_a_pool_that_reaches_a_limit_leaves_virtual_threads() -> None:
    stopped = PoolOption(
        PLATFORM, PoolChoice.ALL, 5_000, 1_000, 10.0, 0, stop=Stop("cgroup pids.max 4,096", "SERVER_PIDS=5100")
    )
    found = recommend([NOW, stopped, FREE])
    assert found is not None
    assert found.action is Action.SWITCH
    assert "a pool of 5,000 reaches a limit (cgroup pids.max 4,096)" in found.why
    alone = recommend([NOW, stopped])
    assert alone is not None
    assert alone.text == "enlarge the pool to about 5,000"
    assert alone.why.endswith("so first set SERVER_PIDS=5100")


def test_where_nothing_serves_all_the_best_is_named() -> None:
    found = recommend([NOW, HALF])
    assert found is not None
    assert found.action is Action.LEAVE
    assert found.why.endswith("nothing that was tried serves all: a pool of 500 500 of 1,000")
    assert recommend([FREE]) is None


def test_a_wait_that_is_too_short_for_the_machine_is_named() -> None:
    found = recommend([way(PoolChoice.CURRENT, 200, 90), way(PoolChoice.ALL, 1_000, 300)])
    assert found is not None
    assert found.action is Action.LEAVE
    assert found.why.endswith("repeat with a longer one (DURATION=)")
    stopped = PoolOption(
        PLATFORM, PoolChoice.ALL, 1_000, 1_000, 10.0, 0, stop=Stop("the system refused another thread")
    )
    assert not stopped.late, "the limit is the reason, not the machine's speed"
    assert not HALF.late


options = st.builds(
    PoolOption,
    entry=st.just(PLATFORM),
    size=st.just(PoolChoice.ALL),
    pool=st.integers(201, 9_000),
    requests=st.just(1_000),
    delay_s=st.just(10.0),
    served_first=st.integers(0, 1_000),
    peak_mb=st.none() | st.floats(50, 5_000),
)


@given(st.lists(options, max_size=4), st.none() | options, st.integers(0, 1_000))
def test_what_is_recommended_serves_all_and_costs_no_more_than_the_margins(
    pools: list[PoolOption], free: PoolOption | None, served: int
) -> None:
    virtual = (
        []
        if free is None
        else [PoolOption(VIRTUAL, PoolChoice.VIRTUAL, None, 1_000, 10.0, free.served_first, free.peak_mb)]
    )
    found = recommend([way(PoolChoice.CURRENT, 200, served), *pools, *virtual])
    assert found is not None
    assert all(len(one.split()) > 3 for one in found.next)
    whole = [one for one in pools if one.complete]
    if served >= 990 or not (whole or any(one.complete for one in virtual)):
        assert found.action is Action.LEAVE
    elif found.action is Action.ENLARGE:
        chosen = min(whole, key=lambda one: one.pool or 0)
        assert found.pool == chosen.pool
        for one in virtual:
            cheap = None in (chosen.peak_mb, one.peak_mb) or (chosen.peak_mb or 0) <= MEMORY_MARGIN * (one.peak_mb or 0)
            assert not one.complete or cheap
    else:
        assert found.action is Action.SWITCH
        assert virtual[0].complete


# --- cells in a made-up world


class Bed:
    """A session on a simulated machine, with its store in a real folder."""

    def __init__(self, folder: Path) -> None:
        self.world = World()
        self.store = Store.create(folder / "results", builders.run([PLATFORM, VIRTUAL], ["pool-size"]))

    def run(self, **wish: object) -> dict[str, PoolSizeResult]:
        asked = BenchOptions(scenarios=["pool-size"], servers=["java-a"], tiers=["1k"], aa=False, **wish)  # type: ignore[arg-type]
        made = make_plan(asked, builders.catalog(), Condition(jdk="25.0.1"))
        session(self.world, self.store).run(blocks_of(made))
        assert not self.world.running
        return {record.case: result(record) for record in self.store.records()}


def result(record: Record) -> PoolSizeResult:
    assert record.trial is not None, record.failure
    assert isinstance(record.trial.result, PoolSizeResult)
    return record.trial.result


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def test_each_pool_serves_its_size_and_virtual_threads_serve_all(bed: Bed) -> None:
    found = bed.run()
    assert {case: (one.pool, one.served_first, one.served) for case, one in found.items()} == {
        "current": (200, 200, 400),
        "half": (500, 500, 1_000),
        "all": (1_000, 1_000, 1_000),
        "virtual": (None, 1_000, 1_000),
    }
    assert {one.requests for one in found.values()} == {1_000}
    assert found["current"].failed == {"timeout": 600}
    assert found["current"].latency.p50_us is None
    assert found["half"].latency.p90_us == 20_000_000
    assert all(one.rss_kb for one in found.values()), "the memory was read while all wait"
    assert all(one.stopped_by == "" and one.hello and one.hello.answers > 0 for one in found.values())


def test_the_pool_is_filled_before_its_idle_cost_is_measured(bed: Bed) -> None:
    # Requests with a short wait would end before the last of them has arrived, and share threads.
    bed.run(duration_s=2)
    started = {server.launch.log.stem: server for server in bed.world.servers}
    assert len(started) == 8, "two servers per cell"
    fills = [attack.connections for attack in bed.world.attacks]
    assert sorted(map(int, filter(None, fills))) == [200, 500, 1_000, 1_000, 1_000, 1_000, 1_000]
    assert {attack.url.partition("?")[2] for attack in bed.world.attacks} == {"ms=10000", "ms=2000"}
    tracked = ["-XX:NativeMemoryTracking=summary" in server.launch.jvm_flags for server in bed.world.servers]
    assert sum(tracked) == 4, "memory tracking would cost the fast requests time"


def test_a_report_begins_with_what_to_do(bed: Bed) -> None:
    bed.run()
    summary = Summary.of(bed.store.run(), bed.store.records())
    assert summary.last_lines[0].startswith(
        "java-a, 1,000 requests that wait 10 s at once: enlarge the pool to about 1,000. "
        "A pool of 200 serves 200 of 1,000 in the first wait"
    )
    text = render(report_sections(summary))
    assert "| java-a:platform | 200 (now) | 200 | > 25 | > 25 |" in text
    assert "| java-a:virtual | virtual | 1,000 | 10 | 10 |" in text
    assert "- java-a, if you enlarge the pool to about 1,000, this comes next. Database connections: 1,000" in text
    shown = render_page(Contents.of(summary, RawFiles()), ChartTools(library=lambda: "", svg=lambda figure: ""))
    for words in ("Requests that wait, by pool size", "served in the first wait, %", "peak memory, MB", "500"):
        assert words in shown


def test_the_recommendation_of_one_run_and_what_comes_next(bed: Bed) -> None:
    bed.run()
    block = answer_block(bed.store.records())
    assert block is not None
    assert block.verdict == "enlarge the pool to about 1,000"
    assert block.reason.startswith(
        "with 1,000 requests at once that wait 10 s each, a pool of 200 serves 200 of 1,000 in the first wait. All are "
        "served by a pool of 1,000 (peak "
    )
    assert [line.subject for line in block.lines] == [
        "A pool of 200 (now)",
        "A pool of 500",
        "A pool of 1,000",
        "Virtual threads",
    ]
    assert block.lines[0].text.startswith("200 of 1,000 in the first wait, peak memory ")
    assert [one.partition(":")[0] for one in block.notes[:3]] == [
        "Database connections",
        "Limits of a container",
        "Memory",
    ]
    assert answer_block([]) is None
    advice = switch_advice(bed.store.records())
    assert advice
    assert (advice.action, advice.load) == (block.verdict, LOAD.format(10))
    figures = re.sub(r" \([\d.,]+ MB\)", "", advice.figures)
    assert figures == "A pool of 200: 200; a pool of 1,000: all; virtual threads: all"
    assert switch_advice([]) is None


def test_a_container_without_room_for_the_threads_is_the_reason(bed: Bed) -> None:
    # The counter rises while the server that should have 1,000 threads is loaded.
    bed.world.pids_max = 512

    def refused() -> int:
        pool = bed.world.running[-1].pool
        return len(bed.world.attacks) if pool == 1_000 else 0

    bed.world.pids_refused = refused
    found = bed.run()
    assert {case: one.stopped_by for case, one in found.items()} == {
        "current": "",
        "half": "",
        "all": "cgroup pids.max 512",
        "virtual": "",
    }
    assert found["all"].fix.startswith("TasksMax=1100")


def test_a_server_that_ends_under_the_load_is_a_result(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    served = bed.world

    def crash(_: object, attack: Attack, on_tick: object = None) -> AttackResult:
        server = served.at(attack.url)
        server.running = False
        return AttackResult([Hits([0], [5], {"reset": [0]})], 0.1, "12.13.0")

    monkeypatch.setattr("fakes.FakeAttacker.run", crash)
    monkeypatch.setattr(FakeServer, "log_tail", lambda self, lines=20: NO_THREAD)
    found = bed.run(cases=["all"])["all"]
    assert (found.pool, found.served_first, found.served, found.hello) == (1_000, 0, 0, None)
    assert found.stopped_by == "the system refused another thread"
    text = render(report_sections(Summary.of(bed.store.run(), bed.store.records())))
    assert "| – | – | no response |" in text
    assert "| the system refused another thread |" in text
    assert found.summary == "0 of 1,000 served in the first wait, the system refused another thread"


@pytest.mark.parametrize("starts", [0, 1])
def test_a_server_that_did_not_listen_in_time_is_no_result(bed: Bed, starts: int) -> None:
    # Either the start for the fast requests or the one for the waiting requests takes too long. Zero served requests
    # would be blamed on the pool.
    def refuse(launch: Launch) -> None:
        if len(bed.world.servers) >= starts:
            raise RuntimeFailure("not_started", "did not listen within 60 s")

    bed.world.refuse_start = refuse
    with pytest.raises(AssertionError, match="did not listen within 60 s"):
        bed.run(cases=["all"])
    assert bed.store.records()[0].failure is not None


def test_a_server_without_threads_to_start_is_a_result(bed: Bed) -> None:
    def refuse(launch: Launch) -> None:
        raise RuntimeFailure("not_started", "ended with exit code 1 before it listened", NO_THREAD)

    bed.world.refuse_start = refuse
    found = bed.run(cases=["all"])["all"]
    assert (found.served_first, found.hello, found.stopped_by) == (0, None, "the system refused another thread")
