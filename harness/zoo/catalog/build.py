"""Builds servers by their manifests, when their sources are newer than what was built."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from zoo.catalog import toolchain
from zoo.catalog.manifest import Entry, Server
from zoo.catalog.project import Project, files
from zoo.model.condition import IN_IMAGES, Condition
from zoo.model.errors import UserError

STAMP = ".zoo-built"
PROGRAM_SOURCES = {"java-hello": ["src"], "java-jdbc": ["pom.xml", "src/main"]}
"""What is measured and is no server: its folder, and the sources in it."""


class BuildError(UserError):
    """A build that failed; the message ends with the tool's last lines."""


def source_hash(server: Server) -> str:
    """Return a hash of what a server's figures depend on: the files that its manifest names as sources, and how they
    are built and run. Git has no part in it, so a checkout and a copy of it have the same hash."""
    how = server.manifest.model_dump_json(include={"build", "run", "jvm", "release"})
    build = server.manifest.build
    return _digest(server.folder, files(server.folder, build.sources) if build else (), how)


def program_hash(root: Path, name: str) -> str:
    """The same of a program that is no server, whose folder lies below `root`."""
    return _digest(root / name, files(root / name, PROGRAM_SOURCES[name]))


def _digest(folder: Path, files: Iterable[Path], start: str = "") -> str:
    digest = hashlib.sha256(start.encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_built(project: Project) -> bool:
    """True when the products are those of the last build, and its sources and settings are those of today."""
    try:
        return _stamp(project).read_text(encoding="utf-8") == _inputs(project) + products_hash(project)
    except OSError:
        return False


def build(project: Project) -> None:
    """Run the build command; `BuildError` when it fails or does not make what the manifest promises.

    The products are put aside first, so that those found afterwards come from this build.
    """
    _stamp(project).unlink(missing_ok=True)
    inputs = _inputs(project)
    with _put_aside(project):
        _mark_as_changed(project)
        output = _run(project)
        for product in project.products:
            if not product.exists():
                _fetch(product, project, toolchain.executables(output))
    if _inputs(project) != inputs:
        raise BuildError(f"{project.name}: its sources or build settings changed during the build: build it again")
    _stamp(project).write_text(inputs + products_hash(project), encoding="utf-8")


@contextmanager
def _put_aside(project: Project) -> Iterator[None]:
    """Rename the products that are files; those that the build does not make get their names back."""
    made = (path for path in project.products if path.is_file() and path not in project.sources)
    aside = {path: path.with_name(f".{path.name}.before") for path in made}
    for path, before in aside.items():
        path.replace(before)
    try:
        yield
    finally:
        for path, before in aside.items():
            if path.exists():
                before.unlink()
            else:
                before.replace(path)


def _mark_as_changed(project: Project) -> None:
    """Give the sources the present time: build tools take a file that was restored from a copy for an old one."""
    try:
        for path in project.sources:
            path.touch()
    except OSError as error:
        raise BuildError(f"{project.name}: {error.filename} cannot be given a new time: {error.strerror}") from error
    if project.target is not None:
        # Maven keeps resources there whose source was removed
        shutil.rmtree(project.target / "classes", ignore_errors=True)


def _run(project: Project) -> bytes:
    """What the build command writes to its standard output."""
    command = project.build.command
    try:
        done = subprocess.run(
            toolchain.command(project),
            cwd=project.folder,
            env=toolchain.environment(project),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{project.name}: {command[0]}: {error.strerror} (zoo doctor says how to get it)") from error
    if done.returncode:
        said = (line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(b'{"reason":'))
        tail = b"\n".join(list(said)[-30:]).decode(errors="replace")
        raise BuildError(f"{project.name}: {' '.join(command)} ended with exit code {done.returncode}\n{tail}")
    return done.stdout


def _fetch(product: Path, project: Project, executables: Iterable[Path]) -> None:
    """Copy a program from where Cargo put it: a target in a user's configuration adds a folder to the path."""
    found = next((path for path in executables if path.name == product.name), None)
    if found is None:
        made = product.relative_to(project.folder)
        raise BuildError(f"{project.name}: {' '.join(project.build.command)} did not make {made}")
    product.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(found, product)


def _stamp(project: Project) -> Path:
    return project.products[0].parent / STAMP


def _inputs(project: Project) -> str:
    return _digest(project.folder, project.sources, toolchain.described(project))


def products_hash(project: Project) -> str:
    """A hash over what the build has made: names and contents."""
    products = project.products
    files = [p for path in products for p in ([path] if path.is_file() else path.rglob("*"))]
    missing = [path.name for path in products if not path.exists()]
    return _digest(project.folder, (p for p in files if p.is_file() and p.name != STAMP), " ".join(missing))


def built_here(entries: Sequence[Entry], conditions: Iterable[Condition]) -> list[Server]:
    """The servers that these conditions start from what this host builds, at the releases that they name; each once."""
    found = (e.server.at(c.env) for c in conditions if c.runtime not in IN_IMAGES for e in entries)
    return list({server.label: server for server in found}.values())
