"""Docker Compose commands on the zoo's compose file."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from kit.docker import LABEL, DockerFailed, cli, inspect_image
from kit.server import Unusable
from kit.targets import Target

FILE = "docker-compose.yml"
"""Name of the compose file. Each command names it because the suite passes a second file."""


def service_of(target: Target) -> str:
    return target.id.replace(":", "-")


class Compose:
    """Compose project with the zoo's file, plus a label and a test's changes to one service.

    Each object is a separate project: two workers in one project could create the same network twice.
    """

    def __init__(self, root: Path, run: str) -> None:
        self.run = run
        self._root = root
        self._project = f"contract-{run}-{uuid.uuid4().hex[:6]}"
        self._file = root / FILE

    def another(self) -> Compose:
        return Compose(self._root, self.run)

    @cached_property
    def services(self) -> dict[str, dict[str, Any]]:
        """Services that need no profile, as Compose resolves them: one per entry."""
        if not self._file.is_file():
            raise Unusable(f"there is no {FILE} in {self._root}")
        try:
            text = cli("compose", "--file", str(self._file), "config", "--format", "json")
        except DockerFailed as error:
            raise Unusable(str(error)) from None
        return cast("dict[str, dict[str, Any]]", json.loads(text)["services"])

    def image(self, target: Target) -> str:
        return cast("str", self.services[service_of(target)]["image"])

    def start_command(self, target: Target) -> list[str]:
        """Return the command of the container's first process, with `$` written as `$$` for a compose file."""
        service, image = self.services[service_of(target)], inspect_image(self.image(target))["Config"]
        words: list[str] = []
        for key, of_image in (("entrypoint", "Entrypoint"), ("command", "Cmd")):
            words += service.get(key) or [word.replace("$", "$$") for word in image.get(of_image) or []]
        return words

    def __call__(
        self,
        *words: str,
        target: Target,
        over: Mapping[str, object] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run a Compose command with `over` merged into the target's service, and return what it prints."""
        label = {"labels": {LABEL: self.run}}
        layer = {"services": {service_of(target): {**label, **(over or {})}}, "networks": {"default": label}}
        with tempfile.NamedTemporaryFile("w", prefix="contract-", suffix=".json") as file:
            json.dump(layer, file)
            file.flush()
            files = ("--file", str(self._file), "--file", file.name)
            return cli("compose", *files, "--project-name", self._project, *words, env=env)
