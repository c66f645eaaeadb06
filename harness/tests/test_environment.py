"""Tests of the environment of servers: only what the harness chose, nothing from the caller, and all of it recorded."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import builders
import ports
import pytest

import zoo.scenarios.startup.trial as starts
from zoo.bench import bare_jvm
from zoo.core.condition import Condition
from zoo.core.host_facts import Jdk
from zoo.core.manifest import Entry, Manifest, Server
from zoo.host.engine import Engine
from zoo.host.environment import PATHS, describe_disturbing
from zoo.runtime.base import Launch
from zoo.runtime.container import ContainerRuntime, Resources
from zoo.runtime.environment import recorded_variables
from zoo.runtime.process import ProcessRuntime, start_command
from zoo.scenarios.jdbc import launcher, services
from zoo.stats import two_runs

PORT = ports.claim()
CALLERS = {
    "DEBUG": "app:*",
    "JAVA_TOOL_OPTIONS": "-Xint",
    "_JAVA_OPTIONS": "-Xint",
    "JDK_JAVA_OPTIONS": "-Xmx64m",
    "SERVER_TOMCAT_THREADS_MAX": "10",
    "SERVER_PORT": "9999",
    "SPRING_PROFILES_ACTIVE": "slow",
    "MALLOC_ARENA_MAX": "1",
    "TOKIO_WORKER_THREADS": "1",
    "LC_ALL": "fa_IR.UTF-8",
    "LANG": "tr_TR.UTF-8",
    "HOME": "/home/caller",
    "PYTHONPATH": "/home/caller",
    "ANYTHING": "else",
}
"""Variables of a user's shell that a server, its JVM, its allocator or its runtime would read."""

SCRIPT = """
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
e = os.environ
with open("seen.json", "w") as out:
    json.dump(dict(e), out)
with http.server.HTTPServer(("127.0.0.1", int(e["PORT"])), Handler) as server:
    print(f"listening on http://{e['HOST']}:{e['PORT']} (it:{e['VARIANT']})", flush=True)
    server.serve_forever()
"""


@pytest.fixture
def it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """Return an entry that writes its environment to a file, in a shell with all those variables."""
    for name, value in CALLERS.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "it.py").write_text(SCRIPT, encoding="utf-8")
    variant = {
        "name": "async",
        "model": "async-task",
        "summary": "a test",
        "env": {"OWN": "1"},
        "settings": ["BUFFERS"],
    }
    table = builders.manifest(
        "it", PORT, language="rust", run={"command": [sys.executable, "it.py"]}, variants=[variant]
    )
    server = Server(folder, Manifest.model_validate(table))
    return Entry(server, server.manifest.variants[0])


def seen(entry: Entry) -> dict[str, str]:
    found: dict[str, str] = json.loads((entry.server.folder / "seen.json").read_text(encoding="utf-8"))
    return found


def test_a_server_starts_with_nothing_of_the_caller_s_environment(it: Entry, tmp_path: Path) -> None:
    hosted = ProcessRuntime(None).start(Launch(it, tmp_path / "it.log", {"BUFFERS": "lean"}))
    hosted.stop()
    found = seen(it)
    assert {name: found[name] for name in CALLERS if found.get(name) == CALLERS[name]} == {}
    assert (found["LC_ALL"], found["TZ"], found["BUFFERS"], found["OWN"]) == ("C.UTF-8", "UTC", "lean", "1")
    assert found["HOME"] == found["TMPDIR"] != str(Path.home())


def test_all_that_a_server_is_given_is_in_the_record(it: Entry, tmp_path: Path) -> None:
    hosted = ProcessRuntime(None).start(Launch(it, tmp_path / "it.log", {"BUFFERS": "lean"}))
    hosted.stop()
    found = seen(it)
    told = recorded_variables(it, Condition(env={"BUFFERS": "lean", "MAX_THREADS": "4"}))
    assert set(told) == set(found) - {"ZOO_LOCK"}
    assert told == {name: told[name] if told[name].startswith("{") else found[name] for name in told}


