"""Runs of `zoo bench` on container engines, started as a user would start them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.host.engine import Engine, EngineError
from zoo.runtime.orphans import LABEL

PATIENCE_S = 900
BENCH = [sys.executable, "-m", "zoo", "bench", "--runtime", "container", "--quick"]

LOAD = r"wrk -t\d+ -c\d+ -d\d\ds"
"""Command line of wrk in loads of ten seconds or more. Before them, wrk runs to print its version and to warm up."""


def bench(results: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCH, "--results", str(results), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", **env},
    )


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        output, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=60)
    return run.returncode, output


def records(results: Path) -> list[Record]:
    return Store.open(results / "latest").records()


def labelled(label: str, engine: Engine = Engine()) -> list[str]:  # noqa: B008 (frozen)
    """Return the containers with this label, running or stopped."""
    return engine.call("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={label}").split()


def under_load(engine: Engine, run: subprocess.Popen[str]) -> str:
    """Return the container in which a generator is sending."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and run.poll() is None:
        for container in labelled(LABEL, engine):
            with suppress(EngineError):  # the container may be gone
                if re.search(LOAD, engine.call("top", container, "-o", "pid,args")):
                    return container
        time.sleep(0.1)
    raise AssertionError(f"no load was seen: {ended(run)[1]}")


def failed(run: subprocess.Popen[str], results: Path) -> tuple[str, str]:
    """Return why the only cell of a run failed, and the run's output."""
    code, output = ended(run)
    assert code == 1, output
    [record] = records(results)
    assert record.failure is not None, output
    assert record.failure.message in output
    return record.failure.message, output
