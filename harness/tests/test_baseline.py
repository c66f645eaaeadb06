"""A real JVM, a few times. Needs a JDK, as everything in Java here does."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from zoo.baseline import ARTICLE, FLAGS, SMALL, at_rest, build, start_and_end, staying, watched
from zoo.build import BuildError
from zoo.host.jdk import Jdk, find_jdk


@pytest.fixture(scope="module")
def jdk() -> Jdk:
    return find_jdk()


@pytest.fixture(scope="module")
def jar(jdk: Jdk) -> Path:
    return build(jdk)


def test_start_and_end(jdk: Jdk, jar: Path) -> None:
    found = start_and_end(jdk, jar, ARTICLE, runs=6)
    assert found.n == 6
    assert found.low is not None
    assert 0.005 < found.low <= found.value < 10


def test_memory_at_rest_and_watched(jdk: Jdk, jar: Path) -> None:
    """Less with a small heap, more with a monitor."""
    plain = at_rest(jdk, jar, runs=1, rest_s=1)
    small = at_rest(jdk, jar, SMALL, runs=1, rest_s=1)
    seen = watched(jdk, jar, runs=1, rest_s=2)
    assert 10_000 < small.rss_kb.value < plain.rss_kb.value < seen.rss_kb.value < 1_000_000
    assert plain.anon_kb.value < plain.rss_kb.value <= plain.peak_kb.value


def test_no_process_is_left(jdk: Jdk, jar: Path) -> None:
    with staying(jdk, jar, ()) as pid:
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_every_set_of_flags_starts(jdk: Jdk, jar: Path, flags: tuple[str, ...]) -> None:
    assert start_and_end(jdk, jar, flags, runs=1).value > 0


def test_flags_that_a_jvm_refuses_are_told(jdk: Jdk, jar: Path) -> None:
    with pytest.raises(BuildError, match="said nothing"), staying(jdk, jar, ("-XX:+NoSuchFlag",)):
        pass
