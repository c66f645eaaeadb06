"""The harness's end of the agent: commands that it executes and readings that it takes, next to the server."""

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
from typing import IO, Any, TypeVar, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from zoo.host.cgroup import levels
from zoo.load.execute import CONVERT_S, TICK_S, Executed, Job, Tick
from zoo.load.spec import LoadError
from zoo.model.samples import Noise, Samples
from zoo.sample import cgroup
from zoo.sample.cgroup import CgroupUse
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
    """Speaks with one agent over a process's standard streams. A lost agent is a `LoadError` of kind `agent_lost`.

    `answer_s` is how long an answer may take where nothing else is said; `last_words` what to show when none comes.
    `errors` is read here and nowhere else; its last lines say why an agent was lost.
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
        self._lost = False
        self._errors: deque[str] = deque(maxlen=ERROR_LINES)
        self._listener = threading.Thread(target=self._read_errors, args=[errors], name="agent errors", daemon=True)
        self._listener.start()
        self._reader = threading.Thread(target=self._read, name="agent", daemon=True)
        self._reader.start()

    def call(self, kind: TypeAdapter[T], operation: str, within_s: float | None = None, **arguments: object) -> T:
        """Ask and wait; the value is validated as `kind`."""
        return self.value(kind, self.ask(operation, **arguments), operation, within_s)

    def ask(self, operation: str, **arguments: object) -> Future[Any]:
        """Ask without waiting."""
        number = next(self._ids)
        future: Future[Any] = Future()
        line = json.dumps({"id": number, "op": operation, "arguments": to_jsonable_python(arguments)})
        with self._lock:
            if self._lost:
                raise self._gone(operation)
            self._waiting[number] = future
            try:
                assert self._child.stdin is not None
                self._child.stdin.write(line.encode() + b"\n")
                self._child.stdin.flush()
            except OSError:
                raise self._gone(operation) from None
        return future

    def value(self, kind: TypeAdapter[T], future: Future[Any], operation: str, within_s: float | None = None) -> T:
        """The answer to what was asked."""
        limit_s = self.answer_s if within_s is None else within_s
        try:
            reply = future.result(limit_s)
        except FutureTimeout:
            message = f"the agent did not answer `{operation}` within {limit_s:.0f} s"
            raise LoadError("agent_lost", message, self.last_words()) from None
        if reply is None:
            raise self._gone(operation)
        if "error" in reply:
            raise _raised(operation, reply["error"])
        return kind.validate_json(json.dumps(reply["value"]))

    def close(self) -> None:
        """The agent ends when its input does."""
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
                break  # cut off by the agent's end
            reply = json.loads(line)
            with self._lock:
                future = self._waiting.pop(reply["id"])
            future.set_result(reply)
        with self._lock:
            self._lost = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for future in left:
            future.set_result(None)

    def _read_errors(self, errors: IO[bytes] | None) -> None:
        if errors is not None:
            with errors:
                self._errors.extend(line.decode(errors="replace").rstrip() for line in errors)

    def _gone(self, operation: str) -> LoadError:
        time.sleep(0.3)  # a server that took the agent along has ended by then, and is seen to have
        self._listener.join(1.0)
        reason = f": {self._errors[-1]}" if self._errors else ""
        message = f"the agent ended before it answered `{operation}`{reason}"
        return LoadError("agent_lost", message, "\n".join(self._errors) or self.last_words())


def _raised(operation: str, error: dict[str, str]) -> Exception:
    """The agent's exception, as the caller would have met it here."""
    message = error["message"]
    if error["type"] == "LoadError":
        return LoadError(error["kind"], message, error["output"])
    if error["type"] == "InfoError":
        return InfoError(message)
    if error["type"] == "ProcessLookupError":
        return ProcessLookupError(message)
    return LoadError("agent_failed", f"the agent failed at `{operation}`: {error['type']}: {message}")


EXECUTED: TypeAdapter[Executed] = TypeAdapter(Executed)


