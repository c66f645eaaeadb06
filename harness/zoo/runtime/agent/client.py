"""The client of the agent: commands that the agent executes and readings that it takes, next to the server."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from functools import cache, partial
from inspect import signature
from itertools import count
from typing import IO, Any, Generic, TypeVar, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from zoo.core.measurement import ContainerUse
from zoo.core.samples import Noise, Samples
from zoo.host.cgroup import group_folders
from zoo.load.execute import CONVERT_S, TICK_S, ExecutionResult, Job, Tick
from zoo.load.spec import LoadError
from zoo.sample import cgroup
from zoo.sample.instruments import READINGS, Instruments, NoiseRecording, Recording
from zoo.sample.noise import NoiseProbe
from zoo.sample.requests import InfoError

ANSWER_S = 30.0
LINGER_S = 90.0
ERROR_LINES = 20

T = TypeVar("T")

ANY: TypeAdapter[Any] = TypeAdapter(Any)
INT: TypeAdapter[int] = TypeAdapter(int)
INT_OR_NONE: TypeAdapter[int | None] = TypeAdapter(int | None)
TEXT: TypeAdapter[str] = TypeAdapter(str)


class AgentClient:
    """A connection to one agent over a process's standard streams.

    A lost agent raises `LoadError` of kind `agent_lost`. `answer_s` is the default time limit for a response, in
    seconds. `last_words` returns the text to show if none arrives. `errors` is read only here; its last lines say why
    an agent was lost.
    """

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        answer_s: float = ANSWER_S,
        last_words: Callable[[], str] = lambda: "",
        errors: IO[bytes] | None = None,
    ) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self.answer_s = answer_s
        self._child = child
        self.last_words = last_words
        self._ids = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._is_lost = False
        self._errors: deque[str] = deque(maxlen=ERROR_LINES)
        self._listener = threading.Thread(target=self._read_errors, args=[errors], name="agent errors", daemon=True)
        self._listener.start()
        self._reader = threading.Thread(target=self._read, name="agent", daemon=True)
        self._reader.start()

    def call(self, kind: TypeAdapter[T], operation: str, within_s: float | None = None, **arguments: object) -> T:
        """Send a request and return the value of the response, validated as `kind`."""
        return self.value(kind, self.send(operation, **arguments), operation, within_s)

    def send(self, operation: str, **arguments: object) -> Future[Any]:
        """Send a request without waiting for the response."""
        number = next(self._ids)
        future: Future[Any] = Future()
        line = json.dumps({"id": number, "op": operation, "arguments": to_jsonable_python(arguments)})
        with self._lock:
            if self._is_lost:
                raise self._lost_error(operation)
            self._waiting[number] = future
            try:
                assert self._child.stdin is not None
                self._child.stdin.write(line.encode() + b"\n")
                self._child.stdin.flush()
            except OSError:
                raise self._lost_error(operation) from None
        return future

    def value(self, kind: TypeAdapter[T], future: Future[Any], operation: str, within_s: float | None = None) -> T:
        """Wait for the response to a request and return its value; raise the error that it reports."""
        limit_s = self.answer_s if within_s is None else within_s
        try:
            reply = future.result(limit_s)
        except FutureTimeout:
            message = f"the agent did not answer `{operation}` within {limit_s:.0f} s"
            raise LoadError("agent_lost", message, self.last_words()) from None
        if reply is None:
            raise self._lost_error(operation)
        if "error" in reply:
            raise _error_of(operation, reply["error"])
        return kind.validate_json(json.dumps(reply["value"]))

    def close(self) -> None:
        """Close the agent's input, which ends it; kill it after 5 s."""
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(5.0)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._reader.join()
        assert self._child.stdout is not None
        self._child.stdout.close()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if not line.endswith(b"\n"):
                break  # the agent ended in the middle of the line
            reply = json.loads(line)
            with self._lock:
                future = self._waiting.pop(reply["id"])
            future.set_result(reply)
        with self._lock:
            self._is_lost = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for future in left:
            future.set_result(None)

    def _read_errors(self, errors: IO[bytes] | None) -> None:
        if errors is not None:
            with errors:
                self._errors.extend(line.decode(errors="replace").rstrip() for line in errors)

    def _lost_error(self, operation: str) -> LoadError:
        time.sleep(0.3)  # if the server's end also ended the agent, the server's end is visible by then
        self._listener.join(1.0)
        reason = f": {self._errors[-1]}" if self._errors else ""
        message = f"the agent ended before it answered `{operation}`{reason}"
        return LoadError("agent_lost", message, "\n".join(self._errors) or self.last_words())


def _error_of(operation: str, error: dict[str, str]) -> Exception:
    """Return the agent's exception as the one that a local call would have raised."""
    message = error["message"]
    if error["type"] == "LoadError":
        return LoadError(error["kind"], message, error["output"])
    if error["type"] == "InfoError":
        return InfoError(message)
    if error["type"] == "ProcessLookupError":
        return ProcessLookupError(message)
    return LoadError("agent_failed", f"the agent failed at `{operation}`: {error['type']}: {message}")


