"""The JVM without a server: time to start and exit, memory at rest and watched over JMX, heap per parked thread."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from zoo import ROOT
from zoo.core.host_facts import Jdk
from zoo.core.interrupts import defer_signals
from zoo.core.run import JvmRecord, JvmRun
from zoo.core.run_folder import write_data
from zoo.host import environment, facts
from zoo.host.build import BuildError, program_hash
from zoo.host.environment import base_environment
from zoo.host.run_lock import run_mark
from zoo.host.run_metadata import new_run_metadata, now
from zoo.sample.proc import snapshot

FOLDER = ROOT / "java-hello"
RUNS = 50
RESTS = 6  # the smallest sample whose median has a 95% interval
REST_S = 5
STAY_S = 120  # longer than any measurement takes
START_S, MONITOR_S = 0.1, 1.0  # used only to estimate the duration
ARTICLE = ("-Xmx15m", "-Xms15m")
SERIAL = (*ARTICLE, "-XX:+UseSerialGC")
ONE_COMPILER = (*SERIAL, "-XX:TieredStopAtLevel=1")
SMALL = ("-Xmx4m", "-Xms4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
INTERPRETED = ("-Xmx4m", "-Xms4m", "-XX:+UseSerialGC", "-Xint", "-XX:-UsePerfData")
FLAGS: tuple[tuple[str, ...], ...] = ((), ARTICLE, SERIAL, ONE_COMPILER, SMALL, INTERPRETED)
"""Sets of JVM flags: the default, the article's, and others that test whether the article's use the least memory."""

THREADS = 1_000_000
PARKED: tuple[tuple[str, ...], ...] = ((), ("-Djdk.trackAllThreads=false",), ("-XX:+UseCompactObjectHeaders",))
"""Sets of flags for parked threads: the default, and two said to reduce the heap per virtual thread.

