"""Test of `cold` as a user runs it: real Tomcat and real wrk for a few seconds. It needs java-tomcat built."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.core.run_folder import Store
from zoo.core.trial_results import ColdResult

pytestmark = pytest.mark.run

BENCH = [
    *(sys.executable, "-m", "zoo", "bench", "--runtime", "process", "--quick", "--scenario", "cold"),
    *("--case", "default", "--server", "java-tomcat", "--variant", "platform", "--variant", "virtual"),
    *("--duration", "6"),
]
PATIENCE_S = 600


def test_a_cold_server_is_loaded_and_its_threads_are_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [*BENCH, "--results", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, ColdResult] = {}
    for record in Store.open(tmp_path / "latest").records():
        assert record.trial is not None, record.failure
        assert isinstance(record.trial.result, ColdResult)
        found[record.entry] = record.trial.result
        assert record.trial.server is not None
        assert record.trial.server.ready_s
    assert set(found) == {"java-tomcat:platform", "java-tomcat:virtual"}
    for one in found.values():
        assert len(one.seconds) == 6
        assert sum(one.seconds) > 100
        assert one.steady_rps > one.seconds[0], "the first second has interpreted code and a busy compiler"
        assert one.compiler is not None
        assert one.request is not None
        for use in (one.compiler, one.request):
            assert use.t[0] == use.cpu_s[0] == 0
            assert use.cpu_s == sorted(use.cpu_s)
            assert use.cpu_s[-1] > 0
            assert use.waited_s == sorted(use.waited_s)
    assert "java-tomcat, cold start at 100 connections. 95% of the steady rate is reached: " in done.stdout
    report = (tmp_path / "latest" / "report.md").read_text(encoding="utf-8")
    assert "| java-tomcat:virtual |" in report
    assert "compiler waited s" in report
