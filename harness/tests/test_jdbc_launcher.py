"""Tests of running java-jdbc, with a shell script as Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.core.host_facts import Jdk
from zoo.core.jdbc import Flood
from zoo.runtime.databases import RunningDatabase
from zoo.scenarios.jdbc import launcher
from zoo.scenarios.jdbc.launcher import Launcher, LaunchFailure

FLOOD = Flood(database="postgresql", executor="cached", tasks=5_000)
JAVA = """#!/bin/sh
case "$*" in
*prepare*) printf '%s\\n' "-Dzoo.server=PostgreSQL 16 (test)" -Dzoo.roundtrip.added=10.5 ;;
*drop*) echo dropped >>asked ;;
*zoo.Flood*) echo "$JDBC_URL $*" >>asked; DO ;;
*) echo "java-jdbc: failed: cached: no connection" >&2; DO ;;
esac
"""


def java(folder: Path, do: str) -> Launcher:
    """Return a launcher whose benchmark and flood run these shell commands."""
    program = folder / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(JAVA.replace("DO", do), encoding="utf-8")
    program.chmod(0o755)
    return Launcher(folder, Jdk(folder / "jdk", program, "25.0.1", 25, "Test"))


@pytest.mark.parametrize(
    ("do", "limits", "outcome"),
    [
        ("echo 5000 tasks", {}, "finished"),
        ("exit 3", {}, "crashed with exit code 3"),
        ("kill -ABRT $$", {}, "crashed with exit code 134"),
        ("exec sleep 600", {"FLOOD_MEMORY_MB": 0}, "ended at the memory limit"),
        ("exec sleep 600", {"FLOOD_S": 0}, "ended at the time limit"),
    ],
)
def test_a_flood_is_watched_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, do: str, limits: dict[str, int], outcome: str
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(launcher, name, value)
    found = java(tmp_path, do).flood(FLOOD, "wire-10", tmp_path / "log", RunningDatabase({"JDBC_URL": "jdbc:x"}))
    assert found.outcome == outcome
    assert (found.server, found.added_ms) == ("PostgreSQL 16 (test)", 10.5)
    flooded, dropped = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert flooded.startswith("jdbc:x -Xmx512m -Dzoo.server=PostgreSQL 16 (test) ")
    assert " zoo.Flood cached 5000 10 " in flooded
    assert dropped == "dropped"


def test_a_benchmark_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailure) as caught:
        java(tmp_path, "exit 1").run(["-f", "1"], tmp_path / "log", 60, RunningDatabase({}))
    assert caught.value.failure.message == "no connection"


@pytest.mark.parametrize(
    ("died", "timeout_s", "message"),
    [
        ("postgresql ended with exit code -9\nFATAL", 60, "postgresql ended with exit code -9"),
        (None, 0, "not finished after"),
    ],
)
def test_a_benchmark_ends_with_its_database_or_at_its_limit(
    tmp_path: Path, died: str | None, timeout_s: float, message: str
) -> None:
    with pytest.raises(LaunchFailure, match=message):
        java(tmp_path, "exec sleep 600").run(
            ["-f", "1"], tmp_path / "log", timeout_s, RunningDatabase({}, lambda: died)
        )
