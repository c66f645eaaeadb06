"""Runs of `zoo bench` on container engines, as a person starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from zoo.model.record import Record
from zoo.store.run_folder import Store

PATIENCE_S = 900
BENCH = [sys.executable, "-m", "zoo", "bench", "--runtime", "container", "--quick"]


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
