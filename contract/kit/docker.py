"""The docker command: its error output if it fails, and a label that identifies everything a run created."""

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
"""Label on every container and network of the suite; its value is the run's name."""

PATIENCE = 120.0
NO_COMMAND = "there is no docker command: install Docker Engine and its compose plugin"
NO_ENGINE = "the Docker engine does not answer: start it, or point DOCKER_HOST or `docker context` to one"
NO_COMPOSE = "docker has no compose plugin: install it"


class DockerFailed(ServerFailed):
    """Failed docker command, with its error output."""


class DockerLate(DockerFailed):
    """Docker command that did not end in time."""


def cli(*words: str, env: Mapping[str, str] | None = None, patience: float = PATIENCE) -> str:
    """Run a docker command, without the contract's variables in its environment, and return what it prints."""
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
    """Raise `Unusable`, with a one-line message that names the fix, if containers cannot be started."""
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
    """Run a command in the container, as its default user or as `user`, and return what it prints."""
    return cli("exec", *(("--user", user) if user else ()), container, *command)


def remove(container: str) -> None:
    """Remove a container and its anonymous volumes, if it exists."""
    try:
        cli("rm", "--force", "--volumes", container)
    except DockerFailed as error:
        if "No such container" not in str(error):
            raise


def left_of(run: str) -> list[str]:
    """Return the remaining containers, networks and volumes of a run, in readable form."""
    chosen = ("--filter", f"label={LABEL}={run}", "--format")
    return [
        *(f"container {name}" for name in cli("ps", "--all", *chosen, "{{.Names}}").split()),
        *(f"network {name}" for name in cli("network", "ls", *chosen, "{{.Name}}").split()),
        *(f"volume {name}" for name in cli("volume", "ls", *chosen, "{{.Name}}").split()),
    ]


def sweep(run: str) -> list[str]:
    """Remove everything a run left behind, and return the containers, which the tests should have removed."""
    found = left_of(run)
    for kind, command in (("container", ("rm", "--force", "--volumes")), ("network", ("network", "rm"))):
        names = [name.removeprefix(f"{kind} ") for name in found if name.startswith(f"{kind} ")]
        if names:
            cli(*command, *names)
    remaining = left_of(run)
    if remaining:
        raise DockerFailed(f"could not be removed: {', '.join(remaining)}")
    return [name for name in found if name.startswith("container ")]
