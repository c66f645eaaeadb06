"""Start-up of an entry: from fork to the first good answer, and the memory it has at rest."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.analysis.flags import of_machine
from zoo.host import run_lock
from zoo.host.processors import cpu_affinity
from zoo.measure.trials.base import TrialCell
from zoo.model.condition import IN_IMAGES
from zoo.model.errors import RuntimeFailure, never_listened
from zoo.model.flag import Flag
from zoo.model.host import Jdk
from zoo.model.record import Trial
from zoo.model.trial_results import StartupResult
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import fault, gathered
from zoo.runtime.environment import of_process
from zoo.runtime.process import command_line_here, jcmd_here, port_for, processors, spawn, start_command
from zoo.sample.instruments import known
from zoo.sample.noise import NoiseProbe
from zoo.sample.proc import snapshot
from zoo.sample.requests import InfoError, fetch_info
from zoo.scenarios.startup.spec import REST_S, RESTS, STARTS, Start

POLL_S = 0.001
ANSWER_S = 60.0
GRACE_S = 15.0
ARCHIVING_S = 180.0  # a JVM that ends writes its archive first; for an AOT cache it starts another JVM
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
TRAINING = ("/", "/sleep?ms=1", "/bytes?n=100000", "/cpu?rounds=1000", "/info")
"""What is asked while an archive is recorded, so that the classes of all paths are in it."""


@dataclass(frozen=True)
class Started:
    """One start; memory is None where no rest was asked for."""

    first_answer_s: float
    rss_kb: int | None
    anon_kb: int | None


def measure_cell(cell: TrialCell) -> Trial:
    way, starts = Start(cell.block.case.name), cell.program.repeats
    cell.tell(f"{starts} starts")
    probe = NoiseProbe().start()
    if cell.runtime.name in IN_IMAGES:
        result = _contained(cell, way, starts)
    else:
        with run_lock.scratch_folder("archives") as archives:
            result = measure(cell.launch(), cell.runtime.jdk, way, Path(archives), starts)
    # the CPU time of servers that came and went is not known, so neither is that of others
    heard = probe.stop(server_cpu_s=None)
    raised = of_machine(heard)
    return Trial(result=result, noise=heard, flags=[flag for flag in Flag if raised.get(flag)])


def _contained(cell: TrialCell, way: Start, starts: int) -> StartupResult:
    """From the command that starts a container to the line that says its server listens."""
    if way is not Start.DEFAULT:
        raise RuntimeFailure("no_archive", "archives are recorded for processes only, not in containers")
    return _result(way, [_start_container(cell, rest=number < RESTS) for number in range(starts)], None)


def _start_container(cell: TrialCell, *, rest: bool) -> Started:
    hosted = cell.runtime.start(cell.launch())
    try:
        if hosted.ready_s is None:
            raise RuntimeFailure("not_timed", "the time of a start here would be its scheduler's, too")
        if not rest:
            return Started(hosted.ready_s, None, None)
        cell.bench.clock.rest(REST_S)
        seen = known(hosted.instruments.snapshot(hosted.pid, deep=True))
        return Started(hosted.ready_s, seen.rss_kb, seen.anon_kb)
    except ProcessLookupError:
        raise RuntimeFailure("crashed", "ended while it was at rest", hosted.log_tail()) from None
    finally:
        hosted.stop()


def measure(
    launch: Launch, jdk: Jdk | None, way: Start, archives: Path, starts: int = STARTS, rests: int = RESTS
) -> StartupResult:
    """Start the server so often; read its memory in the first `rests` starts, after 5 s at rest.

    `RuntimeFailure` when the server does not start or its JVM makes no archive.
    """
    archive = record(launch, jdk, way, archives)
    using = replace(launch, jvm_flags=(*launch.jvm_flags, *(way.using(archive) if archive else ())))
    made = [start_once(using, jdk, REST_S if number < rests else None) for number in range(starts)]
    return _result(way, made, archive.stat().st_size // 1024 if archive else None)


def _result(way: Start, starts: Sequence[Started], archive_kb: int | None) -> StartupResult:
    return StartupResult(
        way=way,
        first_answer_s=[start.first_answer_s for start in starts],
        rss_kb=[start.rss_kb for start in starts if start.rss_kb is not None],
        anon_kb=[start.anon_kb for start in starts if start.anon_kb is not None],
        rest_s=REST_S,
        archive_kb=archive_kb,
    )


def record(launch: Launch, jdk: Jdk | None, way: Start, archives: Path) -> Path | None:
    """Make the archive in a training run that is asked for every path once; None for a default start."""
    if way is Start.DEFAULT:
        return None
    archives.mkdir(parents=True, exist_ok=True)
    archive = (archives / f"{launch.entry.id.replace(':', '-')}.{way}").resolve()
    archive.unlink(missing_ok=True)
    flags = (*launch.jvm_flags, *way.recording(archive))
    with _running(replace(launch, jvm_flags=flags), jdk, ARCHIVING_S) as server:
        server.first_answer()
        for path in TRAINING:
            server.ask(path)
    if not archive.exists():
        raise RuntimeFailure("no_archive", f"the JVM made no {way} archive when it ended", _tail(launch.log))
    return archive


def start_once(launch: Launch, jdk: Jdk | None, rest_s: float | None = None) -> Started:
    """Start, wait for the first good answer, rest, look at the memory, and stop."""
    with _running(launch, jdk, GRACE_S) as server:
        first_s = server.first_answer()
        if rest_s is None:
            return Started(first_s, None, None)
        time.sleep(rest_s)
        try:
            seen = snapshot(server.child.pid, deep=True)
        except ProcessLookupError:
            raise RuntimeFailure("crashed", "ended while it was at rest", _tail(launch.log)) from None
        _check_effect(launch, server)
        return Started(first_s, seen.rss_kb, seen.anon_kb)


def _check_effect(launch: Launch, server: _Server) -> None:
    """After the memory at rest was read; `RuntimeFailure` where a flag or a setting is not in effect."""
    if not (launch.jvm_flags or launch.env):
        return
    try:
        info = fetch_info(f"http://127.0.0.1:{server.port}")
    except InfoError as error:
        raise RuntimeFailure("contract", str(error), _tail(launch.log)) from None
    wrong = fault(launch, gathered(launch, info, command_line_here, jcmd_here))
    if wrong:
        raise RuntimeFailure("no_effect", wrong, _tail(launch.log))


@dataclass
class _Server:
    child: subprocess.Popen[bytes]
    begun: float
    port: int
    log: Path

    def first_answer(self) -> float:
        """Seconds from the fork to the first bytes of the first answer.

        Until the port is open a connection is tried every millisecond, which takes some hundredths of a core. From
        then on one request waits: the kernel takes the connection before the server does. A server that is not ready
        may also close it (Open Liberty does so now and then), which is no answer yet.
        """
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as connection:
                    connection.sendall(REQUEST)
                    answer = connection.recv(65_536)
                    took = time.monotonic() - self.begun
            except (ConnectionRefusedError, ConnectionResetError):
                answer = b""
            except OSError as error:
                raise RuntimeFailure("not_started", f"the first request failed: {error}", _tail(self.log)) from None
            if not answer:
                self._still_starting()
                time.sleep(POLL_S)
                continue
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeFailure("contract", f"the first answer was {answer[:60]!r}", _tail(self.log))
            return took

    def ask(self, path: str) -> None:
        """One request of a training run; its answer is read to the end, where the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as connection:
            connection.sendall(REQUEST.replace(b"GET /", f"GET {path}".encode(), 1))
            while connection.recv(65_536):
                pass

    def _still_starting(self) -> None:
        code = self.child.poll()
        if code is not None:
            raise never_listened(code, _tail(self.log))
        if time.monotonic() - self.begun > ANSWER_S:
            raise RuntimeFailure("not_started", f"did not answer within {ANSWER_S:.0f} s", _tail(self.log))


@contextmanager
def _running(launch: Launch, jdk: Jdk | None, grace_s: float) -> Iterator[_Server]:
    """The entry's process, in a session of its own; ended by SIGTERM, and by SIGKILL after the grace."""
    with run_lock.scratch_folder("start") as tmp:
        argv = start_command(launch, jdk, tmp)
        port = port_for(launch.entry)
        env = of_process(launch.entry, launch.env, str(port), tmp)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        with launch.log.open("wb") as log, cpu_affinity(processors(launch)):
            begun = time.monotonic()
            child = spawn(argv, launch.entry.server.folder, env, log)
        try:
            yield _Server(child, begun, port, launch.log)
            child.terminate()
            child.wait(grace_s)
        except subprocess.TimeoutExpired:
            raise RuntimeFailure("hung", f"still ran {grace_s:.0f} s after SIGTERM", _tail(launch.log)) from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
