"""Tests of servers and generators that fail during a run: real processes, and a run that continues."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fake_zoo import fake_zoo, measured

from zoo.core.record import Record

pytestmark = pytest.mark.run

FAILS, GOES_ON = "fake:eventloop", "fake:virtual"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    left = [p.pid for p in psutil.process_iter(["cwd"]) if str(tmp_path) in (p.info["cwd"] or "")]
    assert not left, f"still running: {left}"


def with_fault(folder: Path, fault: str, at: int = 0) -> dict[str, Record]:
    """Return records by entry from a quick run of a server that fails and one that does not."""
    return measured(folder, fake_zoo(folder, {"eventloop": {"FAULT": fault, "FAULT_AT": str(at)}, "virtual": {}}))


def failure(record: Record) -> tuple[str, str]:
    assert record.failure is not None
    return record.failure.kind, record.failure.message


@pytest.mark.parametrize(
    ("fault", "at", "kind"),
    [
        pytest.param("crash", 1, "contract", id="crash-at-the-first"),
        pytest.param("crash", 300, "crashed", id="crash-under-load"),
        pytest.param("memory", 300, "crashed", id="out-of-memory"),
        pytest.param("stop", 300, "hung", id="stopped"),
    ],
)
def test_a_server_that_fails_is_a_failed_cell_and_the_other_is_measured(
    folder: Path, fault: str, at: int, kind: str
) -> None:
    records = with_fault(folder, fault, at)
    assert failure(records[FAILS])[0] == kind
    assert records[GOES_ON].failure is None


def test_a_server_that_is_slow_to_start_is_waited_for(folder: Path) -> None:
    records = with_fault(folder, "slow")
    seen = records[FAILS].measurement
    assert seen is not None
    assert seen.server is not None
    assert (seen.server.ready_s or 0) > 2


def test_a_generator_that_is_killed_costs_its_cell_alone(folder: Path) -> None:
    def kill_one() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for child in psutil.Process().children(recursive=True):
                try:
                    if child.name() == "wrk" and any(word.startswith("-c") for word in child.cmdline()):
                        os.kill(child.pid, signal.SIGKILL)
                        return
                except (psutil.Error, ProcessLookupError):
                    pass
            time.sleep(0.02)

    killer = threading.Thread(target=kill_one)
    killer.start()
    records = with_fault(folder, "none")
    killer.join()
    assert sorted(r.failure.kind if r.failure else "" for r in records.values()) == ["", "generator_failed"]
