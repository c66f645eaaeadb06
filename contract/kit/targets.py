"""Targets of the suite: the entries of the zoo, or the server that a given manifest describes."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from zoo.core.manifest import Entry, Language
from zoo.core.manifest_files import load_catalog
from zoo.host.jdk import find_jdk
from zoo.runtime.process import command


@dataclass(frozen=True)
class Target:
    """Entry as the suite sees it: how to start it, and what it guarantees."""

    server: str
    variant: str
    model: str
    folder: Path
    port: int
    variants: tuple[str, ...]
    jvm: bool
    argv: Callable[[], tuple[str, ...]]
    """Function that returns the start command; called only to start a process, because it looks for a JDK."""
    build: tuple[str, ...] = ()
    makes: tuple[Path, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    passed_on: tuple[str, ...] = ()
    """Variables that the server inherits from the suite's environment."""
    http10: bool = True
    """False if the framework closes the connection of an HTTP/1.0 request."""
    accepts_while_draining: bool = False
    """True if the framework goes on accepting connections after SIGTERM, and then waits for handlers alone."""
    on_request: bool = False
    """True if the zoo measures the variant only if it is named; otherwise the suite runs only its smoke part, too."""
    self_tuning: bool = False
    """True if the pool is bounded only when MAX_THREADS is set."""

    @property
    def id(self) -> str:
        return f"{self.server}:{self.variant}"

    @property
    def bounded(self) -> bool:
        """True if each request in progress holds one of MAX_THREADS threads."""
        return self.model == "platform-thread"


@cache
def java_home() -> Path:
    return find_jdk().home


def zoo_targets(root: Path) -> list[Target]:
    """Return the entries of the zoo below `root`."""
    return [_of_entry(entry) for entry in load_catalog(root).entries]


def manifest_targets(path: Path) -> list[Target]:
    """Return the variants of one manifest, in any language; `{python}` in its command is this interpreter."""
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
        http10=manifest.http10,
        accepts_while_draining=manifest.accepts_while_draining,
        on_request=entry.variant.on_request,
        self_tuning=entry.variant.self_tuning,
    )
