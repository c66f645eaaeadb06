"""Compilers and build tools: the environment they run in, and all that their products depend on besides the sources."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from zoo import ROOT
from zoo.catalog.manifest import Language
from zoo.catalog.project import Project

ELSEWHERE = frozenset({"CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_TARGET"})
"""Variables with which a build would put its products where nobody looks for them."""

SETTINGS = re.compile(
    r"CARGO_(BUILD|PROFILE|TARGET)_\w+|(CARGO_ENCODED_)?RUSTFLAGS|RUSTC\w*|RUSTUP_TOOLCHAIN|JEMALLOC_SYS_\w+"
    r"|((HOST|TARGET)_)?(CC|CXX|AR|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)(_\w+)?|MAVEN_(ARGS|OPTS)|GO[A-Z0-9]+|CGO_\w+"
)
"""Variables with which a build makes something else."""

FILES = (".cargo/config.toml", ".cargo/config", ".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml")
"""Configuration that build tools read in a project's folder and in those above it."""

HOME_FILES = (".m2/settings.xml", ".mavenrc")


def command(project: Project) -> list[str]:
    """The build command. Cargo reports the paths of its products when it is asked for JSON."""
    asked = ["--message-format=json-render-diagnostics"] if project.is_cargo_build else []
    return [*project.build.command, *asked]


def executables(output: bytes) -> list[Path]:
    """The programs that Cargo's JSON names, whether it made them now or found them up to date."""
    messages = (json.loads(line) for line in output.splitlines() if line.startswith(b'{"reason":"compiler-artifact"'))
    return [Path(message["executable"]) for message in messages if message.get("executable")]


def environment(project: Project) -> Mapping[str, str]:
    """The caller's environment without target folders, and for Java with the chosen JDK first."""
    env = _inherited()
    if project.is_cargo_build and project.target is not None:
        env["CARGO_TARGET_DIR"] = _said(["sh", "harness/cargo-target.sh", str(project.target)], ROOT)
    if project.language is Language.JAVA and project.jdk is not None:
        path = f"{project.jdk.home / 'bin'}{os.pathsep}{env.get('PATH', '')}"
        env |= {"JAVA_HOME": str(project.jdk.home), "PATH": path}
    return env


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ELSEWHERE}


def described(project: Project) -> str:
    """The compiler and the build settings, as text that changes when one of them does."""
    set_here = sorted(f"{name}={value}" for name, value in _inherited().items() if SETTINGS.fullmatch(name))
    read = {str(path): path.read_text(encoding="utf-8", errors="replace") for path in _files(project.folder)}
    return json.dumps([_compiler(project), set_here, read])


def _compiler(project: Project) -> str:
    if project.language is Language.JAVA:
        return f"{project.jdk.vendor} {project.jdk.version}" if project.jdk else ""
    if project.language is Language.RUST:
        return _said([os.environ.get("RUSTC", "rustc"), "-vV"], project.folder)
    tool = shutil.which(project.build.command[0])
    return f"{tool} {Path(tool).stat().st_size} {Path(tool).stat().st_mtime_ns}" if tool else ""


def _files(folder: Path) -> Iterator[Path]:
    above = [at / name for at in [folder.resolve(), *folder.resolve().parents] for name in FILES]
    own = []
    with suppress(RuntimeError):  # a user without a home
        home = Path.home()
        cargo = Path(os.environ.get("CARGO_HOME") or home / ".cargo")
        own = [cargo / "config.toml", cargo / "config", *(home / name for name in HOME_FILES)]
    yield from (path for path in dict.fromkeys([*above, *own]) if path.is_file())


def _said(words: Sequence[str], folder: Path) -> str:
    """What a command prints; empty when it does not work, as the build then says."""
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
