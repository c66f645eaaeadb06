"""Tests of context switches: scripted threads, captured texts, and real processes whose threads end."""

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import builders
import pytest
from fakes import ManualTime
from hypothesis import given
from hypothesis import strategies as st
from waits import until

from zoo.claims.quantities import QUANTITIES
from zoo.core.samples import Switches
from zoo.report import sweeps
from zoo.sample import switches
from zoo.sample.sampler import Sampler
from zoo.sample.switches import (
    READ_EVERY_S,
    READ_SHARE,
    Counter,
    Counts,
    Name,
    SwitchReader,
    parse_sched,
    parse_status,
    threads,
)
from zoo.stats import flags

SCHED = """java (77, #threads: 30)
-------------------------------------------------------------------
se.exec_start                                :       6803941.831299
se.nr_migrations                             :                   12
nr_switches                                  :                   10
nr_voluntary_switches                        :                    7
nr_involuntary_switches                      :                    3
se.load.weight                               :              1048576
"""
STATUS = "Name:\tjava\n" * 100 + "Mems_allowed_list:\t0\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n"

WORKS = """
import queue, sys, threading, time

done = queue.SimpleQueue()

def work(asked):
    while times := asked.get():
        for _ in range(times):
            time.sleep(0.0002)
        done.put(None)

queues = [queue.SimpleQueue() for _ in range(2)]
threads = [threading.Thread(target=work, args=(asked,)) for asked in queues]
for thread in threads:
    thread.start()
print(*(thread.native_id for thread in threads), flush=True)
for line in sys.stdin:
    for asked, times in zip(queues, map(int, line.split())):
        asked.put(times)
        if times:
            done.get()
    print('done', flush=True)
"""


