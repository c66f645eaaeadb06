"""Context switches: looks at scripted threads, captured texts, and real processes whose threads end."""

import subprocess
import sys
import time
from pathlib import Path

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo import validity
from zoo.claims.quantities import QUANTITIES
from zoo.report import sweeps
from zoo.sample.proc import LINUX
from zoo.sample.sampler import Sampler
from zoo.sample.switches import Counter, Counts, Switches, Watcher, parse_sched, parse_status, threads

linux = pytest.mark.skipif(not LINUX, reason="needs /proc")

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
import threading, time
def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.005)
for seconds in {lives}:
    threading.Thread(target=work, args=(seconds,), daemon=True).start()
print('ready', flush=True)
time.sleep(60)
"""


def looked(*looks: dict[int, tuple[int, int]], every_s: float = 1.0) -> Switches:
    """The sum over looks at threads of one process, 10 s old: voluntary and involuntary switches by number."""
    first, *others = [{(1, str(number)): Counts(*pair, 0) for number, pair in seen.items()} for seen in looks]
    counter = Counter(0.0, first, ages=dict.fromkeys(first, 10.0))
    for place, seen in enumerate(others, start=1):
        counter.look(place * every_s, seen)
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
    counter.look(1, {(1, "1"): Counts(0, 0, 9), (1, "2"): Counts(0, 0, None)})
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
    """Each lives for a span of looks at a rate of its own; it does half an interval more before it ends."""
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


@linux
def test_a_thread_that_ends_is_counted_until_shortly_before() -> None:
    """About 200 times a second: a thread that stays for all of 3.6 s, and one of 2.5 s."""
    with subprocess.Popen([sys.executable, "-c", WORKS.format(lives=[60, 2.5])], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = Sampler(child.pid).start()
        time.sleep(3.6)
        found = running.stop().switches
        stays = max(counts.voluntary for counts in threads([child.pid]).values())
        child.kill()
    assert found is not None
    assert found.ended == 1
    assert stays * (1 + 0.9 * 2 / 3.6) < found.voluntary < stays * (1 + 1.1 * 2.5 / 3.6)
    assert found.voluntary + found.missed > stays * (1 + 0.9 * 2.5 / 3.6)
    assert found.missed < 0.4 * found.voluntary


@linux
def test_looking_at_many_threads_is_done_seldom() -> None:
    with subprocess.Popen([sys.executable, "-c", WORKS.format(lives=[60] * 400)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        watcher = Watcher()
        watcher.look([child.pid])
        spent = time.thread_time()
        assert len(threads([child.pid])) == 401
        one_s = time.thread_time() - spent
        began = time.monotonic()
        spent = time.thread_time()
        while time.monotonic() - began < 4:
            watcher.look_if_due([child.pid])
            time.sleep(0.2)
        share = (time.thread_time() - spent) / 4
        child.kill()
    assert share < 0.01 + one_s / 4


@linux
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
    assert validity.switches(900, 100, missed) == counted
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
    assert sweeps.switches(seen) == expected
    assert sweeps.migrations(seen) == (counted and 20 / seen.load.goodput)
    assert QUANTITIES["switches per request"].read({"measurement": seen.model_dump()}) == expected
