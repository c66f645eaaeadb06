"""Tests of databases in containers without an engine: the commands, and how the engine's output is interpreted."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from waits import PATIENCE_S

from zoo.core.record import Failure
from zoo.host.engine import Engine, EngineError
from zoo.runtime import orphans
from zoo.runtime.databases import RunningDatabase
from zoo.scenarios.jdbc import services
from zoo.scenarios.jdbc.launcher import LaunchFailure
from zoo.scenarios.jdbc.services import Containers, External

RUNNING: dict[str, object] = {
    "Id": "abc",
    "State": {"Running": True, "Pid": os.getpid(), "ExitCode": 0, "Health": {"Status": "healthy"}},
    "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "127.0.0.1"}}},
}
ENDED: dict[str, object] = {**RUNNING, "State": {"Running": False, "Pid": 0, "ExitCode": 3}}


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Listen where the containers should be."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        for name in services.PORTS:
            monkeypatch.setitem(services.PORTS, name, server.getsockname()[1])
        yield


def engine(folder: Path, answers: dict[str, object]) -> Engine:
    """Write an engine that logs its arguments and PASSWORD. It answers `inspect` from a file that a test may change."""
    (folder / "state.json").write_text(json.dumps(answers), encoding="utf-8")
    script = f"""#!/bin/sh
cd {folder}
echo "$*" >>asked
case "$1" in
run) echo "$PASSWORD" >>passwords ;;
inspect) cat state.json ;;
logs) echo "could not bind" ;;
ps) [ ! -e gone ] || {{ echo "Cannot connect to the Docker daemon." >&2; exit 1; }}; echo left ;;
esac
"""
    path = folder / "docker"
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    return Engine(str(path))


def asked(folder: Path, word: str) -> list[str]:
    return [line for line in (folder / "asked").read_text(encoding="utf-8").splitlines() if line.startswith(word)]


def test_another_server_is_the_one_that_the_caller_names(tmp_path: Path) -> None:
    environ = {"JDBC_URL": "jdbc:mariadb://host/zoo", "JDBC_USER": "me", "HOME": "/home/me"}
    with External(tmp_path, environ).serving("mariadb", 100, "sleep-10") as found:
        assert found.env == {"JDBC_URL": "jdbc:mariadb://host/zoo", "JDBC_USER": "me"}
        assert found.exit_reason() is None


@pytest.mark.usefixtures("listening")
def test_a_cell_gets_containers_of_its_own_and_none_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    controls: list[str] = []

    @contextmanager
    def slow_wire(
        serving: RunningDatabase, ms: int, tools: Path, environ: Mapping[str, str]
    ) -> Iterator[RunningDatabase]:
        controls.append(environ["TOXIPROXY_URL"])
        yield RunningDatabase({**serving.env, "JDBC_WIRE_MS": str(ms)})

    monkeypatch.setattr(services, "slow_wire", slow_wire)
    port = services.PORTS["postgres"]
    with Containers(engine(tmp_path, RUNNING)).serving("postgresql", 1100, "wire-10") as found:
        env = found.env
        assert env["JDBC_URL"] == f"jdbc:postgresql://127.0.0.1:{port}/zoo"
        assert (env["JDBC_USER"], env["JDBC_ORIGIN"]) == ("zoo", "container")
        assert env["JDBC_WIRE_MS"] == "10"
        assert controls == [f"http://127.0.0.1:{port}"]
        password, _ = (tmp_path / "passwords").read_text(encoding="utf-8").splitlines()
        assert env["JDBC_PASSWORD"] == password
        assert asked(tmp_path, "rm") == []
    database, wire = asked(tmp_path, "run")
    assert {"--read-only", "--cap-drop=ALL", "--pids-limit=2048", "--env=PASSWORD", "--env=MAX_CONNECTIONS"} <= set(
        database.split()
    )
    assert password not in database
    assert database.endswith("server-zoo/postgres:latest")
    assert wire.endswith("server-zoo/toxiproxy:latest")
    assert "--publish" not in database + wire
    assert asked(tmp_path, "rm") == ["rm --force --volumes left"]


@pytest.mark.usefixtures("listening")
def test_a_database_that_ended_in_mid_run_is_told_from_other_failures(tmp_path: Path) -> None:
    containers = Containers(engine(tmp_path, RUNNING))

    def fail(state: dict[str, object]) -> None:
        with containers.serving("mariadb", 100, "none"):
            (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
            raise LaunchFailure(Failure(kind="failed", message="no connection"))

    with pytest.raises(LaunchFailure):
        fail(RUNNING)
    with pytest.raises(EngineError, match="ended with exit code 3\ncould not bind"):
        fail(ENDED)
    assert len(asked(tmp_path, "rm")) == 2


def test_an_engine_whose_containers_are_out_of_reach_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    away: dict[str, object] = {**RUNNING, "NetworkSettings": {"Networks": {"bridge": {"IPAddress": ""}}}}
    with pytest.raises(EngineError, match="RUNTIME=process"):  # noqa: SIM117
        with Containers(engine(tmp_path, away)).serving("postgresql", 100, "none"):
            pass
    assert len(asked(tmp_path, "rm")) == 1


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("here", [True, False])
def test_databases_that_outlive_their_engine_are_ended_where_this_kernel_runs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, here: bool
) -> None:
    monkeypatch.setattr(services, "is_here", lambda pid, container: here)
    containers = Containers(engine(tmp_path, RUNNING))
    database = subprocess.Popen(["sleep", "600"], env={**os.environ, orphans.MARK: f"zoo-{containers.run_id}-postgres"})
    try:
        said = "were killed without it" if here else "may remain"
        with pytest.raises(EngineError, match=f"Cannot connect to the Docker daemon.*{said}"):  # noqa: SIM117
            with containers.serving("postgresql", 100, "none"):
                (tmp_path / "gone").touch()
        assert (database.wait(PATIENCE_S) if here else database.poll()) == (-9 if here else None)
    finally:
        database.kill()
        database.wait()
