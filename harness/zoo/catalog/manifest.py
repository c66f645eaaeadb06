"""The entries of the zoo, found by their `server.toml` manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from zoo.model.entry_id import plain
from zoo.model.errors import UserError
from zoo.model.host import version_key


class CatalogError(UserError):
    """A manifest or an entry name that cannot be used; the message says which and what was expected."""


class Model(StrEnum):
    """How a variant runs its requests."""

    PLATFORM_THREAD = "platform-thread"
    VIRTUAL_THREAD = "virtual-thread"
    EVENT_LOOP = "event-loop"
    ASYNC_TASK = "async-task"
    ASYNC_SERVLET = "async-servlet"


class Language(StrEnum):
    """What a server is written in; it decides tool chain and warm-up, which is the longer one of a JVM but for Rust."""

    JAVA = "java"
    RUST = "rust"
    OTHER = "other"


BUILT = "target"
"""The folder that builds make, as Maven and Cargo name it."""

Words = Annotated[list[str], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(_Table):
    """How the folder is built, what that makes, and which sources make it stale."""

    command: Words
    makes: Words
    sources: Words


class RunCommand(_Table):
    """The start command; `{java}` and `{jvm_flags}` are filled in by the runtime."""

    command: Words


class Release(_Table):
    """Another release of a server's framework: the variable that names it, what the build command is given besides,
    and the first release for each Java; one between two of them counts as the older.

    It is built in `target-RELEASE`, in place of `target`."""

    setting: str = Field(pattern=r"^[A-Z][A-Z0-9_]*$")
    build: Words
    java: dict[int, str] = {}

    def newest_java(self, release: str) -> int | None:
        """The newest Java that this release is known to support; None where no limit is known."""
        later = [java for java, first in self.java.items() if version_key(first) > version_key(release)]
        return min(later) - 1 if later else None


class Transport(_Table):
    """How the server reads and writes, as its `/info` names it: `epoll`, `nio`; `setting` is a variable whose value
    names another one."""

    name: str
    setting: str | None = None


class Variant(_Table):
    """One thread model of a server; `reference` is the bare one, `twice` the one whose A/A pair stands for its kind."""

    name: str = Field(pattern=r"^[a-z][a-z0-9]*$")
    model: Model
    summary: str
    env: dict[str, str] = {}
    reference: bool = False
    twice: bool = False
    self_tuning: bool = False
    """True where the pool finds its own size unless MAX_THREADS is set."""
    settings: list[Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")]] = ["MAX_THREADS", "BACKLOG"]
    """The variables of a person's environment that reach the server, because it reads them."""


class Manifest(_Table):
    """One `server.toml`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    language: Language
    port: int = Field(ge=1024, le=32767)
    build: Build | None = None
    run: RunCommand
    jvm: dict[str, list[str]] = {}
    release: Release | None = None
    transport: Transport | None = None
    """None where it is not checked."""
    paths: list[str] = []
    """Beyond the contract's: those that some scenarios ask for."""
    variants: list[Variant] = Field(min_length=1)
    links: list[str] = []

    @model_validator(mode="after")
    def _variants_differ(self) -> Self:
        names = [v.name for v in self.variants]
        if len(set(names)) != len(names):
            raise ValueError("variants must have different names")
        return self


@dataclass(frozen=True)
class Server:
    """A folder of the zoo, or a guest's elsewhere, and its manifest; `release` where it is not the framework's release
    that the folder names."""

    folder: Path
    manifest: Manifest
    guest: bool = False
    release: str | None = None

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def label(self) -> str:
        """The name, with the release where another one is meant."""
        return " ".join(filter(None, [self.name, self.release]))

    def at(self, settings: Mapping[str, str]) -> Server:
        """With the release of the framework that the settings name, where they name one."""
        release, build, run = self.manifest.release, self.manifest.build, self.manifest.run
        if release is None or build is None or release.setting not in settings:
            return self
        version = settings[release.setting]
        further = [word.replace("{release}", version) for word in release.build]
        made = {
            "build": build.model_copy(
                update={
                    "command": [*build.command, *further],
                    "makes": [_beside(path, version) for path in build.makes],
                }
            ),
            "run": run.model_copy(update={"command": [_beside(word, version) for word in run.command]}),
        }
        return replace(self, manifest=self.manifest.model_copy(update=made), release=version)


@dataclass(frozen=True)
class Entry:
    """Server and variant: what is started, asked and measured."""

    server: Server
    variant: Variant

    @property
    def id(self) -> str:
        return f"{self.server.name}:{self.variant.name}"

    @property
    def native(self) -> bool:
        """True when no virtual machine has to warm up."""
        return self.server.manifest.language is Language.RUST

    @property
    def settings(self) -> list[str]:
        """The variables that a person may set for it: its own, and the one that names a release."""
        release = self.server.manifest.release
        return [*self.variant.settings, *([release.setting] if release else [])]

    def settings_of(self, env: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in env.items() if name in self.settings}

    def at(self, settings: Mapping[str, str]) -> Entry:
        """With its server at the release that the settings name."""
        return replace(self, server=self.server.at(settings))


@dataclass(frozen=True)
class Catalog:
    """All servers below one root, by name."""

    servers: tuple[Server, ...]

    @cached_property
    def entries(self) -> list[Entry]:
        return [Entry(server, variant) for server in self.servers for variant in server.manifest.variants]

    def entry(self, entry_id: str) -> Entry:
        """The entry of that name, also under an id that a plan made of it; `CatalogError` names the known ones."""
        for entry in self.entries:
            if entry.id == plain(entry_id):
                return entry
        raise CatalogError(f'no entry "{entry_id}"; known: {", ".join(e.id for e in self.entries)}')

    def select(self, servers: Sequence[str] = (), variants: Sequence[str] = ()) -> list[Entry]:
        """The entries of these servers and variants; no names mean all. `CatalogError` when nothing fits.

        A variant may be named as that of one server: `rust-axum:async`.
        """
        names = [s.name for s in self.servers]
        for name in servers:
            if name not in names:
                raise CatalogError(f'no server "{name}"; known: {", ".join(names)}')
        chosen = [e for e in self.entries if not servers or e.server.name in servers]
        known = sorted({e.variant.name for e in chosen})
        for name in variants:
            if name not in known and all(name != e.id for e in chosen):
                raise CatalogError(f'no variant "{name}" there; known: {", ".join(known)}')
        return [e for e in chosen if not variants or e.variant.name in variants or e.id in variants]

    def twice(self, entries: Sequence[Entry]) -> list[Entry]:
        """Of these, the entries to measure twice: of each kind (native, JVM) the one so marked, else the first."""
        kinds = [[e for e in entries if e.native is native] for native in (True, False)]
        return [next((e for e in kind if e.variant.twice), kind[0]) for kind in kinds if kind]

    @property
    def reference(self) -> Entry | None:
        """The bare server that others are held against, when there is one."""
        return next((e for e in self.entries if e.variant.reference), None)

    @property
    def reference_id(self) -> str | None:
        return self.reference.id if self.reference else None


def _beside(path: str, release: str) -> str:
    """The path in the build of another release; words that are no such path stay as they are."""
    folder, *rest = path.split("/")
    return "/".join([f"{folder}-{release}", *rest]) if folder == BUILT else path
