"""The Makefile hands a user's settings on to the harness."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = ("SERVER=java-tomcat", "VARIANT=virtual", "SCENARIO=cpu", "CASE=0.5ms", "TIERS=5", "HEAP=50m")


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-quick", "plan"])
def test_every_setting_reaches_the_command_that_measures(target: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", target, *SETTINGS], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    command = done.stdout.splitlines()[-1]
    for option in (
        "--server 'java-tomcat'",
        "--variant 'virtual'",
        "--scenario 'cpu'",
        "--case '0.5ms'",
        "--tiers 5",
        "--vary heap=50m",
    ):
        assert option in command
