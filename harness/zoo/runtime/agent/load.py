"""The load generators, run by the agent: they send from where the server is."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from pydantic import TypeAdapter

from zoo.load import ab, vegeta
from zoo.load.ab import AbOutcome, AbSpec
from zoo.load.shards import OVERRUN_S, Ran, Shard
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.vegeta import Attack, Attacked
from zoo.runtime.agent.client import ANY, INT, TEXT, AgentClient

TICK_S = 0.1

T = TypeVar("T")

AB: TypeAdapter[AbOutcome] = TypeAdapter(AbOutcome)
ATTACKED: TypeAdapter[Attacked] = TypeAdapter(Attacked)
RAN: TypeAdapter[Ran] = TypeAdapter(Ran)


class AgentShards:
    """wrk, run by the agent."""

    places = 1

    def __init__(self, agent: AgentClient, overrun_s: float = OVERRUN_S) -> None:
        self._agent = agent
        self._overrun_s = overrun_s
        self._version: str | None = None

    def version(self) -> str:
        if self._version is None:
            self._version = self._agent.call(TEXT, "wrk_version")
        return self._version

    def nofile(self) -> int:
        return self._agent.call(INT, "wrk_nofile")

    def run(
        self,
        spec: LoadSpec,
        shards: list[Shard],
        nofile: int,
        on_tick: Callable[[float], None] | None = None,
        begin_at: float | None = None,
    ) -> Ran:
        """`begin_at`: by the agent's clock; without it at once."""
        limit_s = spec.duration_s + self._overrun_s + self._agent.answer_s
        asked = {"spec": spec, "shards": shards, "nofile": nofile, "begin_at": begin_at}
        return follow(self._agent, RAN, "wrk", limit_s, on_tick, **asked)

    def end(self) -> None:
        """End what runs there, which `run` then tells of as failed."""
        self._agent.call(ANY, "end", within_s=2.0)

    def pids(self) -> list[int]:
        return []  # they end with the agent


class AgentVegeta:
    """vegeta, run by the agent."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def run(self, attack: Attack, on_tick: Callable[[float], None] | None = None) -> Attacked:
        limit_s = attack.duration_s + attack.timeout_s + vegeta.OVERRUN_S + vegeta.ENCODE_S
        return follow(self._agent, ATTACKED, "vegeta", limit_s, on_tick, attack=attack)

    def pids(self) -> list[int]:
        return []  # they end with the agent


class AgentAb:
    """ApacheBench, run by the agent."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def run(self, spec: AbSpec, on_tick: Callable[[float], None] | None = None) -> AbOutcome:
        return follow(self._agent, AB, "ab", ab.LIMIT_S + self._agent.answer_s, on_tick, spec=spec)

    def pids(self) -> list[int]:
        return []  # they end with the agent


def follow(
    agent: AgentClient,
    kind: TypeAdapter[T],
    operation: str,
    limit_s: float,
    on_tick: Callable[[float], None] | None,
    **arguments: object,
) -> T:
    """Ask for a load and wait for its end; whatever is raised meanwhile, the agent ends its generators."""
    future = agent.ask(operation, **arguments)
    started = time.monotonic()
    try:
        while not future.done():
            elapsed = time.monotonic() - started
            if elapsed > limit_s:
                message = f"the load generator still ran after {limit_s:.0f} s"
                raise LoadError("generator_hung", message, agent.last_words())
            if on_tick:
                on_tick(elapsed)
            time.sleep(TICK_S)
    except BaseException:
        with suppress(LoadError):
            agent.call(ANY, "end", within_s=2.0)
        raise
    return agent.value(kind, future, operation)
