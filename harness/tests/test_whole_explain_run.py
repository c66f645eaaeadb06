"""Test of `zoo explain` as a user runs it: a real JVM under async-profiler, with known causes of CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.cli.checkout import ROOT
from zoo.explain.analysis import Counted, clear_counts
from zoo.explain.data import Explanation
from zoo.explain.files import read_groups
from zoo.explain.paragraph import paragraph
from zoo.explain.profilers import ProfilerError, find_async_profiler
from zoo.explain.stacks import parse_collapsed

pytestmark = pytest.mark.run

CAUSES = ROOT / "harness/tests/fixtures/causes"
EXPLAIN = [*(sys.executable, "-m", "zoo", "explain"), *("--connections", "20", "--duration", "1", "--warmup", "6")]
PATIENCE_S = 600
BURNED_US = 200
ALLOCATED_BYTES = 100_000


def explain(folder: Path, cause: str, windows: int) -> Explanation:
    try:
        find_async_profiler(ROOT / ".tools/bin")
    except ProfilerError as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [*EXPLAIN, "--variant", f"causes:plain,causes:{cause}", "--windows", str(windows), "--results", str(folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "COLUMNS": "200", "ZOO": str(CAUSES)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (written,) = folder.glob("explain/*/run.json")
    assert (written.parent / "explain.html").stat().st_size > 100_000
    found = Explanation.model_validate_json(written.read_text(encoding="utf-8"))
    assert not found.missing
    return found


def time_below(folder: Path, side: str, frame: str) -> float:
    """Return the CPU time in µs per request of all stacks with this frame."""
    (written,) = folder.glob(f"explain/*/{side}.collapsed")
    stacks = parse_collapsed(written.read_text(encoding="utf-8"))
    return sum(ns for stack, ns in stacks.items() if frame in stack) / 1000


def test_burned_time_is_found_in_its_method_with_its_size(tmp_path: Path) -> None:
    """Check one method alone, because only time burned by the CPU clock is the same on a busy machine."""
    explain(tmp_path, "burn", windows=3)
    assert time_below(tmp_path, "a", "zoo/Causes.burn") == 0
    assert time_below(tmp_path, "b", "zoo/Causes.burn") == pytest.approx(BURNED_US, rel=0.2)


def test_an_allocation_a_system_call_and_a_lock_are_counted(tmp_path: Path) -> None:
    """Compare no number of waits with an exact one: how many threads wait depends on the machine."""
    found = explain(tmp_path, "work", windows=2)
    a, b = (sum(side.allocated_bytes) / len(side.allocated_bytes) for side in (found.a, found.b))
    assert b - a == pytest.approx(ALLOCATED_BYTES, rel=0.2)
    calls = {count.name: count.change for count in clear_counts(found) if count.kind is Counted.CALLS}
    assert calls["pread64"] == pytest.approx(1.0, rel=0.2)
    waits = [
        [window.contended.get("zoo.Causes$Contended", 0.0) for window in side.events] for side in (found.a, found.b)
    ]
    assert max(waits[0]) == 0
    assert min(waits[1]) > 0.1


def test_the_same_program_twice_has_no_cause(tmp_path: Path) -> None:
    found = explain(tmp_path, "same", windows=3)
    assert " uses " not in paragraph(found, read_groups())
