"""Runs java-jdbc, one process a cell. It ends what it started."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from zoo.catalog.build import PROGRAM_SOURCES
from zoo.catalog.manifest import Build, Language
from zoo.catalog.project import Project
from zoo.host.environment import CALLERS, FOLDER, chosen
from zoo.host.run_lock import run_mark
from zoo.model.failure import Failure
from zoo.model.jdk import Jdk

JAR = "target/java-jdbc.jar"
LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m")
"""For the launcher alone, which starts others and shall take little from them; the measured JVMs do not inherit it."""

TAIL_LINES = 15
GRACE_S = 40
"""The launcher ends a database on SIGTERM, which may write for a while."""


def project(folder: Path, jdk: Jdk) -> Project:
    """How java-jdbc is built: Maven's package tests the queries on both databases before anybody times them."""
    build = Build(command=["mvn", "-q", "-B", "package"], makes=[JAR], sources=PROGRAM_SOURCES[folder.name])
    return Project(folder.name, folder, build, Language.JAVA, jdk)


PASSED_ON = (
    *("PATH", "JDBC_URL", "JDBC_USER", "JDBC_PASSWORD", "JDBC_ORIGIN", "JDBC_PID"),
    *("TOXIPROXY", "TOXIPROXY_URL"),
)
"""The caller's variables that java-jdbc reads; it looks for Toxiproxy on the PATH."""


def environment(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the variables that java-jdbc and the JVMs that it starts get."""
    return {**chosen(folder), **{name: environ[name] for name in PASSED_ON if name in environ}}


def recorded(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the same as the run stores it: the caller's values may be secrets."""
    return {**environment(environ, FOLDER), **{name: CALLERS for name in PASSED_ON if name in environ}}


class LaunchFailure(Exception):
    """A cell without a result; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Launcher:
    """java-jdbc with one JDK."""

    def __init__(self, folder: Path, jdk: Jdk) -> None:
        self._folder = folder
        self._jdk = jdk
        self._given = {**environment(os.environ, tempfile.gettempdir()), **run_mark()}

    def run(self, arguments: Sequence[str], log: Path, timeout_s: float, env: Mapping[str, str]) -> None:
        """Run to the end; `LaunchFailure` when that fails or takes too long."""
        command = [str(self._jdk.java), *LIGHT, "-jar", JAR, *arguments]
        with log.open("wb") as out:
            process = psutil.Popen(
                command,
                cwd=self._folder,
                env={**self._given, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout_s)
            except psutil.TimeoutExpired:
                _end(process)
                raise LaunchFailure(_failure("timeout", f"not done after {timeout_s:.0f} s", log)) from None
            except BaseException:
                _end(process)
                raise
        if code:
            raise LaunchFailure(_failure("failed", _reason(log) or f"ended with exit code {code}", log))


def _end(process: psutil.Popen) -> None:
    children = process.children(recursive=True) if process.is_running() else []
    process.terminate()
    try:
        process.wait(GRACE_S)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()
    for child in children:
        if child.is_running():
            child.kill()


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def _reason(log: Path) -> str | None:
    """What the launcher itself said last, in one line."""
    said = [line for line in _lines(log) if line.startswith("java-jdbc: ")]
    return re.sub(r"^java-jdbc: (failed: \{[^}]*\}: )?", "", said[-1]) if said else None


def _failure(kind: str, message: str, log: Path) -> Failure:
    return Failure(kind=kind, message=message, log_tail="\n".join(_lines(log)[-TAIL_LINES:]))
