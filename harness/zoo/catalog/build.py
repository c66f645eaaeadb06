"""Builds servers by their manifests, when their sources are newer than what was built."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zoo.catalog.manifest import Build, Entry, Language, Server
from zoo.model.condition import IN_IMAGES, Condition
from zoo.model.errors import UserError
from zoo.model.jdk import Jdk

STAMP = ".zoo-built"
PROGRAM_SOURCES = {"java-hello": ["src"], "java-jdbc": ["pom.xml", "src/main"]}
"""What is measured and is no server: its folder, and the sources in it."""


class BuildError(UserError):
    """A build that failed; the message ends with the tool's last lines."""


def fingerprint(server: Server) -> str:
    """A hash over manifest and sources: names and contents."""
    return _digest(server.folder, [server.folder / "server.toml", *_sources(server)])


def source_hash(server: Server) -> str:
    """A hash over what a server's figures depend on: its sources, and how they are built and run."""
    how = server.manifest.model_dump_json(include={"build", "run", "jvm", "release"})
    return _digest(server.folder, _sources(server), how)


def program_hash(root: Path, name: str) -> str:
    """The same of a program that is no server, whose folder lies below `root`."""
    return _digest(root / name, _files(root / name, PROGRAM_SOURCES[name]))


def _digest(folder: Path, files: Iterable[Path], start: str = "") -> str:
    digest = hashlib.sha256(start.encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_built(server: Server) -> bool:
    """True when everything the manifest promises is there and was made from the sources as they are."""
    build = server.manifest.build
    if build is None:
        return True
    if not all((server.folder / made).exists() for made in build.makes):
        return False
    try:
        return _stamp(server, build).read_text(encoding="utf-8") == fingerprint(server)
    except OSError:
        return False


def build(server: Server, jdk: Jdk | None) -> None:
    """Run the build command, if there is one; `BuildError` when it fails or makes something else than promised."""
    wanted = server.manifest.build
    if wanted is None:
        return
    command = wanted.command
    try:
        done = subprocess.run(
            command,
            cwd=server.folder,
            env=environment(server, jdk),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{server.name}: {command[0]}: {error.strerror} (zoo doctor says how to get it)") from error
    if done.returncode:
        tail = "\n".join(done.stdout.decode(errors="replace").splitlines()[-30:])
        raise BuildError(f"{server.name}: {' '.join(command)} ended with exit code {done.returncode}\n{tail}")
    for made in wanted.makes:
        if not (server.folder / made).exists():
            raise BuildError(f"{server.name}: {' '.join(command)} did not make {made}")
    _stamp(server, wanted).write_text(fingerprint(server), encoding="utf-8")


def environment(server: Server, jdk: Jdk | None) -> Mapping[str, str]:
    """The caller's environment; for Java with the chosen JDK in front."""
    if server.manifest.language is not Language.JAVA or jdk is None:
        return os.environ
    path = f"{jdk.home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "JAVA_HOME": str(jdk.home), "PATH": path}


def _stamp(server: Server, build: Build) -> Path:
    return (server.folder / build.makes[0]).parent / STAMP


def _sources(server: Server) -> Iterable[Path]:
    build = server.manifest.build
    return _files(server.folder, build.sources) if build else ()


def _files(folder: Path, names: Iterable[str]) -> Iterable[Path]:
    for name in names:
        path = folder / name
        if path.is_dir():
            yield from (p for p in path.rglob("*") if p.is_file())
        elif path.exists():
            yield path


def built_here(entries: Sequence[Entry], conditions: Iterable[Condition]) -> list[Server]:
    """The servers that these conditions start from what this host builds, at the releases that they name; each once."""
    found = (e.server.at(c.env) for c in conditions if c.runtime not in IN_IMAGES for e in entries)
    return list({server.label: server for server in found}.values())
