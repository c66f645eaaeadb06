"""The fixture that the proof of a known slowdown rests on."""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import pytest

SERVER = runpy.run_path(str(Path(__file__).parent / "fixtures" / "slowed" / "server.py"))


@pytest.mark.parametrize("cpu_s", [0.0, 0.02])
def test_it_burns_as_much_cpu_as_it_is_told(cpu_s: float) -> None:
    before = time.thread_time()
    SERVER["burn"](cpu_s)
    assert cpu_s <= time.thread_time() - before < cpu_s + 0.01