class AgentExecutor:
    """Whatever is raised while a job runs, the agent ends its processes."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def nofile(self) -> int:
        return self._agent.call(INT, "nofile")

    def printed(self, command: Sequence[str], install: str) -> str:
        return self._agent.call(TEXT, "printed", command=command, install=install)

    def execute(self, job: Job, on_tick: Tick | None = None) -> Executed:
        limit_s = job.limit_s + (CONVERT_S if job.convert else 0.0) + self._agent.answer_s
        future = self._agent.ask("execute", job=job)
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
        """End what runs there, which `execute` then reports as failed."""
        self._agent.call(ANY, "end", within_s=2.0)

    def pids(self) -> list[int]:
        return []  # they are the agent's, and end with it


SAMPLES: TypeAdapter[Samples] = TypeAdapter(Samples)
NOISE: TypeAdapter[Noise] = TypeAdapter(Noise)

SLOW = {"fetch_responses", "settle_sockets", "seconds_a_round", "link"}
"""Readings that may take up to `LINGER_S`."""


@cache
def _kind(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(getattr(Instruments, name))["return"])


def _remote(agent: AgentClient, name: str, *arguments: object, **named: object) -> Any:  # noqa: ANN401 (what the reading gives)
    """Take the reading of this name where the agent runs; its value is validated by the annotation."""
    given = signature(getattr(Instruments, name)).bind(None, *arguments, **named).arguments
    del given["self"]
    return agent.call(_kind(name), name, LINGER_S if name in SLOW else None, **given)


class AgentInstruments(Instruments):
    """All is read by the agent, but for what is listed in `here`."""

    sampler = "agent"
    here: Collection[str] = ()

    def __init__(self, agent: AgentClient, patience: float = 1.0) -> None:
        super().__init__(patience=patience)
        self._agent = agent
        for name in READINGS - {*self.here}:
            setattr(self, name, partial(_remote, agent, name))

    def answers(self, url: str) -> bool:
        try:
            return super().answers(url)
        except LoadError:
            return False

    def sample(self, pid: int) -> Recording:
        return _AgentSampler(self._agent, "sample", pid)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        return _AgentNoise(self._agent, "noise", None)


class HostInstruments(AgentInstruments):
    """The container's processes are in this host's /proc, where they are read; the network is the agent's."""

    sampler = "host"
    here = ("snapshot", "count_anew", "counters", "cgroup", "canary")

    def sample(self, pid: int) -> Recording:
        return Instruments.sample(self, pid)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        # The container's own quota is a condition of the run (CPUS=), those of its parents are not.
        parents = levels("cpu", pid)[1:] if pid is not None else []
        return _HostNoise(self, NoiseProbe(parents).start())

    def cgroup(self, pid: int) -> CgroupUse | None:
        return cgroup.container_use(pid)


class _AgentRecording:
    """Something that the agent records until it is asked for."""

    def __init__(self, agent: AgentClient, what: str, pid: int | None) -> None:
        self._agent = agent
        self._handle = agent.call(INT, "begin", what=what, pid=pid)


class _AgentSampler(_AgentRecording):
    def stop(self) -> Samples:
        return self._agent.call(SAMPLES, "finish", handle=self._handle)


class _AgentNoise(_AgentRecording):
    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise:
        known = {"server_cpu_s": server_cpu_s, "generator_cpu_s": generator_cpu_s, "runnable": runnable}
        return self._agent.call(NOISE, "finish", handle=self._handle, **known)


class _HostNoise:
    """The agent's own work is the harness's, not a stranger's."""

    def __init__(self, instruments: Instruments, recording: NoiseRecording) -> None:
        self._instruments = instruments
        self._before_s = instruments.cpu_s()
        self._recording = recording

    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise:
        agent_s = self._instruments.cpu_s() - self._before_s
        return self._recording.stop(server_cpu_s, generator_cpu_s + agent_s, runnable)
