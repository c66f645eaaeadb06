"""The entries of the zoo, defined by their `server.toml` manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from zoo.core.entry_id import base_id
from zoo.core.errors import UserError
from zoo.core.host_facts import version_key


class CatalogError(UserError):
    """A manifest or an entry name that cannot be used; the message names it and what was expected."""


class Model(StrEnum):
    """The thread model of a variant: how it runs its requests."""

    PLATFORM_THREAD = "platform-thread"
    VIRTUAL_THREAD = "virtual-thread"
    EVENT_LOOP = "event-loop"
    ASYNC_TASK = "async-task"
    ASYNC_SERVLET = "async-servlet"
    GOROUTINE = "goroutine"


class Language(StrEnum):
    """The language of a server, which decides its toolchain and its warm-up.

    All languages except Rust and Go get the longer warm-up of a JVM.
    """

    JAVA = "java"
    RUST = "rust"
    GO = "go"
    OTHER = "other"


BUILD_FOLDER = "target"
"""The folder that builds create; Maven and Cargo use the same name."""

ALL = "all"
"""The name that stands for every server."""

BASE = "base"
"""The name of the JVM flags that every start has."""

NonEmptyList = Annotated[list[str], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(_Table):
    """The build command, the files it produces, and the sources whose changes make these stale."""

    command: NonEmptyList
    makes: NonEmptyList
    sources: NonEmptyList


class RunCommand(_Table):
    """The start command; the runtime fills in `{java}` and `{jvm_flags}`."""

    command: NonEmptyList


class Release(_Table):
    """Other releases of a server's framework, built in `target-RELEASE` instead of `target`.

    `setting` is the environment variable that selects a release, and `build` the additional words of the build command.
    `java` maps a Java version to the first release that supports it. A release between two of these counts as the older
    one.
    """

    setting: str = Field(pattern=r"^[A-Z][A-Z0-9_]*$")
    build: NonEmptyList
    java: dict[int, str] = {}

    def newest_java(self, release: str) -> int | None:
        """Return the newest Java that this release is known to support; None if no limit is known."""
        later = [java for java, first in self.java.items() if version_key(first) > version_key(release)]
        return min(later) - 1 if later else None


class Transport(_Table):
    """The way in which the server reads and writes, as its `/info` names it: `epoll`, `nio`.

    `setting` is an environment variable whose value selects another one.
    """

    name: str
    setting: str | None = None


class Variant(_Table):
    """One thread model of a server.

    `reference` marks the bare reference server, and `twice` the variant that is measured twice (A/A) for its kind.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9]*$")
    model: Model
    summary: str
    env: dict[str, str] = {}
    reference: bool = False
    twice: bool = False
    on_request: bool = False
    """True if the variant is measured only if it or its server is named, or with `--server all`."""
    synthetic: str = ""
    """Why nobody would build a server this way, if so; tables mark the entry."""
    self_tuning: bool = False
    """True if the pool finds its own size unless MAX_THREADS is set."""
    settings: list[Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")]] = ["MAX_THREADS", "BACKLOG"]
    """The environment variables of the caller that reach the server, because it reads them."""

    @property
    def description(self) -> str:
        """Return the summary, followed by the reason why the variant is synthetic if it is."""
        return f"{self.summary}; synthetic: {self.synthetic}" if self.synthetic else self.summary


class Manifest(_Table):
    """The contents of one `server.toml`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    language: Language
    port: int = Field(ge=1024, le=32767)
    build: Build | None = None
    run: RunCommand
    jvm: dict[str, NonEmptyList] = {}
    """JVM flags: `base` in every start, and the others as named conditions (`--vary jvm=compact`)."""
    release: Release | None = None
    transport: Transport | None = None
    """The transport that `/info` must report; None if it is not checked."""
    paths: list[str] = []
    """Paths beyond the HTTP contract, which some scenarios request."""
    http10: bool = True
    """False if the framework closes the connection of an HTTP/1.0 request."""
    accepts_while_draining: bool = False
    """True if the framework goes on accepting connections after SIGTERM, and then waits for handlers alone."""
    variants: list[Variant] = Field(min_length=1)
    links: list[str] = []

    @property
    def base_flags(self) -> list[str]:
        """Return the JVM flags of every start."""
        return self.jvm.get(BASE, [])

    @property
    def conditions(self) -> dict[str, list[str]]:
        """Return the named JVM conditions, without the flags of every start."""
        return {name: flags for name, flags in self.jvm.items() if name != BASE}

    @model_validator(mode="after")
    def _check_variant_names(self) -> Self:
        names = [v.name for v in self.variants]
        if len(set(names)) != len(names):
            raise ValueError("variants must have different names")
        return self


@dataclass(frozen=True)
class Server:
    """A folder of the zoo, or of a guest server elsewhere, with its manifest.

    `release` is set if it is not the framework release that the folder names.
    """

    folder: Path
    manifest: Manifest
    guest: bool = False
    release: str | None = None

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def label(self) -> str:
        """Return the name, followed by the release if it is not the default one."""
        return " ".join(filter(None, [self.name, self.release]))

    def with_release(self, settings: Mapping[str, str]) -> Server:
        """Return the server with the framework release that the settings name, if they name one."""
        release, build, run = self.manifest.release, self.manifest.build, self.manifest.run
        if release is None or build is None or release.setting not in settings:
            return self
        version = settings[release.setting]
        extra_words = [word.replace("{release}", version) for word in release.build]
        changes = {
            "build": build.model_copy(
                update={
                    "command": [*build.command, *extra_words],
                    "makes": [_release_path(path, version) for path in build.makes],
                }
            ),
            "run": run.model_copy(update={"command": [_release_path(word, version) for word in run.command]}),
        }
        return replace(self, manifest=self.manifest.model_copy(update=changes), release=version)


@dataclass(frozen=True)
class Entry:
    """A server and one of its variants: the unit that is started, loaded and measured."""

    server: Server
    variant: Variant

    @property
    def id(self) -> str:
        return f"{self.server.name}:{self.variant.name}"

    @property
    def native(self) -> bool:
        """Return True if there is no virtual machine to warm up."""
        return self.server.manifest.language in (Language.RUST, Language.GO)

    @property
    def settings(self) -> list[str]:
        """Return the variables that a person may set for the entry: its own, and the one that selects a release."""
        release = self.server.manifest.release
        return [*self.variant.settings, *([release.setting] if release else [])]

    def settings_of(self, env: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in env.items() if name in self.settings}

    def with_release(self, settings: Mapping[str, str]) -> Entry:
        """Return the entry with its server at the release that the settings name."""
        return replace(self, server=self.server.with_release(settings))


@dataclass(frozen=True)
class Catalog:
    """All servers below one root, ordered by name."""

    servers: tuple[Server, ...]

    @cached_property
    def entries(self) -> list[Entry]:
        return [Entry(server, variant) for server in self.servers for variant in server.manifest.variants]

    def entry(self, entry_id: str) -> Entry:
        """Return the entry with this name, or with an id that a plan derived from it.

        `CatalogError` lists the known names.
        """
        for entry in self.entries:
            if entry.id == base_id(entry_id):
                return entry
        raise CatalogError(f'there is no entry "{entry_id}"; known: {", ".join(e.id for e in self.entries)}')

    def select(self, servers: Sequence[str] = (), variants: Sequence[str] = ()) -> list[Entry]:
        """Return the entries of these servers and variants. `CatalogError` if nothing matches.

        `all` names every server. No names mean those that need not be requested. A variant can be named as that of one
        server: `rust-axum:async`.
        """
        names = [s.name for s in self.servers]
        for name in servers:
            if name not in (*names, ALL):
                raise CatalogError(f'there is no server "{name}"; known: {", ".join(names)}')
        if servers:
            chosen = [e for e in self.entries if ALL in servers or e.server.name in servers]
        else:
            chosen = [e for e in self.entries if not e.variant.on_request or e.id in variants]
        known = sorted({e.variant.name for e in chosen})
        for name in variants:
            if name not in known and all(name != e.id for e in chosen):
                raise CatalogError(f'there is no variant "{name}"; known: {", ".join(known)}')
        return [e for e in chosen if not variants or e.variant.name in variants or e.id in variants]

    def aa_entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries to measure twice: for each kind (native, JVM) the one marked so, otherwise the first."""
        kinds = [[e for e in entries if e.native is native] for native in (True, False)]
        return [next((e for e in kind if e.variant.twice), kind[0]) for kind in kinds if kind]

    @property
    def reference(self) -> Entry | None:
        """Return the bare server that others are compared with; None if there is none."""
        return next((e for e in self.entries if e.variant.reference), None)

    @property
    def synthetic(self) -> dict[str, str]:
        """Return why nobody would build these entries, by id."""
        return {e.id: e.variant.synthetic for e in self.entries if e.variant.synthetic}

    @property
    def reference_id(self) -> str | None:
        return self.reference.id if self.reference else None


def _release_path(path: str, release: str) -> str:
    """Return the path in the build of another release; words that are not such a path stay as they are."""
    folder, *rest = path.split("/")
    return "/".join([f"{folder}-{release}", *rest]) if folder == BUILD_FOLDER else path
