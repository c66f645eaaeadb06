"""Tests that end the harness at random moments and resume it: no measurement is lost, doubled or torn.

`KILLS` sets how often it is killed; `make test-faults` uses 1,000.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KILLS = int(os.environ.get("KILLS", "50"))
SOUND = {"lost": 0, "doubled": 0, "torn": 0, "incomplete": 0}
ALONE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
"""Prefix for a command, which lets it mount anything in its own mount namespace."""

without_mounts = pytest.mark.skipif(
    subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0,
    reason="this system refuses mount namespaces",
)


def told(command: list[str]) -> dict[str, int]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_kills_at_random_moments_cost_nothing_that_was_measured(tmp_path: Path) -> None:
    found = told([sys.executable, str(HERE / "kills.py"), "killed", str(tmp_path), str(KILLS), "1"])
    assert found | SOUND == found, found
    assert found["ends"] >= KILLS
    assert found["runs"] > 0


@without_mounts
def test_a_disk_that_is_full_at_any_write_costs_nothing_that_was_measured(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=8k none "$1" && exec "$2" "$3" full "$1"'
    found = told([*ALONE, "sh", "-c", script, "sh", str(tmp_path), sys.executable, str(HERE / "kills.py")])
    assert found | SOUND == found, found
    assert found["ends"] > 10


@without_mounts
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    words = "bench --quick --server rust-axum --variant hyper --connections 10 --runtime process --results"
    script = 'mount -t tmpfs -o ro none "$1" && shift && exec "$@"'
    command = [
        *ALONE,
        "sh",
        "-c",
        script,
        "sh",
        str(tmp_path),
        sys.executable,
        "-m",
        "zoo",
        *words.split(),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Read-only file system" in done.stderr
    assert "Traceback" not in done.stderr
