"""Runs of `zoo bench` on container engines, as a person starts them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from zoo.host.engine import Engine, EngineError
from zoo.model.record import Record
from zoo.runtime.orphans import LABEL
from zoo.store.run_folder import Store

PATIENCE_S = 900
BENCH = [sys.executable, "-m", "zoo", "bench", "--runtime", "container", "--quick"]

LOAD = r"wrk -t\d+ -c\d+ -d\d\ds"
"""wrk in a load of ten seconds or more; before that it runs to tell its version, and to warm up."""


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


def under_load(engine: Engine, run: subprocess.Popen[str]) -> str:
    """The container in which a generator sends by now."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and run.poll() is None:
        for container in engine.labelled(LABEL):
            with suppress(EngineError):  # gone since
                if re.search(LOAD, engine.call("top", container, "-o", "pid,args")):
                    return container
        time.sleep(0.1)
    raise AssertionError(f"no load was seen: {ended(run)[1]}")


def failed(run: subprocess.Popen[str], results: Path) -> tuple[str, str]:
    """Why the one cell of a run failed, and what the run said."""
    code, output = ended(run)
    assert code == 1, output
    [record] = records(results)
    assert record.failure is not None, output
    assert record.failure.message in output
    return record.failure.message, output
