"""Instruments that work where the agent runs."""

from __future__ import annotations

from pydantic import TypeAdapter

from zoo.catalog.manifest import Entry
from zoo.host.cgroup import levels
from zoo.load.spec import LoadError
from zoo.model.host import HostFacts, Limits
from zoo.model.noise import Noise
from zoo.model.samples import Samples
from zoo.runtime.agent.client import BOOL, FACTS, INT, INT_OR_NONE, LIMITS, LINGER_S, AgentClient
from zoo.sample import cgroup
from zoo.sample.cgroup import CgroupUse
from zoo.sample.instruments import Instruments, LocalInstruments, NoiseRecording, Recording, checked
from zoo.sample.jvm import Info, InfoError
from zoo.sample.net import TcpCounters
from zoo.sample.noise import NoiseProbe
from zoo.sample.proc import Snapshot
from zoo.sample.response import Response

FLOAT: TypeAdapter[float] = TypeAdapter(float)


TEXT_OR_NONE: TypeAdapter[str | None] = TypeAdapter(str | None)


CGROUP: TypeAdapter[CgroupUse | None] = TypeAdapter(CgroupUse | None)


COUNTERS: TypeAdapter[TcpCounters | None] = TypeAdapter(TcpCounters | None)


INFO: TypeAdapter[Info] = TypeAdapter(Info)


NOISE: TypeAdapter[Noise] = TypeAdapter(Noise)


RESPONSES: TypeAdapter[list[Response]] = TypeAdapter(list[Response])


SAMPLES: TypeAdapter[Samples] = TypeAdapter(Samples)


SNAPSHOT: TypeAdapter[Snapshot] = TypeAdapter(Snapshot)


RESPONSE_S = 5.0


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

    def responses(self, url: str, count: int) -> list[Response]:
        timeout_s = RESPONSE_S * self._patience
        return self._agent.call(RESPONSES, "responses", LINGER_S, url=url, count=count, timeout_s=timeout_s)

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        return self._agent.call(SNAPSHOT, "snapshot", pid=pid, deep=deep)

    def count_anew(self, pid: int) -> bool:
        return self._agent.call(BOOL, "count_anew", pid=pid)

    def sample(self, pid: int) -> Recording:
        return _AgentRecording(self._agent, pid)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        return _AgentNoise(self._agent)

    def counters(self, pid: int) -> TcpCounters | None:
        return self._agent.call(COUNTERS, "counters", pid=pid)

    def cgroup(self, pid: int) -> CgroupUse | None:
        return self._agent.call(CGROUP, "cgroup", pid=pid)

    def established(self, url: str) -> int | None:
        return self._agent.call(INT_OR_NONE, "established", url=url)

    def unclosed(self, url: str) -> int | None:
        return self._agent.call(INT_OR_NONE, "unclosed", url=url)

    def closed(self, url: str) -> int | None:
        return self._agent.call(INT_OR_NONE, "closed", url=url)

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

    def count_anew(self, pid: int) -> bool:
        return self._here.count_anew(pid)

    def sample(self, pid: int) -> Recording:
        return self._here.sample(pid)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        # The container's own quota is a condition of the run (CPUS=), those of its parents are not.
        parents = levels("cpu", pid)[1:] if pid is not None else []
        return _HostNoise(self._agent, NoiseProbe(parents).start())

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
