"""The Makefile hands a user's settings on to the harness."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = ("SERVER=java-tomcat", "VARIANT=virtual", "SCENARIO=cpu", "CASE=0.5ms", "TIERS=5", "HEAP=50m")


def dry_run(target: str) -> str:
    """The commands of a target, as make prints them to a user: also where `make test` runs this."""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    make = ["make", "--dry-run", target, *SETTINGS]
    return subprocess.run(make, cwd=ROOT, env=own, capture_output=True, text=True, timeout=30, check=True).stdout


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-quick", "plan"])
def test_every_setting_reaches_the_command_that_measures(target: str) -> None:
    command = dry_run(target).splitlines()[-1]
    for option in (
        "--server 'java-tomcat'",
        "--variant 'virtual'",
        "--scenario 'cpu'",
        "--case '0.5ms'",
        "--tiers 5",
        "--vary heap=50m",
    ):
        assert option in command
