"""Tests that the doctor, `RUNTIME=auto` and `RUNTIME=container` agree on whether containers can be used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zoo.cli import app
from zoo.core.errors import BenchError
from zoo.host.engine import Engine, EngineError
from zoo.runtime.conditions import select_runtime

ANSWERS = json.dumps({"ServerVersion": "28.2.2", "OperatingSystem": "Debian", "NCPU": 2})
PODMAN = json.dumps({"host": {"arch": "amd64"}, "store": {}, "version": {"APIVersion": "5.4.2", "Version": "5.4.2"}})
NO_COMPOSE = "docker: 'compose' is not a docker command.\\nSee 'docker --help'"
REFUSED = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"

SCRIPTS = {
    "sound": f"""case $1 in
        info) echo '{ANSWERS}' ;;
        version) echo 28.2.2 ;;
        compose) echo 'Docker Compose version v2.36.0' ;;
        --version) echo 'Docker version 28.2.2' ;;
    esac""",
    "no compose": f"""case $1 in
        info) echo '{ANSWERS}' ;;
        version) echo 28.2.2 ;;
        compose|--*compose*) printf "{NO_COMPOSE}\\n" >&2; exit 1 ;;
        --version) echo 'Docker version 28.2.2' ;;
    esac""",
    "podman": f"""echo 'Emulate Docker CLI using podman.' >&2; case $1 in
        info) echo '{PODMAN}' ;;
        version) echo 5.4.2 ;;
        compose) echo 'podman-compose version 1.3' ;;
        --version) echo 'podman version 5.4.2' ;;
    esac""",
    "refused": f"""case $1 in
        --version) echo 'Docker version 28.2.2' ;;
        *) echo '{REFUSED}' >&2; exit 1 ;;
    esac""",
}


@pytest.fixture
def docker(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Put a `docker` command on the PATH, written as a short shell script."""
    path = tmp_path / "docker"
    path.write_text(f"#!/bin/sh\n{SCRIPTS[request.param]}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return Engine()


def doctor() -> str:
    """Return the doctor's output in one line, because its table breaks lines anywhere."""
    done = CliRunner().invoke(app.app_for(["doctor"]), ["doctor"], env={"COLUMNS": "80"})
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return " ".join(done.output.split())


@pytest.mark.parametrize("docker", ["sound"], indirect=True)
def test_an_engine_with_all_it_takes_is_used(docker: Engine) -> None:
    assert select_runtime("auto") == select_runtime("container") == "container"
    assert docker.check_usable().version == "28.2.2"
    assert "ok container engine Docker 28.2.2" in doctor()


@pytest.mark.parametrize(
    ("docker", "why", "fix"),
    [
        ("no compose", "no compose plugin", "compose"),
        ("podman", "is Podman", "RUNTIME=process"),
        ("refused", "permission denied", "sudo usermod -aG docker $USER"),
    ],
    indirect=["docker"],
)
def test_an_engine_that_cannot_be_used_is_refused_and_the_doctor_says_why(docker: Engine, why: str, fix: str) -> None:
    assert select_runtime("auto") == "process"
    with pytest.raises(BenchError, match=why):
        select_runtime("container")
    said = doctor()
    assert "warn container engine" in said
    assert "containers can be used" not in said
    assert why.rsplit(maxsplit=1)[-1] in said
    assert fix in said


@pytest.mark.parametrize("docker", ["no compose"], indirect=True)
def test_a_build_without_the_plugin_names_it_instead_of_printing_usage(docker: Engine, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no compose plugin"):
        docker.compose_build(tmp_path, ["generator"], {})
