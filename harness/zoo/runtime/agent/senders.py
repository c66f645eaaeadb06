"""Generators on hosts of their own: one load of them all, and what they may open together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from zoo.load.ab import Benchmarker
from zoo.load.base import Generator
from zoo.load.vegeta import Attacker
from zoo.load.wrk import Wrk
from zoo.model.host import HostFacts, Limits
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.agent.instruments import AgentInstruments
from zoo.runtime.agent.load import AgentAb, AgentShards, AgentVegeta
from zoo.runtime.agent.spread import Link, Remote, SpreadShards

LINK: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, float])
CLOCK: TypeAdapter[float] = TypeAdapter(float)
LOOKS = 7
"""At an agent's clock: of these the one that took least time tells how far it is ahead."""

MEASURES_S = 60.0


@dataclass(frozen=True)
class Senders:
    """All of wrk together; vegeta and ab on the first host. `processors`: of the hosts together."""

    generator: Generator
    attacker: Attacker
    benchmarker: Benchmarker
    processors: int


def senders(agents: Mapping[str, AgentClient], url: str, addresses: tuple[str, ...]) -> Senders:
    """Of the agents by their hosts' names, clocks and links looked at. `addresses`: the server's, at least one."""
    first = next(iter(agents.values()))
    processors = sum(AgentInstruments(one).facts().cores or 1 for one in agents.values())
    remotes = [remote(name, one, url) for name, one in agents.items()]
    wrk = Wrk(SpreadShards(remotes), addresses if len(addresses) > 1 else ())
    return Senders(wrk, AgentVegeta(first), AgentAb(first), processors)


def remote(name: str, agent: AgentClient, url: str) -> Remote:
    """The host of this agent, its clock and its link to the server looked at."""
    link = agent.call(LINK, "link", MEASURES_S, url=url)
    return Remote(name, AgentShards(agent), Link(**link), ahead_s(agent))


def ahead_s(agent: AgentClient) -> float:
    """The agent's clock less ours, at the look that took least time: it is then wrong by half of that at most."""
    best = (float("inf"), 0.0)
    for _ in range(LOOKS):
        before = time.monotonic()
        theirs = agent.call(CLOCK, "clock")
        after = time.monotonic()
        best = min(best, (after - before, theirs - (before + after) / 2))
    return best[1]


def sending(server: HostFacts, name: str, generators: Mapping[str, Limits], addresses: int) -> HostFacts:
    """The server's machine, with the ports from which so many generators open connections to each of its addresses.

    `name`: of the server's host; the generators' limits by the names of theirs.
    """
    host, tightest = min(generators.items(), key=lambda one: (one[1].port_high or 65_535) - (one[1].port_low or 0))
    ports = {
        "port_low": tightest.port_low,
        "port_high": tightest.port_high,
        "generators": len(generators) * addresses,
        "server_host": name,
        "ports_host": host,
    }
    return server.model_copy(update={"limits": server.limits.model_copy(update=ports)})