The last one exists since JDK 24.
"""

COMPACT_SINCE = 24
PARKED_S = 6.0  # used only to estimate the duration
NOTHING: Mapping[str, list[int]] = {"rss_kb": [], "peak_kb": [], "anon_kb": []}


def _environment() -> dict[str, str]:
    return {**base_environment(tempfile.gettempdir()), **run_mark()}


def build(jdk: Jdk, folder: Path = FOLDER) -> Path:
    """Build the jar, which takes a second, and return its path."""
    classes, jar = folder / "target" / "classes", folder / "target" / "java-hello.jar"
    sources = sorted(str(path) for path in (folder / "src").glob("*.java"))
    bin_ = jdk.home / "bin"
    _run([str(bin_ / "javac"), "--release", "21", "-Xlint:all", "-Werror", "-d", str(classes), *sources])
    _run([str(bin_ / "jar"), "--create", "--file", str(jar), "--main-class", "Hello", "-C", str(classes), "."])
    return jar


def time_starts(jdk: Jdk, jar: Path, flags: Sequence[str] = (), runs: int = RUNS) -> list[float]:
    """Return the seconds from fork to exit for each run."""
    took = []
    for _ in range(runs):
        started = time.monotonic()
        subprocess.run(
            [jdk.java, *flags, "-jar", jar],
            check=True,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        took.append(time.monotonic() - started)
    return took


def read_idle_memory(
    jdk: Jdk, jar: Path, flags: Sequence[str] = (), *, watched: bool = False, runs: int = RESTS, rest_s: float = REST_S
) -> dict[str, list[int]]:
    """Return `rss_kb`, `peak_kb` and `anon_kb` of sleeping JVMs; a monitor reads their MBeans if `watched`."""
    seen = []
    for _ in range(runs):
        with running_jvm(jdk, jar, flags) as pid:
            if watched:
                _run([str(jdk.java), "-cp", str(jar), "Watch", str(pid), f"{rest_s:g}"])
            else:
                time.sleep(rest_s)
            seen.append(snapshot(pid, deep=True))
    read = {"rss_kb": "rss_kb", "peak_kb": "hwm_kb", "anon_kb": "anon_kb"}
    return {name: [kb for one in seen if (kb := getattr(one, field)) is not None] for name, field in read.items()}


def read_parked_heap(
    jdk: Jdk, jar: Path, flags: Sequence[str] = (), runs: int = RESTS, threads: int = THREADS
) -> list[float]:
    """Return the live heap per parked virtual thread for each run, in kB, after full collections."""
    # -Xbatch compiles in the foreground: on a busy machine a thread would otherwise park in code that is not compiled
    # yet, and take more
    command = [str(jdk.java), "-Xbatch", *flags, "-cp", str(jar), "Parked", str(threads)]
    return [float(_run(command)) / 1024 for _ in range(runs)]


@contextmanager
def running_jvm(jdk: Jdk, jar: Path, flags: Sequence[str]) -> Iterator[int]:
    """Start a JVM that prints its greeting and stays, yield its pid, and end it at the end of the context.

    SIGTERM ends it, so that it removes its files from /tmp.
    """
    command = [str(jdk.java), *flags, "-jar", str(jar), str(STAY_S)]
    with subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            if not child.stdout.readline():
                raise BuildError(f"{' '.join(command)} exited without printing anything")
            yield child.pid
        finally:
            child.terminate()


def records(jdk: Jdk, jar: Path) -> Iterator[JvmRecord]:
    """Yield a record for each set of flags, and one more for the default set while it is watched."""
    for flags in FLAGS:
        yield record_of(flags, took_s=time_starts(jdk, jar, flags), rest=read_idle_memory(jdk, jar, flags))
    yield record_of((), watched=True, rest=read_idle_memory(jdk, jar, watched=True))
    for flags in PARKED[: 3 if jdk.major >= COMPACT_SINCE else 2]:
        yield record_of(flags, parked_kb=read_parked_heap(jdk, jar, flags))


def record_of(
    flags: Sequence[str],
    *,
    watched: bool = False,
    took_s: Sequence[float] = (),
    rest: Mapping[str, list[int]] = NOTHING,
    parked_kb: Sequence[float] = (),
) -> JvmRecord:
    """Return the measurements of one set of flags as a record to store."""
    return JvmRecord(
        case=(" ".join(flags) or "default") + (", watched" if watched else ", parked" if parked_kb else ""),
        flags=list(flags),
        watched=watched,
        start_and_end_s=[round(took, 6) for took in took_s],
        rss_kb=rest["rss_kb"],
        peak_kb=rest["peak_kb"],
        anon_kb=rest["anon_kb"],
        parked_kb=[round(kb, 4) for kb in parked_kb],
    )


def seconds() -> float:
    """Return about how many seconds all sets of flags take."""
    alone = len(FLAGS) * (RUNS * START_S + RESTS * (REST_S + START_S))
    return alone + RESTS * (REST_S + MONITOR_S) + len(PARKED) * RESTS * PARKED_S


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, env=_environment(), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise BuildError(f"{' '.join(command)} ended with exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure_all(root: Path, results: Path, jdk: Jdk) -> tuple[Path, list[JvmRecord]]:
    """Measure all sets of flags and write a run; return its folder and its records."""
    builds = {FOLDER.name: program_hash(root, FOLDER.name)}
    given = {FOLDER.name: environment.base_environment(environment.FOLDER)}
    run = JvmRun(
        **new_run_metadata(root, "jvm"), jdk=jdk.version, host=facts.gather(jdk), builds=builds, environment=given
    )
    jar = build(jdk, root / FOLDER.name)
    folder = results / run.id
    folder.mkdir(parents=True)
    write_data(folder / "run.json", run)
    found = []
    with (folder / "records.ndjson").open("w", encoding="utf-8") as out:
        for record in records(jdk, jar):
            found.append(record)
            with defer_signals():  # as in a run of servers: pydantic would report an interrupt as invalid data
                out.write(record.model_dump_json() + "\n")
                out.flush()
    write_data(folder / "run.json", run.model_copy(update={"finished_at": now()}))
    return folder, found
