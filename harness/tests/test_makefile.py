"""Tests that the Makefile passes a user's settings to the harness."""

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

SETTINGS = ("SERVER=java-tomcat", "VARIANT=virtual", "SCENARIO=cpu", "CASE=0.5ms", "CONNECTIONS=5", "HEAP=50m")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    """Run make as a user would, even when `make test` runs the tests."""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", *words]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=300, check=False)


def run(target: str, *settings: str) -> subprocess.CompletedProcess[str]:
    """Run a target with a harness that prints its command line as JSON. Nothing is set up."""
    printer = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('print_words.py')))}"
    done = [word for name in ("setup", "tools", "toxiproxy", ".venv/.ready") for word in ("--old-file", name)]
    return make("--silent", *done, target, f"HARNESS={printer}", *settings)


def given(target: str, *settings: str) -> tuple[str, dict[str, object]]:
    """Return the command that a target calls, and the options that it sets."""
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
        "connections": ["5"],
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
            {"target": ["http://a:1/?b=1,2", "http://c:2/"], "remote": True},
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
            {"name": ["aa", "java-liberty/*"], "budget": 9},
        ),
        ("claims", ["ARTICLE=R,T"], "claims show", {"article": ["R", "T"]}),
        ("claims-run", ["CLAIM=R7", "YES=1"], "claims run", {"claim": ["R7"], "yes": True}),
        ("claims-plan", ["CLAIM=R7,R8"], "claims plan", {"claim": ["R7", "R8"]}),
        ("answer", ["SERVER=a'b"], "answer", {"server": "a'b"}),
        ("answer", ["SERVER=a", "ROUNDS=6"], "answer", {"server": "a", "rounds": 6}),
        ("plan-jdbc", ["POOL=10,100"], "jdbc plan", {"pool": ["10", "100"]}),
    ],
)
def test_a_setting_reaches_the_harness_unchanged(
    target: str, settings: list[str], command: str, options: dict[str, object]
) -> None:
    # make interprets a dollar sign; two stand for one
    assert given(target, *(setting.replace("$", "$$") for setting in settings)) == (command, options)


@pytest.mark.parametrize("target", ["bench", "bench-all", "bench-jdbc"])
def test_going_on_takes_no_other_settings(target: str) -> None:
    assert given(target, "RESUME=1")[1]["resume"] is True
    refused = run(target, "RESUME=1", "DATABASE=mariadb" if target == "bench-jdbc" else "CONNECTIONS=100")
    assert refused.returncode == 2
    assert "RESUME=1 continues the newest run as it was planned" in refused.stderr


def test_the_former_name_of_a_setting_works_and_a_note_names_the_new_one() -> None:
    made = run("plan", "TIERS=100,1k")
    assert json.loads(made.stdout)[1] == {"connections": ["100", "1k"]}
    assert "TIERS= is now CONNECTIONS=; the former name still works\n" in made.stderr
    assert "settings: CONNECTIONS=100,1k\n" in made.stderr


def test_a_database_run_that_is_gone_on_with_has_its_own_rounds() -> None:
    assert "remove the other settings" in run("bench-jdbc", "RESUME=1", "ROUNDS=6").stderr


@pytest.mark.parametrize("target", ["bench", "bench-all"])
def test_a_run_that_is_gone_on_with_may_have_more_rounds(target: str) -> None:
    options = given(target, "RESUME=1", "ROUNDS=6")[1]
    assert (options["resume"], options["rounds"]) == (True, 6)


def test_an_answer_needs_a_server() -> None:
    refused = run("answer")
    assert refused.returncode == 2
    assert "SERVER= must name a server" in refused.stderr


DOCKER = """#!/bin/sh
[ "$2" != port ] || echo "127.0.0.1:8141 of $3 $4"
[ "$2" != up ] || echo "up $5"
"""


@pytest.mark.parametrize(
    ("listed", "code", "told"),
    [
        (
            "echo java-vertx-virtual 8102 java-vertx:virtual",
            0,
            "http://127.0.0.1:8141 of java-vertx-virtual 8102/ (java-v",
        ),
        ("echo a 1 a:a b 2 b:b", 2, "VARIANT= must name one variant"),
        ("false", 2, ""),
    ],
)
def test_up_starts_the_service_that_the_harness_names(
    listed: str, code: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "docker"
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    made = make("--silent", "--old-file", ".venv/.ready", "up", "SERVER=java-vertx", f"HARNESS={listed}; :")
    assert made.returncode == code
    assert told in made.stdout
    assert ("up " in made.stdout) == (code == 0)


def test_help_lists_every_command_in_a_group_with_those_that_measure_first() -> None:
    told = make("help").stdout
    assert re.findall(r"^([A-Z]\w+)$", told, re.MULTILINE) == ["Try", "Measure", "Understand", "Claims", "Develop"]
    commands = re.findall(r"^  ([a-z0-9-]+) ", told, re.MULTILINE)
    described = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(commands) == sorted(described)
