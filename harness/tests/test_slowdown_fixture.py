"""Tests of the fixture for the proof of a known slowdown."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SERVER = runpy.run_path(str(Path(__file__).parent / "fixtures" / "slowed" / "server.py"))


class Working:
    """A clock of this thread's work. Reading it is the only work, 1 ms each time."""

    def __init__(self) -> None:
        self.looks = 0

    def thread_time(self) -> float:
        self.looks += 1
        return self.looks / 1000


@pytest.mark.parametrize("cpu_s", [0.0, 0.02])
def test_it_burns_as_much_cpu_as_it_is_told(cpu_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Working()
    monkeypatch.setitem(SERVER["burn"].__globals__, "time", clock)
    before = clock.thread_time()
    SERVER["burn"](cpu_s)
    assert cpu_s <= clock.thread_time() - before <= cpu_s + 0.003
