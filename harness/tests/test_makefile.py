"""The Makefile hands a user's settings on to the harness."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = ("SERVER=java-tomcat", "VARIANT=virtual", "SCENARIO=cpu", "CASE=0.5ms", "TIERS=5", "HEAP=50m")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    """As a user has it, also where `make test` runs this."""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", *words]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=30, check=False)


def run(target: str, *settings: str) -> subprocess.CompletedProcess[str]:
    """Run a target with a harness that prints its command line as JSON; nothing is set up."""
    printer = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('print_words.py')))}"
    done = [word for name in ("setup", "tools", "toxiproxy", ".venv/.ready") for word in ("--old-file", name)]
    return make("--silent", *done, target, f"HARNESS={printer}", *settings)


def given(target: str, *settings: str) -> tuple[str, dict[str, object]]:
    """The command that a target calls, and the options that it sets."""
    made = run(target, *settings)
    assert made.returncode == 0, made.stderr
    command, options = json.loads(made.stdout.splitlines()[-1])
    return " ".join(command), options


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-quick", "plan"])
def test_every_setting_reaches_the_command_that_measures(target: str) -> None:
    expected = {
        "server": ["java-tomcat"],
        "variant": ["virtual"],
        "scenario": ["cpu"],
        "case": ["0.5ms"],
        "tiers": ["5"],
        "vary": ["heap=50m"],
    }
    _, options = given(target, *SETTINGS)
    assert expected.items() <= options.items()


@pytest.mark.parametrize(
    ("target", "settings", "command", "options"),
    [
        ("report", ["RUN=/a b/it's", "SVG=x y"], "report", {"run": "/a b/it's", "svg": "x y"}),
        ("compare", ["A=a b", "B=c's"], "compare", {"first": "a b", "second": "c's"}),
        ("compare", [], "compare", {"first": "results/reference/bench-all", "second": "results/latest"}),
        ("export", ["RUN=$HOME; true"], "export", {"run": "$HOME; true", "as_csv": True}),
        ("plan", ["SERVER=a'b", "STRICT=1"], "plan", {"server": ["a'b"]}),
        ("plan", ["PRECISION=3%", "RUN=r"], "plan", {"precision": "3%", "run": "r"}),
        (
            "plan",
            ["TARGET=http://a:1/?b=1,2,http://c:2/", "REMOTE=1"],
            "plan",
            {"target": ["http://a:1/?b=1,2,http://c:2/"], "remote": True},
        ),
        (
            "bench",
            ["HEAP=50m,300m", "JDK=25,21", "VARY=flags=-Da=b MAX_THREADS=4", "STRICT=1"],
            "bench",
            {"vary": ["flags=-Da=b", "MAX_THREADS=4", "heap=50m", "heap=300m", "jdk=21"], "strict": True},
        ),
        ("bench-all", ["BUDGET=30"], "bench", {"precision": "5%", "budget": 30}),
        (
            "reference",
            ["NAME=aa,java-liberty/*", "BUDGET=9"],
            "reference run",
            {"name": ["aa,java-liberty/*"], "budget": 9},
        ),
        ("claims-plan", ["CLAIM=R7,R8"], "claims plan", {"claim": ["R7,R8"]}),
        ("answer", ["SERVER=a'b"], "answer", {"server": "a'b"}),
        ("answer", ["SERVER=a", "ROUNDS=6"], "answer", {"server": "a", "rounds": 6}),
        ("plan-jdbc", ["POOL=10,100"], "jdbc plan", {"pool": ["10,100"]}),
    ],
)
def test_a_setting_reaches_the_harness_unchanged(
    target: str, settings: list[str], command: str, options: dict[str, object]
) -> None:
    # make itself reads a dollar; two are one
    assert given(target, *(setting.replace("$", "$$") for setting in settings)) == (command, options)


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-jdbc"])
def test_going_on_takes_no_other_settings(target: str) -> None:
    assert given(target, "RESUME=1")[1]["resume"] is True
    refused = run(target, "RESUME=1", "DATABASE=mariadb" if target == "bench-jdbc" else "TIERS=100")
    assert refused.returncode == 2
    assert "RESUME=1 goes on with the newest run as it was planned" in refused.stderr


def test_a_database_run_that_is_gone_on_with_has_its_own_rounds() -> None:
    assert "leave out the other settings" in run("bench-jdbc", "RESUME=1", "ROUNDS=6").stderr


@pytest.mark.parametrize("target", ["bench", "bench-all"])
def test_a_run_that_is_gone_on_with_may_have_more_rounds(target: str) -> None:
    options = given(target, "RESUME=1", "ROUNDS=6")[1]
    assert (options["resume"], options["rounds"]) == (True, 6)


def test_an_answer_needs_a_server() -> None:
    refused = run("answer")
    assert refused.returncode == 2
    assert "SERVER= must name a server" in refused.stderr


def test_help_lists_every_command_in_a_group_with_those_that_measure_first() -> None:
    told = make("help").stdout
    assert re.findall(r"^([A-Z]\w+)$", told, re.MULTILINE) == ["Try", "Measure", "Understand", "Claims", "Develop"]
    commands = re.findall(r"^  ([a-z0-9-]+) ", told, re.MULTILINE)
    described = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(commands) == sorted(described)
