"""Tests of waits for locks, as JFR counts them in a real JVM."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zoo.host.jdk import find_jdk
from zoo.sample import jcmd

SOURCE = Path(__file__).parent / "fixtures" / "Waits.java"

OWN = 100
"""Upper limit for the lock waits of the JVM itself during a measurement."""

PRINTED = """\
jdk.ThreadPark {
  startTime = 14:08:01.123 (2026-11-26)
  parkedClass = java.util.concurrent.locks.ReentrantLock$NonfairSync (classLoader = bootstrap)
}
jdk.ThreadPark {
  parkedClass = java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject (classLoader = bootstrap)
}
jdk.ThreadPark {
  parkedClass = java.util.concurrent.locks.ReentrantReadWriteLock$FairSync (classLoader = bootstrap)
}
jdk.JavaMonitorEnter {
  monitorClass = java.lang.Object (classLoader = bootstrap)
}
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Yield a function that starts a JVM which waits for a lock 200 times for each line it receives."""
    started: list[subprocess.Popen[str]] = []

    def begin(*flags: str) -> subprocess.Popen[str]:
        words = [str(find_jdk().java), *flags, str(SOURCE)]
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    yield begin
    for child in started:
        child.communicate()  # without further lines the JVM exits and removes its recording


def counted(child: subprocess.Popen[str]) -> int:
    found = jcmd.read_lock_waits(child.pid)
    assert found is not None
    return found


def make_wait(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    assert child.stdout.readline() == "waited\n"


def test_waits_for_locks_are_counted_since_the_count_began(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start("-XX:FlightRecorderOptions=stackdepth=1")
    assert jcmd.read_lock_waits(child.pid) is None
    jcmd.count_lock_waits(child.pid)
    assert counted(child) < OWN
    make_wait(child)
    once = counted(child)
    assert 200 <= once < 200 + OWN
    make_wait(child)
    assert 200 <= counted(child) - once < 200 + OWN
    jcmd.count_lock_waits(child.pid)
    assert counted(child) < OWN


def test_a_jvm_that_was_not_started_for_it_is_left_alone(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start()
    jcmd.count_lock_waits(child.pid)
    make_wait(child)
    assert jcmd.read_lock_waits(child.pid) is None


def test_a_wait_for_work_is_none_for_a_lock() -> None:
    assert jcmd.parse_lock_waits(PRINTED.splitlines()) == 3
