"""Tests with a few starts of a real JVM. They need a JDK, like everything in Java here."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from zoo.bench.bare_jvm import (
    FLAGS,
    FOLDER,
    PARKED,
    SMALL,
    build,
    read_idle_memory,
    read_parked_heap,
    running_jvm,
    time_starts,
)
from zoo.core.host_facts import Jdk
from zoo.host.build import BuildError
from zoo.host.jdk import find_jdk


@pytest.fixture(scope="module")
def jdk() -> Jdk:
    return find_jdk()


@pytest.fixture(scope="module")
def jar(jdk: Jdk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the jar in a separate folder, because another worker may be building the repository's."""
    folder = tmp_path_factory.mktemp("java-hello")
    (folder / "src").symlink_to(FOLDER / "src")
    return build(jdk, folder)


def test_start_and_end(jdk: Jdk, jar: Path) -> None:
    began = time.monotonic()
    found = time_starts(jdk, jar, SMALL, runs=6)
    elapsed_s = time.monotonic() - began
    assert len(found) == 6
    assert min(found) > 0.005
    assert sum(found) <= elapsed_s


def test_memory_at_rest_and_watched(jdk: Jdk, jar: Path) -> None:
    # A small heap takes less memory, a monitor more.
    plain = read_idle_memory(jdk, jar, runs=1, rest_s=0.1)
    small = read_idle_memory(jdk, jar, SMALL, runs=1, rest_s=0.1)
    seen = read_idle_memory(jdk, jar, watched=True, runs=1, rest_s=1)
    assert [10_000] < small["rss_kb"] < plain["rss_kb"] < seen["rss_kb"] < [1_000_000]
    assert plain["anon_kb"] < plain["rss_kb"] <= plain["peak_kb"]


def test_a_parked_virtual_thread_keeps_some_of_the_heap_alive(jdk: Jdk, jar: Path) -> None:
    tracked, untracked = (read_parked_heap(jdk, jar, flags, runs=1, threads=20_000) for flags in PARKED[:2])
    assert 0.1 < tracked[0] < 5
    assert 0.1 < untracked[0] < tracked[0], "what keeps track of it takes something"


def test_no_process_is_left(jdk: Jdk, jar: Path) -> None:
    with running_jvm(jdk, jar, ()) as pid:
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_every_set_of_flags_starts(jdk: Jdk, jar: Path, flags: tuple[str, ...]) -> None:
    assert time_starts(jdk, jar, flags, runs=1)[0] > 0


def test_flags_that_a_jvm_refuses_are_told(jdk: Jdk, jar: Path) -> None:
    with pytest.raises(BuildError, match="without printing anything"), running_jvm(jdk, jar, ("-XX:+NoSuchFlag",)):
        pass
