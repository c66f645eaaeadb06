"""Builds and runs java-jdbc, one process a cell. It ends what it started."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from zoo.catalog.build import BuildError
from zoo.model.failure import Failure
from zoo.model.jdk import Jdk

JAR = "target/java-jdbc.jar"
LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m")
"""For the launcher alone, which starts others and shall take little from them; the measured JVMs do not inherit it."""

TAIL_LINES = 15
GRACE_S = 40
"""The launcher ends a database on SIGTERM, which may write for a while."""


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
        self._env = {**os.environ, "JAVA_HOME": str(jdk.home)}

    def is_built(self) -> bool:
        """True when the jar is newer than what it is made of."""
        jar = self._folder / JAR
        sources = [self._folder / "pom.xml", *(p for p in (self._folder / "src").rglob("*") if p.is_file())]
        return jar.exists() and jar.stat().st_mtime >= max(p.stat().st_mtime for p in sources)

    def build(self) -> None:
        """Maven's package: it tests the queries on both databases before anybody times them."""
        command = ["mvn", "-q", "-B", "package"]
        try:
            done = subprocess.run(
                command, cwd=self._folder, env=self._env, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
        except OSError as error:
            raise BuildError(f"java-jdbc: {command[0]}: {error.strerror} (zoo doctor says how to get it)") from error
        if done.returncode:
            tail = "\n".join(done.stdout.decode(errors="replace").splitlines()[-30:])
            raise BuildError(f"java-jdbc: {' '.join(command)} ended with exit code {done.returncode}\n{tail}")
        (self._folder / JAR).touch()  # Maven leaves a jar alone whose classes are the same

    def run(self, arguments: Sequence[str], log: Path, timeout_s: float, env: Mapping[str, str]) -> None:
        """Run to the end; `LaunchFailure` when that fails or takes too long."""
        command = [str(self._jdk.java), *LIGHT, "-jar", JAR, *arguments]
        with log.open("wb") as out:
            process = psutil.Popen(
                command,
                cwd=self._folder,
                env={**self._env, **env},
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
