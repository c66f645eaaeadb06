"""The guest's files, made of what this host has: this Python and its libraries, wrk, a trimmed JDK, the built servers.

They come in parts, each an archive that is made anew when something in it changed. A guest is given the parts that it
needs; the kernel unpacks them into memory, so it needs no disk.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from zoo.catalog.manifest import Server
from zoo.model.jdk import Jdk
from zoo.runtime.vm import cpio
from zoo.runtime.vm.kernel import GuestKernel

PYTHON = "/python/bin/python3"
JAVA = "/java/bin/java"
HOME = "/zoo"
ENVIRONMENT = {"PYTHONHOME": "/python", "PYTHONPATH": f"{HOME}/harness:{HOME}/lib"}

LIBRARIES = ("annotated_types", "psutil", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection")
"""All that the agent needs besides Python."""

JAVA_MODULES = ("java.se", "jdk.jcmd", "jdk.management", "jdk.net", "jdk.security.auth", "jdk.unsupported", "jdk.zipfs")

UNNEEDED = (
    *("__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data"),
    *("site-packages", "dist-packages", "config-*", "*.a"),
)
MADE = {
    "etc/hosts": "127.0.0.1 localhost guest\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
}
MOUNTED = ("dev", "proc", "sys", "tmp", "root")
LOADER_CACHE = Path("/etc/ld.so.cache")
LIBRARY = re.compile(r"(?:=> |^\s+)(/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)


class ImageError(Exception):
    """A part that could not be made; the message says why."""


@dataclass(frozen=True)
class Images:
    """`folder` keeps the parts; `jdk` is None where no server needs one."""

    root: Path
    folder: Path
    kernel: GuestKernel
    jdk: Jdk | None

    def parts(self, server: Server | None) -> list[Path]:
        """The archives of a guest that is to run this server, or none."""
        found = [self._system(), self._harness()]
        if server is not None:
            if "{java}" in server.manifest.run.command:
                found.append(self._java())
            found.append(self._server(server))
        return found

    def _system(self) -> Path:
        """Python, the agent's libraries, wrk, and the kernel's modules."""
        python, stdlib = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
        wrk = shutil.which("wrk")
        if wrk is None:
            raise ImageError("wrk is not there; `make setup` installs it")
        libraries = [_origin(name) for name in LIBRARIES]
        shared = [path for at in (stdlib, *libraries) for path in _files(at) if path.suffix == ".so"]
        needed = [path for path in [*_needed([python, Path(wrk), *shared]), LOADER_CACHE] if path.exists()]

        def make(stage: Path) -> None:
            for name in MOUNTED:
                (stage / name).mkdir()
            for name, text in MADE.items():
                (stage / name).parent.mkdir(exist_ok=True)
                (stage / name).write_text(text, encoding="ascii")
            _copy(python, stage, PYTHON)
            _copy(stdlib, stage, f"/python/{sys.platlibdir}/{stdlib.name}")
            for path in libraries:
                _copy(path, stage, f"{HOME}/lib/{path.name}")
            _copy(Path(wrk), stage, "/usr/bin/wrk")
            for number, module in enumerate(self.kernel.modules):
                _copy(module, stage, f"/modules/{number}-{module.name}")
            _copy_all(needed, stage)
            _compile(stage)

        return self._part("system", [python, stdlib, Path(wrk), *libraries, *needed, *self.kernel.modules], make)

    def _harness(self) -> Path:
        package, script = self.root / "harness" / "zoo", self.root / "wrk-scripts" / "report.lua"

        def make(stage: Path) -> None:
            _copy(package, stage, f"{HOME}/harness/zoo")
            _copy(script, stage, f"{HOME}/wrk-scripts/report.lua")
            _compile(stage)

        return self._part("harness", [package, script], make)

    def _java(self) -> Path:
        """A runtime with every standard module, and the class data that a JDK shares between its processes."""
        jdk = self.jdk
        if jdk is None:
            raise ImageError("a Java server needs a JDK, and none was given")
        words = ["--add-modules", ",".join(JAVA_MODULES), "--no-header-files", "--no-man-pages"]

        def make(stage: Path) -> None:
            _run([str(jdk.home / "bin" / "jlink"), *words, "--generate-cds-archive", "--output", str(stage / "java")])
            native = [stage / "java/bin/java", *(stage / "java/lib").rglob("*.so")]
            _copy_all([path for path in _needed(native) if not path.is_relative_to(stage)], stage)

        return self._part("java", [jdk.home / "release", jdk.home / "lib" / "modules"], make)

    def _server(self, server: Server) -> Path:
        """What its manifest says the build makes; beside a jar its libraries."""
        build = server.manifest.build
        made = [server.folder / name for name in build.makes] if build else []
        made += [lib for jar in made if jar.suffix == ".jar" and (lib := jar.parent / "lib").is_dir()]

        def make(stage: Path) -> None:
            for path in dict.fromkeys(made):
                _copy(path, stage, f"{folder_of(server)}/{path.relative_to(server.folder)}", whole=True)
            _copy_all(_needed(path for path in made if path.is_file() and path.suffix != ".jar"), stage)

        return self._part(server.name, made, make)

    def _part(self, name: str, inputs: Iterable[Path], make: Callable[[Path], None]) -> Path:
        """The archive; made by filling a folder that stands for the guest's root, when an input changed."""
        archive = self.folder / f"{name}.{_stamp(inputs)}.cpio"
        if archive.exists():
            return archive
        for old in self.folder.glob(f"{name}.*.cpio"):
            old.unlink()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            stage, unfinished = Path(folder) / "stage", Path(folder) / "archive"
            stage.mkdir()
            make(stage)
            with unfinished.open("wb") as out:
                cpio.write(stage, out)
            unfinished.replace(archive)
        return archive


def folder_of(server: Server) -> str:
    """Where a server's files are in the guest."""
    return f"{HOME}/{server.name}"


def _origin(name: str) -> Path:
    """A library's file or folder."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImageError(f"the Python library {name} is not there; `make setup` installs it")
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path


def _files(at: Path) -> Iterator[Path]:
    if at.is_file():
        yield at
        return
    for folder, folders, names in os.walk(at):
        folders[:] = sorted(name for name in folders if name not in UNNEEDED)
        yield from (Path(folder) / name for name in sorted(names))


def _stamp(inputs: Iterable[Path]) -> str:
    """Of names, sizes and times: enough to see a change, and quick."""
    digest = hashlib.sha256()
    for path in (file for at in inputs for file in _files(at)):
        state = path.stat()
        digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _needed(binaries: Iterable[Path]) -> list[Path]:
    """The shared libraries that these load, the loader itself among them, by the names they are loaded by."""
    words = ["ldd", *map(str, binaries)]
    if len(words) == 1:
        return []
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    return sorted({Path(found) for found in LIBRARY.findall(done.stdout)})


def _copy(source: Path, stage: Path, name: str, *, whole: bool = False) -> None:
    target = stage / name.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        ignored = None if whole else shutil.ignore_patterns(*UNNEEDED)
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def _copy_all(paths: Iterable[Path], stage: Path) -> None:
    """To the same places."""
    for path in paths:
        _copy(path, stage, str(path))


def _compile(stage: Path) -> None:
    """An emulated processor would take long to. Hashes instead of times, which archives do not have."""
    mode = ["--invalidation-mode", "unchecked-hash"]
    _run([sys.executable, "-m", "compileall", "-q", "-s", str(stage), "-p", "/", *mode, str(stage)])


def _run(words: list[str]) -> None:
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise ImageError(f"{Path(words[0]).name} ended with exit code {done.returncode}\n{tail}")
