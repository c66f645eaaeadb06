"""The Makefile hands a user's settings on to the harness."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = ("SERVER=java-tomcat", "VARIANT=virtual", "SCENARIO=cpu", "CASE=0.5ms", "TIERS=5", "HEAP=50m")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    """As a user has it, also where `make test` runs this."""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", *words]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=30, check=False)


def dry_run(target: str, *settings: str) -> subprocess.CompletedProcess[str]:
    """The commands of a target, as make prints them."""
    return make("--dry-run", target, *settings)


def words(target: str, *settings: str) -> list[str]:
    """The last command, as the shell takes it apart."""
    return shlex.split(dry_run(target, *settings).stdout.splitlines()[-1])


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-quick", "plan"])
def test_every_setting_reaches_the_command_that_measures(target: str) -> None:
    command = dry_run(target, *SETTINGS).stdout.splitlines()[-1]
    for option in (
        "--server 'java-tomcat'",
        "--variant 'virtual'",
        "--scenario 'cpu'",
        "--case '0.5ms'",
        "--tiers 5",
        "--vary heap=50m",
    ):
        assert option in command


@pytest.mark.parametrize(
    ("target", "settings", "expected"),
    [
        ("report", ["RUN=/a b/it's", "SVG=x y"], ["report", "/a b/it's", "--svg", "x y"]),
        ("compare", ["A=a b", "B=c's"], ["compare", "a b", "c's"]),
        ("export", ["RUN=$HOME; true"], ["export", "$HOME; true", "--csv"]),
        ("plan", ["SERVER=a'b"], ["plan", "--server", "a'b"]),
        (
            "plan",
            ["TARGET=http://a:1/?b=1,2,http://c:2/", "REMOTE=1"],
            ["plan", "--target", "http://a:1/?b=1,2", "--target", "http://c:2/", "--remote"],
        ),
        ("answer", ["SERVER=a'b"], ["answer", "a'b"]),
        ("answer", ["SERVER=a", "ROUNDS=6"], ["answer", "a", "--rounds", "6"]),
    ],
)
def test_the_shell_takes_a_setting_as_one_word(target: str, settings: list[str], expected: list[str]) -> None:
    # make itself reads a dollar; two are one
    assert words(target, *(setting.replace("$", "$$") for setting in settings))[1:] == expected


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-jdbc"])
def test_going_on_takes_no_other_settings(target: str) -> None:
    assert words(target, "RESUME=1")[-1] == "--resume"
    refused = dry_run(target, "RESUME=1", "DATABASE=mariadb" if target == "bench-jdbc" else "TIERS=100")
    assert refused.returncode == 2
    assert "RESUME=1 goes on with the newest run as it was planned" in refused.stderr


@pytest.mark.parametrize("target", ["bench", "bench-all"])
def test_a_run_that_is_gone_on_with_may_have_more_rounds(target: str) -> None:
    assert words(target, "RESUME=1", "ROUNDS=6")[-3:] == ["--resume", "--rounds", "6"]


def test_help_lists_every_command_in_a_group_with_those_that_measure_first() -> None:
    told = make("help").stdout
    assert re.findall(r"^([A-Z]\w+)$", told, re.MULTILINE) == ["Try", "Measure", "Understand", "Claims", "Develop"]
    commands = re.findall(r"^  ([a-z0-9-]+) ", told, re.MULTILINE)
    described = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(commands) == sorted(described)