class Worker:
    """A process of two threads. Each sleeps as many times as it reads, and ends when it reads 0."""

    def __init__(self) -> None:
        words = [sys.executable, "-c", WORKS]
        self._child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self._child.pid
        self.names = [(self.pid, number) for number in self._answer().split()]

    def sleep(self, *times: int) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{' '.join(map(str, times))}\n")
        assert self._answer() == "done\n"

    def kill(self) -> None:
        self._child.kill()
        self._child.communicate()

    def _answer(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline()


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.kill()


class Clock(ManualTime):
    """Manual time in which threads' ages come from the kernel's own clock."""

    CLOCK_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", 7)  # only Linux has it

    def clock_gettime(self, clock: int) -> float:
        return time.clock_gettime(clock)


def looked(*looks: dict[int, tuple[int, int]], every_s: float = 1.0) -> Switches:
    """Return the switches summed over readings of one process's threads, which are 10 s old at the first reading.

    Each reading maps a thread's number to its voluntary and involuntary switches.
    """
    first, *others = [{(1, str(number)): Counts(*pair, 0) for number, pair in seen.items()} for seen in looks]
    counter = Counter(0.0, first, ages=dict.fromkeys(first, 10.0))
    for place, seen in enumerate(others, start=1):
        counter.add(place * every_s, seen)
    found = counter.total()
    assert found is not None
    return found


def test_threads_that_live_on_are_counted_whole() -> None:
    found = looked({1: (100, 10), 2: (5, 0)}, {1: (150, 12), 2: (5, 0)}, {1: (200, 20), 2: (6, 1)})
    assert (found.voluntary, found.involuntary, found.missed, found.ended) == (101, 11, 0, 0)


def test_a_new_thread_is_counted_from_its_beginning() -> None:
    assert looked({1: (100, 0)}, {1: (100, 0), 2: (40, 2)}).voluntary == 40


def test_an_ended_thread_keeps_what_was_seen_and_misses_as_much_as_it_did_before() -> None:
    found = looked({1: (0, 0), 2: (0, 0)}, {1: (10, 0), 2: (90, 10)}, {1: (20, 0)})
    assert (found.voluntary, found.involuntary, found.missed, found.ended) == (110, 10, 100, 1)


def test_a_thread_that_ended_before_a_second_look_misses_as_much_as_in_its_life_before() -> None:
    assert looked({1: (0, 0), 2: (70, 0)}, {1: (10, 0)}, every_s=2).missed == 14


def test_a_number_given_to_another_thread_is_another_thread() -> None:
    found = looked({1: (100, 0)}, {1: (200, 0)}, {1: (30, 0)})
    assert (found.voluntary, found.missed, found.ended) == (130, 100, 1)


def test_migrations_are_unknown_where_one_thread_does_not_tell() -> None:
    counter = Counter(0, {(1, "1"): Counts(0, 0, 5), (1, "2"): Counts(0, 0, 5)}, ages={})
    counter.add(1, {(1, "1"): Counts(0, 0, 9), (1, "2"): Counts(0, 0, None)})
    found = counter.total()
    assert found is not None
    assert found.migrations is None


def test_nothing_is_known_of_a_process_that_was_not_there() -> None:
    assert Counter(0, {}, ages={}).total() is None


lives = st.lists(st.tuples(st.integers(0, 8), st.integers(2, 9), st.integers(0, 500)), min_size=1, max_size=12)


@given(lives)
def test_of_threads_that_come_and_go_no_more_is_unseen_than_their_last_intervals_had(
    spans: list[tuple[int, int, int]],
) -> None:
    # Each thread lives for a span of readings, with its own rate. It works for half an interval more before it ends.
    spans = [*spans, (0, 20, 1)]
    looks = [
        {n: (rate * (t - born), 0) for n, (born, span, rate) in enumerate(spans) if born <= t < born + span}
        for t in range(20)
    ]
    found = looked(*looks)
    inside = [(born, min(19.0, born + span - 0.5), rate) for born, span, rate in spans]
    done = sum(rate * (end - born) for born, end, rate in inside)
    assert found.voluntary <= done
    assert done <= found.voluntary + found.missed + 1e-6
    assert found.ended == sum(born + span < 20 for born, span, _ in spans)


def test_texts_of_the_kernel() -> None:
    assert parse_sched(SCHED) == (7, 3, 12)
    assert parse_status(STATUS) == (7, 3, None)
    assert parse_sched(SCHED.replace("nr_involuntary", "nr_other")) is None
    assert parse_status("Name:\tjava\n") is None


@given(st.text() | st.integers(0, len(SCHED)).map(lambda n: SCHED[:n]))
def test_odd_texts_do_no_harm(text: str) -> None:
    parse_sched(text)
    parse_status(text)


def test_a_thread_that_ends_is_counted_until_the_last_look_at_it(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # There are three readings, one second apart. After the second one a thread ends, and may have done as much again.
    clock, seen = Clock(), []

    def look(pids: Iterable[int]) -> dict[Name, Counts]:
        seen.append(threads(pids))
        return seen[-1]

    monkeypatch.setattr(switches, "time", clock)
    monkeypatch.setattr(switches, "threads", look)
    watcher = SwitchReader()
    watcher.read([worker.pid])
    stays, ends = worker.names
    worker.sleep(100, 50)
    clock.now += 1
    watcher.read([worker.pid])
    worker.sleep(100, 0)
    until(lambda: ends not in threads([worker.pid]))
    clock.now += 1
    watcher.read([worker.pid])
    first, second, last = seen
    found = watcher.total()
    assert found is not None
    assert found.ended == 1
    assert last[stays].voluntary - first[stays].voluntary >= 200
    assert found.missed == second[ends].switches - first[ends].switches >= 50
    assert found.voluntary == sum(last[name].voluntary - first[name].voluntary for name in last) + (
        second[ends].voluntary - first[ends].voluntary
    )


def test_a_sampler_counts_until_its_end(worker: Worker) -> None:
    running = Sampler(worker.pid).start()
    worker.sleep(100, 50)
    found = running.stop().switches
    assert found is not None
    assert found.voluntary >= 150
    assert (found.missed, found.ended) == (0, 0)


@pytest.mark.parametrize(("look_s", "every_s"), [(0.0001, READ_EVERY_S), (0.1, 0.1 / READ_SHARE)])
def test_looking_at_many_threads_is_done_seldom(monkeypatch: pytest.MonkeyPatch, look_s: float, every_s: float) -> None:
    clock, looks = Clock(), []

    def look(pids: Iterable[int]) -> dict[Name, Counts]:
        looks.append(clock.now)
        clock.now += look_s
        clock.cpu_s += look_s
        return {(0, "1"): Counts(1, 1, 1)}

    monkeypatch.setattr(switches, "time", clock)
    monkeypatch.setattr(switches, "threads", look)
    watcher = SwitchReader()
    watcher.read([1])
    while clock.now < 1_000:
        clock.sleep(0.2)
        watcher.read_if_due([1])
    gaps = [after - before for before, after in pairwise(looks)]
    assert len(gaps) > 10
    assert all(every_s - 1e-6 <= gap <= every_s + 0.2 + look_s for gap in gaps)
    assert clock.cpu_s <= 1_000 * READ_SHARE


def test_threads_are_looked_at_one_by_one(worker: Worker) -> None:
    assert len(threads([worker.pid])) == 3


def test_the_kernel_tells_as_much_of_this_process_in_either_file() -> None:
    folder = Path("/proc/self")
    if not (folder / "sched").exists():
        pytest.skip("a kernel without CONFIG_SCHED_DEBUG")
    before = parse_status((folder / "status").read_text())
    sched = parse_sched((folder / "sched").read_text())
    after = parse_status((folder / "status").read_text())
    assert before is not None
    assert sched is not None
    assert after is not None
    assert before.voluntary <= sched.voluntary <= after.voluntary
    assert before.involuntary <= sched.involuntary <= after.involuntary


@pytest.mark.parametrize(
    ("missed", "counted"),
    [(0, 1_000), (100, 1_000), (101, None), (None, None)],
    ids=["none", "10 %", "more", "unknown"],
)
def test_what_ended_threads_may_have_done_decides_whether_there_is_a_figure(
    missed: int | None, counted: int | None
) -> None:
    assert flags.context_switches(900, 100, missed) == counted
    seen = builders.measurement()
    assert seen.work is not None
    work = seen.work.model_copy(
        update={
            "voluntary_switches": 900,
            "involuntary_switches": 100,
            "switches_missed": missed,
            "migrations": 20,
        }
    )
    seen = seen.model_copy(update={"work": work})
    expected = counted and counted / seen.load.goodput
    assert sweeps.switches_per_request(seen) == expected
    assert sweeps.migrations_per_request(seen) == (counted and 20 / seen.load.goodput)
    assert QUANTITIES["switches per request"].read({"measurement": seen.model_dump()}) == expected