def test_a_start_that_is_timed_has_the_same_environment(it: Entry, tmp_path: Path) -> None:
    starts.start_once(Launch(it, tmp_path / "it.log"), None)
    assert set(seen(it)) - {"ZOO_LOCK"} == set(recorded_variables(it, Condition()))


def test_a_command_is_found_on_the_caller_s_path_though_the_server_does_not_get_it(
    it: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "mine").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    run = it.server.manifest.run.model_copy(update={"command": ["mine", "it.py"]})
    server = Server(it.server.folder, it.server.manifest.model_copy(update={"run": run}))
    ProcessRuntime(None).start(Launch(Entry(server, it.variant), tmp_path / "it.log")).stop()
    assert str(tools) not in seen(it)["PATH"]


def test_a_jvm_s_own_home_is_the_scratch_folder_too(tmp_path: Path) -> None:
    # A JVM does not use HOME.
    entry = builders.entry("java-a:virtual")
    words = start_command(
        Launch(entry, tmp_path / "it.log"), Jdk(tmp_path, tmp_path / "java", "25", 25, "x"), "/scratch"
    )
    assert {"-Djava.io.tmpdir=/scratch", "-Duser.home=/scratch"} <= set(words)


def test_a_jvm_without_a_server_has_none_of_it_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\nenv > "{tmp_path}/seen"\n', encoding="utf-8")
    java.chmod(0o755)
    for name, value in CALLERS.items():
        monkeypatch.setenv(name, value)
    bare_jvm.time_starts(Jdk(tmp_path, java, "25", 25, "x"), tmp_path / "it.jar", runs=1)
    found = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text(encoding="utf-8").splitlines())
    assert {name for name in CALLERS if found.get(name) == CALLERS[name]} == set()


def test_a_person_is_told_which_variables_do_not_reach_servers() -> None:
    text = describe_disturbing({**CALLERS, "SERVER_CPUS": "2", "PATH": "/bin", "SHLVL": "1"})
    assert text is not None
    assert all(name in text for name in ("DEBUG", "JAVA_TOOL_OPTIONS", "SERVER_PORT", "MALLOC_ARENA_MAX"))
    assert not any(name in text for name in ("SERVER_CPUS", "ANYTHING", "\n"))
    assert "VARY=flags=" in text
    assert describe_disturbing({"PATH": "/bin", "SERVER_CPUS": "2"}) is None


def test_two_runs_whose_servers_had_other_environments_did_not_have_the_same_conditions() -> None:
    a, b = (
        builders.run().model_copy(update={"environment": {"rust-n:bare": {"LC_ALL": "C.UTF-8", "MODE": mode}}})
        for mode in ("fast", "slow")
    )
    found = two_runs.compare_runs(a, [], b, [])
    assert "environment MODE: fast → slow" in found.changes
    assert not any("LC_ALL" in change for change in found.changes)


def test_java_jdbc_gets_what_it_reads_and_no_secret_is_stored() -> None:
    callers = {**CALLERS, "PATH": "/mine", "JDBC_URL": "jdbc:postgresql://host/zoo", "JDBC_PASSWORD": "secret"}
    given = {**launcher.environment("/tmp"), **services.caller_variables(callers)}
    assert {name for name in CALLERS if given.get(name) == CALLERS[name]} == set()
    assert (given["PATH"], given["JDBC_PASSWORD"]) == (PATHS, "secret")
    assert "secret" not in str(launcher.recorded_environment(callers))
    assert set(launcher.recorded_environment(callers)) == set(given)


def test_all_that_a_container_is_given_is_in_the_record() -> None:
    entry = builders.entry("java-a:platform")
    settings = {"MAX_THREADS": "4", "CONNECTOR": "nio2"}
    launched = Launch(entry, Path("log"), entry.settings_of(settings))
    words = ContainerRuntime(Engine(), Resources(None, None)).environment(launched)
    told = recorded_variables(entry, Condition(runtime="container", network="container", env=settings))
    assert words == [f"--env={name}={value}" for name, value in told.items()]
    assert told == {"VARIANT": "platform", "HOST": "127.0.0.1", "PORT": "8101", "MAX_THREADS": "4"}
