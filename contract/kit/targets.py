"""What the suite is run against: the entries of the zoo, or a server described by a manifest anywhere."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Entry, Language
from zoo.host.jdk import find_jdk
from zoo.runtime.process import command


@dataclass(frozen=True)
class Target:
    """One entry as the suite sees it: how it is started, and what it promises."""

    server: str
    variant: str
    model: str
    folder: Path
    port: int
    variants: tuple[str, ...]
    jvm: bool
    argv: Callable[[], tuple[str, ...]]
    """The start command; made only when a process is started, as it asks for a JDK."""
    build: tuple[str, ...] = ()
    makes: tuple[Path, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    passed_on: tuple[str, ...] = ()
    """Variables of the suite's own environment that the server gets."""
    self_tuning: bool = False
    """True where MAX_THREADS must be set for the pool to have a bound."""

    @property
    def id(self) -> str:
        return f"{self.server}:{self.variant}"

    @property
    def bounded(self) -> bool:
        """True where each request in work holds one of MAX_THREADS threads."""
        return self.model == "platform-thread"


@cache
def java_home() -> Path:
    return find_jdk().home


def zoo_targets(root: Path) -> list[Target]:
    """The entries of the zoo below `root`."""
    return [_of_entry(entry) for entry in load_catalog(root).entries]


def manifest_targets(path: Path) -> list[Target]:
    """The variants of one manifest; any language, `{python}` in its command is this interpreter."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    argv = tuple(word.replace("{python}", sys.executable) for word in data["run"]["command"])
    names = tuple(variant["name"] for variant in data["variants"])
    return [
        Target(
            server=data["name"],
            variant=variant["name"],
            model=variant["model"],
            folder=path.resolve().parent,
            port=data["port"],
            variants=names,
            jvm=data.get("language") == "java",
            argv=lambda: argv,
            env=variant.get("env", {}),
            passed_on=tuple(variant.get("settings", ())),
            self_tuning=variant.get("self_tuning", False),
        )
        for variant in data["variants"]
    ]


def _of_entry(entry: Entry) -> Target:
    manifest = entry.server.manifest
    jvm = manifest.language is Language.JAVA
    return Target(
        server=manifest.name,
        variant=entry.variant.name,
        model=entry.variant.model.value,
        folder=entry.server.folder.resolve(),
        port=manifest.port,
        variants=tuple(variant.name for variant in manifest.variants),
        jvm=jvm,
        argv=lambda: tuple(command(entry, find_jdk().java if jvm else None)),
        build=tuple(manifest.build.command) if manifest.build else (),
        makes=tuple(entry.server.folder / made for made in manifest.build.makes) if manifest.build else (),
        env=dict(entry.variant.env),
        self_tuning=entry.variant.self_tuning,
    )
