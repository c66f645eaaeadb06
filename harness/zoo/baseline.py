"""The JVM with no server: how long it takes to start and end, what it holds at rest, what a JMX monitor adds.

`python -m zoo.baseline` measures and prints all of it.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from zoo.build import BuildError
from zoo.host.jdk import Jdk, find_jdk
from zoo.interval import Interval, of_median
from zoo.sample.proc import Snapshot, snapshot

FOLDER = Path(__file__).resolve().parents[2] / "java-hello"
RUNS = 50
RESTS = 6  # the fewest from which a median has a 95 % interval
REST_S = 5
STAY_S = 120  # longer than any measurement takes
ARTICLE = ("-Xmx15m", "-Xms15m")
SERIAL = (*ARTICLE, "-XX:+UseSerialGC")
ONE_COMPILER = (*SERIAL, "-XX:TieredStopAtLevel=1")
SMALL = ("-Xmx4m", "-Xms4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
INTERPRETED = ("-Xmx4m", "-Xms4m", "-XX:+UseSerialGC", "-Xint", "-XX:-UsePerfData")
FLAGS: tuple[tuple[str, ...], ...] = ((), ARTICLE, SERIAL, ONE_COMPILER, SMALL, INTERPRETED)
"""Default, the article's, and further ones: is the article's really the minimum?"""


@dataclass(frozen=True)
class Rest:
    """Medians over several JVMs of what each held, in kB; `peak` is the highest until then."""

    rss_kb: Interval
    peak_kb: Interval
    anon_kb: Interval


@dataclass(frozen=True)
class Footprint:
    """One set of flags."""

    flags: tuple[str, ...]
    start_and_end_s: Interval
    rest: Rest


def build(jdk: Jdk, folder: Path = FOLDER) -> Path:
    """The jar, made anew: it takes a second."""
    classes, jar = folder / "target" / "classes", folder / "target" / "java-hello.jar"
    sources = sorted(str(path) for path in (folder / "src").glob("*.java"))
    bin_ = jdk.home / "bin"
    _run([str(bin_ / "javac"), "--release", "21", "-Xlint:all", "-Werror", "-d", str(classes), *sources])
    _run([str(bin_ / "jar"), "--create", "--file", str(jar), "--main-class", "Hello", "-C", str(classes), "."])
    return jar


def start_and_end(jdk: Jdk, jar: Path, flags: Sequence[str] = (), runs: int = RUNS) -> Interval:
    """Seconds from fork to exit."""
    took = []
    for _ in range(runs):
        begun = time.monotonic()
        subprocess.run([jdk.java, *flags, "-jar", jar], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        took.append(time.monotonic() - begun)
    return of_median(took)


def at_rest(jdk: Jdk, jar: Path, flags: Sequence[str] = (), runs: int = RESTS, rest_s: float = REST_S) -> Rest:
    """What a sleeping JVM holds."""
    seen = []
    for _ in range(runs):
        with staying(jdk, jar, flags) as pid:
            time.sleep(rest_s)
            seen.append(snapshot(pid, deep=True))
    return _rest(seen)


def watched(jdk: Jdk, jar: Path, flags: Sequence[str] = (), runs: int = RESTS, rest_s: int = REST_S) -> Rest:
    """What it holds while a monitor reads its beans once a second, at the end of `rest_s` seconds."""
    seen = []
    for _ in range(runs):
        with staying(jdk, jar, flags) as pid:
            _run([str(jdk.java), "-cp", str(jar), "Watch", str(pid), str(rest_s)])
            seen.append(snapshot(pid, deep=True))
    return _rest(seen)


@contextmanager
def staying(jdk: Jdk, jar: Path, flags: Sequence[str]) -> Iterator[int]:
    """A JVM that has said hello and stays; ended by SIGTERM, so that it removes what it put into /tmp."""
    command = [str(jdk.java), *flags, "-jar", str(jar), str(STAY_S)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            if not child.stdout.readline():
                raise BuildError(f"{' '.join(command)} said nothing and ended")
            yield child.pid
        finally:
            child.terminate()


def footprints(jdk: Jdk, jar: Path) -> Iterator[Footprint]:
    """One set of flags after the other."""
    for flags in FLAGS:
        yield Footprint(flags, start_and_end(jdk, jar, flags), at_rest(jdk, jar, flags))


def _rest(seen: Sequence[Snapshot]) -> Rest:
    def median(values: Sequence[int | None]) -> Interval:
        return of_median([value for value in values if value is not None])

    return Rest(
        rss_kb=median([one.rss_kb for one in seen]),
        peak_kb=median([one.hwm_kb for one in seen]),
        anon_kb=median([one.anon_kb for one in seen]),
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise BuildError(f"{' '.join(command)} ended with exit code {done.returncode}\n{done.stdout}{done.stderr}")


def _shown(interval: Interval, factor: float = 1.0) -> str:
    low, high = interval.low, interval.high
    span = "" if low is None or high is None else f" ({low * factor:,.1f} to {high * factor:,.1f})"
    return f"{interval.value * factor:,.1f}{span}"


def main() -> None:
    """Measure and print."""
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    jar = build(jdk)
    table = Table("flags", "start and end, ms", "RSS, MB", "highest RSS, MB", "anonymous, MB", title=jdk.label)
    table.columns[0].overflow = "fold"

    def row(name: str, took: str, rest: Rest) -> None:
        table.add_row(name, took, *(_shown(part, 1 / 1024) for part in (rest.rss_kb, rest.peak_kb, rest.anon_kb)))

    for one in footprints(jdk, jar):
        row(" ".join(one.flags) or "none", _shown(one.start_and_end_s, 1000), one.rest)
    row("none, watched over JMX", "", watched(jdk, jar))
    Console().print(table)


if __name__ == "__main__":
    main()
