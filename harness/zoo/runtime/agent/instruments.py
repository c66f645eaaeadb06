"""Instruments whose readings the agent takes."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, partial
from inspect import signature
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from zoo.host.cgroup import levels
from zoo.load.spec import LoadError
from zoo.model.noise import Noise
from zoo.model.samples import Samples
from zoo.runtime.agent.client import INT, LINGER_S, AgentClient
from zoo.sample import cgroup
from zoo.sample.cgroup import CgroupUse
from zoo.sample.instruments import READINGS, Instruments, NoiseRecording, Recording
from zoo.sample.noise import NoiseProbe

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
