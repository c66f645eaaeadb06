"""Tests of what a pool limits, as a user runs them: real Tomcat, real vegeta, real sockets.

They need java-tomcat built.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.core.trial_results import PoolSizeResult, SlowReadersResult

pytestmark = pytest.mark.run

BENCH = [
    *(sys.executable, "-m", "zoo", "bench", "--runtime", "process", "--quick", "--duration", "2"),
    *("--server", "java-tomcat", "--variant", "platform", "--variant", "virtual"),
]
POOL = 50
PATIENCE_S = 600


def bench(folder: Path, *words: str) -> tuple[list[Record], str]:
    """Return the records and the output of a run whose pools have `POOL` threads."""
    done = subprocess.run(
        [*BENCH, *words, "--results", str(folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "COLUMNS": "200", "MAX_THREADS": str(POOL)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Store.open(folder / "latest").records(), done.stdout


def test_slow_readers_stop_a_pool_that_has_no_more_threads(tmp_path: Path) -> None:
    records, output = bench(tmp_path, "--scenario", "slow-readers", "--connections", str(POOL))
    found = {r.entry: r.trial.result for r in records if r.trial and isinstance(r.trial.result, SlowReadersResult)}
    assert found["java-tomcat:platform"].answered == 0
    assert found["java-tomcat:virtual"].answered > 0
    assert "next to 50 slow readers: 0% by the pool of platform threads and " in " ".join(output.split())


def test_300_requests_at_once_by_pool_size(tmp_path: Path) -> None:
    records, output = bench(tmp_path, "--scenario", "pool-size", "--connections", "300")
    found: dict[str, PoolSizeResult] = {}
    for record in records:
        assert record.trial is not None, record.failure
        assert isinstance(record.trial.result, PoolSizeResult)
        found[record.case] = record.trial.result
        assert record.memory is not None
        assert record.memory.peak_kb > 50_000
    assert {case: (one.pool, one.served_first) for case, one in found.items()} == {
        "current": (POOL, POOL),
        "half": (150, 150),
        "all": (300, 300),
        "virtual": (None, 300),
    }
    for case, one in found.items():
        assert one.stopped_by == "", one.summary
        assert one.threads is not None
        assert one.threads >= (one.pool or 0)
        assert one.rss_kb is not None
        assert one.heap_kb
        assert one.stacks_kb
        assert one.stacks_kb < one.rss_kb  # the heap in use may exceed RSS: allocation buffers need not be resident
        assert one.hello is not None, case
        assert one.hello.threads >= (one.pool or 0), "the pool was filled before the fast requests"
        assert one.hello.cpu_us
    assert found["virtual"].stacks_kb is not None
    assert (found["all"].stacks_kb or 0) > found["virtual"].stacks_kb
    assert "java-tomcat, 300 requests that wait 2 s at once: " in output
    report = (tmp_path / "latest" / "report.md").read_text(encoding="utf-8")
    assert f"| java-tomcat:platform | {POOL} (now) | {POOL} |" in report
