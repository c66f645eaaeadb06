"""Builds servers by their manifests, when their sources are newer than what was built."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from zoo.catalog import Build, Language, Server
from zoo.host.jdk import Jdk

STAMP = ".zoo-built"


class BuildError(Exception):
    """A build that failed; the message ends with the tool's last lines."""


def fingerprint(server: Server) -> str:
    """A hash over manifest and sources: names and contents."""
    digest = hashlib.sha256()
    for path in sorted(_files(server)):
        digest.update(f"{path.relative_to(server.folder)}\0".encode())
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


def _files(server: Server) -> Iterable[Path]:
    yield server.folder / "server.toml"
    for name in server.manifest.build.sources if server.manifest.build else ():
        path = server.folder / name
        if path.is_dir():
            yield from (p for p in path.rglob("*") if p.is_file())
        elif path.exists():
            yield path
