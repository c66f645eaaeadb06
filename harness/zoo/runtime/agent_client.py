"""The harness's end of the agent: instruments that work where the agent runs."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from zoo.catalog import Entry
from zoo.host.facts import HostFacts
from zoo.host.limits import Limits
from zoo.instruments import Instruments, LocalInstruments, NoiseRecording, Recording, checked
from zoo.load.base import LoadError
from zoo.sample import cgroup
from zoo.sample.cgroup import CgroupUse
from zoo.sample.jvm import Info, InfoError
from zoo.sample.net import TcpCounters
from zoo.sample.noise import Noise
from zoo.sample.proc import Snapshot
from zoo.sample.samples import Samples

ANSWER_S = 30.0
LINGER_S = 90.0

T = TypeVar("T")

ANY: TypeAdapter[Any] = TypeAdapter(Any)
BOOL: TypeAdapter[bool] = TypeAdapter(bool)
FLOAT: TypeAdapter[float] = TypeAdapter(float)
INT: TypeAdapter[int] = TypeAdapter(int)
INT_OR_NONE: TypeAdapter[int | None] = TypeAdapter(int | None)
TEXT: TypeAdapter[str] = TypeAdapter(str)
TEXT_OR_NONE: TypeAdapter[str | None] = TypeAdapter(str | None)
CGROUP: TypeAdapter[CgroupUse | None] = TypeAdapter(CgroupUse | None)
COUNTERS: TypeAdapter[TcpCounters | None] = TypeAdapter(TcpCounters | None)
FACTS: TypeAdapter[HostFacts] = TypeAdapter(HostFacts)
INFO: TypeAdapter[Info] = TypeAdapter(Info)
LIMITS: TypeAdapter[Limits] = TypeAdapter(Limits)
NOISE: TypeAdapter[Noise] = TypeAdapter(Noise)
SAMPLES: TypeAdapter[Samples] = TypeAdapter(Samples)
SNAPSHOT: TypeAdapter[Snapshot] = TypeAdapter(Snapshot)


class AgentClient:
    """Speaks with one agent over a process's standard streams. A lost agent is a `LoadError` of kind `agent_lost`.

    `answer_s` is how long an answer may take where nothing else is said; `last_words` what to show when none comes.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], answer_s: float = ANSWER_S, last_words: Callable[[], str] = lambda: ""
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

    def _gone(self, operation: str) -> LoadError:
        time.sleep(0.3)  # a server that took the agent along has ended by then, and is seen to have
        message = f"the agent beside the server ended before it answered `{operation}`"
        return LoadError("agent_lost", message, self.last_words())


class AgentInstruments:
    """All is read by the agent; a server on a slow machine is given `patience` times as long to answer."""

    sampler = "agent"

    def __init__(self, agent: AgentClient, patience: float = 1.0) -> None:
        self._agent = agent
        self._patience = patience

    def probe(self, url: str, entry: Entry) -> Info:
        return checked(self._hello_fault(url, 5.0), lambda: self._fetch_info(url, 5.0), entry)

    def info(self, url: str) -> Info | None:
        try:
            return self._fetch_info(url, 2.0)
        except InfoError:
            return None

    def answers(self, url: str) -> bool:
        try:
            return self._hello_fault(url, 2.0) is None
        except LoadError:
            return False

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        return self._agent.call(SNAPSHOT, "snapshot", pid=pid, deep=deep)

    def reset_peak(self, pid: int) -> bool:
        return self._agent.call(BOOL, "reset_peak", pid=pid)

    def sample(self, pid: int) -> Recording:
        return _AgentRecording(self._agent, pid)

    def noise(self) -> NoiseRecording:
        return _AgentNoise(self._agent)

    def counters(self, pid: int) -> TcpCounters | None:
        return self._agent.call(COUNTERS, "counters", pid=pid)

    def cgroup(self, pid: int) -> CgroupUse | None:
        return self._agent.call(CGROUP, "cgroup", pid=pid)

    def established(self, url: str) -> int | None:
        return self._agent.call(INT_OR_NONE, "established", url=url)

    def unclosed(self, url: str) -> int | None:
        return self._agent.call(INT_OR_NONE, "unclosed", url=url)

    def settle_sockets(self, wait: bool) -> int | None:
        return self._agent.call(INT_OR_NONE, "settle_sockets", LINGER_S, wait=wait)

    def canary(self) -> float:
        return self._agent.call(FLOAT, "canary")

    def available_kb(self) -> int:
        return self._agent.call(INT, "available_kb")

    def seconds_a_round(self, url: str) -> float:
        return self._agent.call(FLOAT, "seconds_a_round", LINGER_S, url=url)

    def limits(self) -> Limits:
        """Those in force where the agent runs."""
        return self._agent.call(LIMITS, "limits")

    def facts(self) -> HostFacts:
        """The machine that the agent runs on, as seen from there."""
        return self._agent.call(FACTS, "facts")

    def _hello_fault(self, url: str, timeout_s: float) -> str | None:
        return self._agent.call(TEXT_OR_NONE, "hello_fault", url=url, timeout_s=timeout_s * self._patience)

    def _fetch_info(self, url: str, timeout_s: float) -> Info:
        return self._agent.call(INFO, "info", url=url, timeout=timeout_s * self._patience)


class HostInstruments(AgentInstruments):
    """The container's processes are in this host's /proc, where they are read; the network is the agent's."""

    sampler = "host"

    def __init__(self, agent: AgentClient) -> None:
        super().__init__(agent)
        self._here: Instruments = LocalInstruments()

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        return self._here.snapshot(pid, deep)

    def reset_peak(self, pid: int) -> bool:
        return self._here.reset_peak(pid)

    def sample(self, pid: int) -> Recording:
        return self._here.sample(pid)

    def noise(self) -> NoiseRecording:
        return _HostNoise(self._agent, self._here.noise())

    def counters(self, pid: int) -> TcpCounters | None:
        return self._here.counters(pid)

    def cgroup(self, pid: int) -> CgroupUse | None:
        return cgroup.container_use(pid)

    def canary(self) -> float:
        return self._here.canary()


class _AgentRecording:
    def __init__(self, agent: AgentClient, pid: int) -> None:
        self._agent = agent
        self._handle = agent.call(INT, "sample", pid=pid)

    def stop(self) -> Samples:
        return self._agent.call(SAMPLES, "samples", handle=self._handle)


class _AgentNoise:
    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent
        self._handle = agent.call(INT, "noise")

    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise:
        return self._agent.call(
            NOISE,
            "noise_of",
            handle=self._handle,
            server_cpu_s=server_cpu_s,
            generator_cpu_s=generator_cpu_s,
            runnable=runnable,
        )


class _HostNoise:
    """The agent's own work is the harness's, not a stranger's."""

    def __init__(self, agent: AgentClient, recording: NoiseRecording) -> None:
        self._agent = agent
        self._before_s = agent.call(FLOAT, "cpu_s")
        self._recording = recording

    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise:
        agent_cpu_s = self._agent.call(FLOAT, "cpu_s") - self._before_s
        return self._recording.stop(server_cpu_s, generator_cpu_s + agent_cpu_s, runnable)


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
