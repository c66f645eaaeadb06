"""The docker command: its own words when it fails, and a label by which all that a run made is found again."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any, cast

from kit.server import CONTRACT_VARIABLES, ServerFailed, Unusable

LABEL = "server-zoo.contract"
"""On every container and network of the suite; its value is the run's name."""

PATIENCE = 120.0
NO_COMMAND = "there is no docker command: install Docker Engine and its compose plugin"
NO_ENGINE = "the Docker engine does not answer: start it, or point DOCKER_HOST or `docker context` to one"
NO_COMPOSE = "docker has no compose plugin: install it"


class DockerFailed(ServerFailed):
    """A docker command that failed, with what it said."""


class DockerLate(DockerFailed):
    """A docker command that did not end in time."""


def cli(*words: str, env: Mapping[str, str] | None = None, patience: float = PATIENCE) -> str:
    """What the command prints. Variables of the contract in the suite's own environment do not reach it."""
    inherited = {name: value for name, value in os.environ.items() if name not in CONTRACT_VARIABLES}
    shown = f"docker {shlex.join(words)}"
    try:
        done = subprocess.run(
            ["docker", *words],
            env={**inherited, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DockerLate(f"`{shown}` did not end within {patience:.0f} s") from None
    if done.returncode != 0:
        raise DockerFailed(f"`{shown}` ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def require_engine() -> None:
    """`Unusable`, in one line that says what to do, where containers cannot be started."""
    if shutil.which("docker") is None:
        raise Unusable(NO_COMMAND)
    _require(NO_ENGINE, "version", "--format", "{{.Server.Version}}")
    _require(NO_COMPOSE, "compose", "version")


def _require(complaint: str, *words: str) -> None:
    try:
        cli(*words, patience=30)
    except DockerFailed as error:
        raise Unusable(f"{complaint} ({str(error).splitlines()[-1]})") from None


def inspect(container: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(cli("container", "inspect", container))[0])


def inspect_image(image: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(cli("image", "inspect", image))[0])


def exists(image: str) -> bool:
    try:
        inspect_image(image)
    except DockerFailed:
        return False
    return True


def execute(container: str, *command: str, user: str | None = None) -> str:
    """Run a command inside, as the container's own user or another; what it prints."""
    return cli("exec", *(("--user", user) if user else ()), container, *command)


def remove(container: str) -> None:
    """With its anonymous volumes; it need not exist."""
    try:
        cli("rm", "--force", "--volumes", container)
    except DockerFailed as error:
        if "No such container" not in str(error):
            raise


def left_of(run: str) -> list[str]:
    """Containers, networks and volumes of a run, as words for people."""
    chosen = ("--filter", f"label={LABEL}={run}", "--format")
    return [
        *(f"container {name}" for name in cli("ps", "--all", *chosen, "{{.Names}}").split()),
        *(f"network {name}" for name in cli("network", "ls", *chosen, "{{.Name}}").split()),
        *(f"volume {name}" for name in cli("volume", "ls", *chosen, "{{.Name}}").split()),
    ]


def sweep(run: str) -> list[str]:
    """Remove all that is left of a run; the names of its containers, of which tests should have left none."""
    found = left_of(run)
    for kind, command in (("container", ("rm", "--force", "--volumes")), ("network", ("network", "rm"))):
        names = [name.removeprefix(f"{kind} ") for name in found if name.startswith(f"{kind} ")]
        if names:
            cli(*command, *names)
    remaining = left_of(run)
    if remaining:
        raise DockerFailed(f"could not be removed: {', '.join(remaining)}")
    return [name for name in found if name.startswith("container ")]