EXECUTED: TypeAdapter[ExecutionResult] = TypeAdapter(ExecutionResult)


class AgentExecutor:
    """An executor that runs load generators through an agent.

    If anything is raised while one runs, the agent kills its processes.
    """

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def nofile(self) -> int:
        return self._agent.call(INT, "nofile")

    def printed(self, command: Sequence[str], install: str) -> str:
        return self._agent.call(TEXT, "printed", command=command, install=install)

    def execute(self, job: Job, on_tick: Tick | None = None) -> ExecutionResult:
        limit_s = job.limit_s + (CONVERT_S if job.convert else 0.0) + self._agent.answer_s
        future = self._agent.send("execute", job=job)
        started = time.monotonic()
        try:
            while not future.done():
                elapsed = time.monotonic() - started
                if elapsed > limit_s:
                    message = f"the load generator still ran after {limit_s:.0f} s"
                    raise LoadError("generator_hung", message, self._agent.last_words())
                if on_tick:
                    on_tick(elapsed)
                time.sleep(TICK_S)
        except BaseException:
            with suppress(LoadError):
                self.end()
            raise
        return self._agent.value(EXECUTED, future, "execute")

    def end(self) -> None:
        """Kill the generators that run there; `execute` then reports a failure."""
        self._agent.call(ANY, "end", within_s=2.0)

    def pids(self) -> list[int]:
        return []  # the processes belong to the agent and end with it


SAMPLES: TypeAdapter[Samples] = TypeAdapter(Samples)
NOISE: TypeAdapter[Noise] = TypeAdapter(Noise)

SLOW = {"fetch_responses", "settle_sockets", "seconds_per_round", "link"}
"""Readings that may take up to `LINGER_S` seconds."""


LOCAL = Instruments()
"""Instruments of this host, which define the arguments of each reading."""


@cache
def _result_type(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(getattr(Instruments, name))["return"])


def _read_remotely(agent: AgentClient, name: str, *arguments: object, **keywords: object) -> Any:  # noqa: ANN401 (the reading)
    """Return the reading of this name from the agent, validated by the method's return annotation."""
    bound = signature(getattr(LOCAL, name)).bind(*arguments, **keywords).arguments
    return agent.call(_result_type(name), name, LINGER_S if name in SLOW else None, **bound)


class AgentInstruments(Instruments):
    """Instruments whose readings are taken by the agent, except those listed in `local_readings`."""

    sampler = "agent"
    local_readings: Collection[str] = ()

    def __init__(self, agent: AgentClient, patience: float = 1.0) -> None:
        super().__init__(patience=patience)
        self._agent = agent
        for name in READINGS - {*self.local_readings}:
            setattr(self, name, partial(_read_remotely, agent, name))

    def is_responsive(self, url: str) -> bool:
        try:
            return super().is_responsive(url)
        except LoadError:
            return False

    def sample(self, pid: int) -> Recording:
        return _AgentRecording(self._agent, SAMPLES, "sample", pid)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        return _AgentRecording(self._agent, NOISE, "noise", None)


class HostInstruments(AgentInstruments):
    """Instruments that read a container's processes in this host's /proc; the agent reads the network."""

    sampler = "host"
    local_readings = ("snapshot", "reset_counters", "counters", "cgroup", "task_limit", "canary")

    def sample(self, pid: int) -> Recording:
        return Instruments.sample(self, pid)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        # The container's own quota is a condition of the run (CPUS=); those of its parent groups are noise.
        parents = group_folders("cpu", pid)[1:] if pid is not None else []
        return _HostNoise(self, NoiseProbe(parents))

    def cgroup(self, pid: int) -> ContainerUse | None:
        return cgroup.container_use(pid)


class _AgentRecording(Generic[T]):
    """A recording that the agent makes until it is stopped."""

    def __init__(self, agent: AgentClient, kind: TypeAdapter[T], what: str, pid: int | None) -> None:
        self._agent, self._kind = agent, kind
        self._handle = agent.call(INT, "begin", what=what, pid=pid)

    def stop(self, *known: float | None) -> T:
        return self._agent.call(self._kind, "finish", handle=self._handle, known=known)


class _HostNoise:
    """A noise recording in which the agent's CPU time counts as the harness's, not as that of other programs."""

    def __init__(self, instruments: Instruments, recording: NoiseRecording) -> None:
        self._instruments = instruments
        self._before_s = instruments.cpu_s()
        self._recording = recording

    def stop(self, known_cpu_s: float | None = 0.0, runnable: float | None = None, /) -> Noise:
        agent_s = self._instruments.cpu_s() - self._before_s
        return self._recording.stop(None if known_cpu_s is None else known_cpu_s + agent_s, runnable)
