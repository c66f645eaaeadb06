"""Tests of `cold`: when the steady rate is reached, which threads count, and cells in a fake world."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import builders
import pytest
from fakes import RPS, Call, FakeServer, World, ideal
from hypothesis import assume, given
from hypothesis import strategies as st
from sessions import session
from syrupy.assertion import SnapshotAssertion

from zoo.core.blocks import blocks_of
from zoo.core.condition import Condition
from zoo.core.flag import Flag
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.record import Record, Trial
from zoo.core.run_folder import Store
from zoo.core.samples import ThreadTimes, is_jit_compiler
from zoo.core.trial_results import ColdResult
from zoo.load.base import LoadOutcome
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.sample.run_queue import parse_schedstat, thread_times
from zoo.scenarios.cold.analysis import (
    CARRIERS,
    KEPT_S,
    REACHED,
    Reading,
    is_like,
    served,
    t95,
    thread_use,
    until,
)
from zoo.scenarios.cold.view import SECTION, VIEW

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"

# --- when the steady rate is reached

rates = st.lists(st.integers(0, 20_000), max_size=40)


@given(st.integers(0, 60), st.integers(KEPT_S, 30), st.integers(100, 9_000), st.floats(0.0, 0.94))
def test_a_rate_that_rises_in_one_step_is_reached_at_that_step(
    after: int, then: int, steady: int, share: float
) -> None:
    assert t95([int(share * steady)] * after + [steady] * then, steady) == after


@given(st.integers(100, 9_000), st.integers(0, 30), st.integers(0, 30))
def test_one_fast_second_is_not_enough(steady: int, before: int, after: int) -> None:
    slow = steady // 2
    assert t95([slow] * before + [steady] + [slow] * after, steady) is None


@given(rates, st.integers(1, 20_000))
def test_what_was_reached_is_95_percent_from_then_on(seconds: list[int], steady: int) -> None:
    found = t95(seconds, steady)
    if found is None:
        runs = [seconds[start : start + KEPT_S] for start in range(len(seconds) - KEPT_S + 1)]
        assert all(min(run) < REACHED * steady for run in runs)
        return
    kept = seconds[found : found + KEPT_S]
    assert len(kept) == KEPT_S
    assert kept[0] >= REACHED * steady
    assert sum(kept) / KEPT_S >= REACHED * steady - 1e-6


@given(rates, st.integers(1, 20_000), st.integers(0, 5_000))
def test_a_higher_steady_rate_is_never_reached_earlier(seconds: list[int], steady: int, more: int) -> None:
    lower, higher = t95(seconds, steady), t95(seconds, steady + more)
    if higher is not None:
        assert lower is not None
        assert lower <= higher


@given(rates, st.integers(1, 20_000), st.integers(2, 9))
def test_a_machine_that_is_faster_throughout_takes_as_long(seconds: list[int], steady: int, times: int) -> None:
    # Multiples of 20 keep 95% of the steady rate a whole number.
    steady *= 20
    assert t95([times * rate for rate in seconds], times * steady) == t95(seconds, steady)


def test_responses_of_the_first_seconds() -> None:
    assert served([1, 2, 3], 2) == 3
    assert served([1, 2, 3], 3) == 6
    assert served([1, 2, 3], 4) is None


# --- which threads

NAMES = ("http-nio-8080-e", "http-nio-8080-P", "http-nio-8080-A", "C2 CompilerThre", "GC Thread#0", "ForkJoinPool-1-")


def test_threads_are_recognized_by_the_names_that_the_kernel_keeps() -> None:
    assert [name for name in NAMES if is_jit_compiler(name)] == ["C2 CompilerThre"]
    pool = is_like("http-nio-8080-exec-12", virtual=False)
    assert [name for name in NAMES if pool(name)] == ["http-nio-8080-e"]
    carriers = is_like("", virtual=True)
    assert [name for name in NAMES if carriers(name)] == ["ForkJoinPool-1-"]
    assert not carriers("ForkJoinPool.co")


@given(st.text("abcxyz-#.", min_size=1, max_size=30), st.integers(0, 999), st.integers(0, 999))
def test_a_pool_is_recognized_whatever_the_number_of_its_thread(stem: str, one: int, other: int) -> None:
    name = f"{stem}{other}"[:15]
    assume(len(stem) >= 15 or len(f"{stem}{other}") <= 15)  # in between, the kernel cuts the number itself
    assert is_like(f"{stem}{one}", virtual=False)(name)
    assert not is_like(f"{stem}{one}", virtual=False)("!" + name[:14])


def thread(id_: int, cpu_s: float, waited_s: float = 0.0, name: str = "C1 CompilerThre") -> ThreadTimes:
    return ThreadTimes(id=id_, name=name, cpu_s=cpu_s, waited_s=waited_s)


def test_what_ended_and_new_threads_used_is_added_up() -> None:
    readings = [
        Reading(0.0, [thread(1, 5.0, 1.0), thread(9, 8.0, name="main")]),
        Reading(1.0, [thread(1, 5.5, 3.0), thread(2, 0.25, 0.5), thread(9, 9.0, name="main")]),
        Reading(2.0, [thread(2, 0.5, 0.5)]),  # the first has ended
        Reading(3.0, [thread(1, 0.125, 0.0), thread(2, 0.5, 1.0)]),  # another has its id
    ]
    found = thread_use(readings, is_jit_compiler)
    assert found is not None
    assert found.t == [0.0, 1.0, 2.0, 3.0]
    assert found.cpu_s == [0.0, 0.75, 1.0, 1.125]
    assert found.waited_s == [0.0, 2.5, 2.5, 3.0]
    assert thread_use(readings, is_like("pool-1", virtual=False)) is None
    times = until(found, 2.9)
    assert times is not None
    assert (times.cpu_s, times.waited_s) == (1.0, 2.5)
    assert until(None, 9.0) is None


shares = st.lists(st.lists(st.integers(0, 1_000), min_size=3, max_size=3), min_size=2, max_size=8)


@given(shares)
def test_threads_that_live_on_use_the_difference_between_the_ends(steps: list[list[int]]) -> None:
    sums = [[sum(step[i] for step in steps[: end + 1]) / 1_000 for i in range(3)] for end in range(len(steps))]
    readings = [Reading(float(at), [thread(i, s, 2 * s) for i, s in enumerate(row)]) for at, row in enumerate(sums)]
    found = thread_use(readings, is_jit_compiler)
    assert found is not None
    assert found.cpu_s[-1] == pytest.approx(sum(sums[-1]) - sum(sums[0]), abs=1e-3)
    assert found.waited_s[-1] == pytest.approx(2 * found.cpu_s[-1], abs=1e-3)
    assert found.cpu_s == sorted(found.cpu_s)


def test_the_kernel_s_times_of_a_thread() -> None:
    assert parse_schedstat("1500000000 250000000 7\n") == (1.5, 0.25)
    assert parse_schedstat("") is None
    assert parse_schedstat("1 2") is None


def test_a_thread_that_works_is_read_under_its_name() -> None:
    done, name = threading.Event(), "worker-of-zoo"

    def work() -> None:
        Path("/proc/thread-self/comm").write_text(name, encoding="utf-8")
        until_s = time.thread_time() + 0.05
        while time.thread_time() < until_s:
            pass
        ready.set()
        done.wait()

    ready = threading.Event()
    busy = threading.Thread(target=work)
    busy.start()
    ready.wait()
    found = {one.id: one for one in thread_times(os.getpid())}
    done.set()
    busy.join()
    assert busy.native_id is not None
    mine = found[busy.native_id]
    assert mine.name == name
    assert mine.cpu_s >= 0.05
    assert mine.waited_s >= 0
    assert threading.main_thread().native_id in found


# --- cells in a made-up world


class Bed:
    """A session on a simulated machine, with its store in a real folder."""

    def __init__(self, folder: Path) -> None:
        self.world = World()
        self.store = Store.create(folder / "results", builders.run([PLATFORM, VIRTUAL], ["cold"]))

    def run(self, **wish: object) -> dict[str, Record]:
        options = {"servers": ["java-a"], "duration_s": 40, **wish}
        asked = BenchOptions(scenarios=["cold"], cases=["default"], rounds=1, aa=False, **options)  # type: ignore[arg-type]
        made = make_plan(asked, builders.catalog(), Condition(jdk="25.0.1"))
        session(self.world, self.store).run(blocks_of(made))
        assert not self.world.running
        return {record.entry: record for record in self.store.records()}


def trial(record: Record) -> Trial:
    assert record.trial is not None, record.failure
    return record.trial


def result(record: Record) -> ColdResult:
    found = trial(record).result
    assert isinstance(found, ColdResult)
    return found


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def starved(world: World) -> None:
    """Make the pool slow for 20 s, and virtual threads for 5 s. Only the pool keeps the compiler waiting."""

    def slow(call: Call) -> LoadOutcome | None:
        if call.server.loads:
            return None
        at_first = 20 if call.server.pool else 5
        return replace(ideal(call), seconds=(RPS // 4,) * at_first + (RPS,) * (40 - at_first))

    def times(server: FakeServer) -> list[ThreadTimes]:
        read[server.pid] = seconds = read.get(server.pid, -4) + 4  # the fake generator ticks every 4 s
        compiling, waiting = (0.1, 0.9) if server.pool else (0.8, 0.1)
        return [
            thread(1, 1 + compiling * seconds, waiting * seconds),
            thread(2, 1 + 0.5 * seconds, 0.25 * seconds, name="t-9" if server.pool else f"{CARRIERS}1-"),
        ]

    read: dict[int, int] = {}
    world.fault, world.thread_times = slow, times


def test_the_load_comes_before_any_other_request(bed: Bed) -> None:
    seen: list[int] = []
    bed.world.fault = lambda call: seen.append(call.server.loads)
    bed.world.refuse_probe = lambda server: seen.append(-server.loads)
    bed.run(servers=["java-a"], variants=["virtual"])
    assert seen[:2] == [0, -1], "the probe comes after the first load"
    first, *others = bed.world.calls
    assert (first.spec.connections, first.spec.duration_s, first.spec.by_second) == (100, 40, True)
    assert others[0].spec.connections == 2, "the compiler gets a processor before the steady rate is measured"
    assert others[-1].spec.by_second, "the steady rate is measured with the same generator"


def test_a_pool_that_starves_the_compiler(bed: Bed) -> None:
    starved(bed.world)
    found = {entry: result(record) for entry, record in bed.run().items()}
    assert {entry: one.t95_s for entry, one in found.items()} == {PLATFORM: 20, VIRTUAL: 5}
    pool, virtual = found[PLATFORM], found[VIRTUAL]
    assert pool.steady_rps == virtual.steady_rps == RPS
    assert pool.seconds == [RPS // 4] * 20 + [RPS] * 20
    assert pool.compiler is not None
    assert virtual.compiler is not None
    assert pool.compiler.t == [0.0, *range(4, 44, 4)]
    assert (pool.compiler.cpu_s[-1], pool.compiler.waited_s[-1]) == (4.0, 36.0)
    assert (virtual.compiler.cpu_s[-1], virtual.compiler.waited_s[-1]) == (32.0, 4.0)
    assert pool.request == virtual.request
    assert pool.summary == "95% of 50,000 req/s after 20 s"


def test_the_report_of_a_starved_compiler(bed: Bed, snapshot: SnapshotAssertion) -> None:
    starved(bed.world)
    records = list(bed.run().values())
    assert SECTION(records) == snapshot
    summary = Summary.of(bed.store.run(), records)
    assert summary.last_lines[0] == (
        "java-a, cold start at 100 connections. Answered in the first 10 s: 125,000 by the pool of platform threads "
        "and 312,500 by virtual threads. 95% of the steady rate is reached: after 20 s by the pool of platform threads "
        "and after 5 s by virtual threads."
    )
    assert "## Scenario cold" in render(report_sections(summary))
    kinds = {record.entry: record.model for record in records}
    figure = VIEW.groups(bed.store.run(), kinds, records)[0].figures[0]
    assert figure.drawing.points[19]["share"] == 25
    assert figure.drawing.points[20]["share"] == 100
    shown = render_page(Contents.of(summary, RawFiles()), ChartTools(library=lambda: "", svg=lambda figure: ""))
    for words in ("Cold start under load", "share of the steady rate"):
        assert words in shown


def test_a_server_that_never_gets_there_and_one_without_a_jvm(bed: Bed) -> None:
    bed.world.fault = lambda call: None if call.server.loads else replace(ideal(call), seconds=(9,) * 40)
    records = bed.run(servers=["java-a", "rust-n"])
    found = {entry: result(record) for entry, record in records.items()}
    assert {one.t95_s for one in found.values()} == {None}
    assert all(one.compiler is None and one.request is None for one in found.values())
    row = SECTION(list(records.values())).tables[0].rows[0]
    assert row[1] == "never"
    assert row[-4:] == ["–"] * 4
    assert VIEW.answers is not None
    assert "not within 40 s by virtual threads" in VIEW.answers(list(records.values()))[0]
    assert found[PLATFORM].summary == "95% of 50,000 req/s not reached within 40 s"
    assert Flag.WARMUP_SHORT in trial(records["rust-n:bare"]).flags, "two windows are too few to show a steady rate"


@pytest.mark.parametrize("kind", ["connect", "status"])
def test_errors_right_after_the_start_fail_the_cell(bed: Bed, kind: str) -> None:
    def broken(call: Call) -> LoadOutcome | None:
        good = ideal(call)
        errors = good.errors.model_copy(update={kind: good.requests // 20})
        return None if call.server.loads else replace(good, errors=errors)

    bed.world.fault = broken
    records = bed.run(variants=["virtual"])
    failure = records[VIRTUAL].failure
    assert failure is not None
    assert failure.kind == "bad_responses"
    assert "right after the start" in failure.message


def test_a_server_that_ends_under_its_first_load(bed: Bed) -> None:
    def crash(call: Call) -> None:
        call.server.running = False

    bed.world.fault = crash
    failure = bed.run(variants=["virtual"])[VIRTUAL].failure
    assert failure is not None
    assert failure.kind == "crashed"
