"""wrk on several nodes at once: each opens a share of the connections, all start together, and outcomes are merged."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace

from zoo.core.host_facts import HostFacts, Limits
from zoo.core.measurement import GeneratorUse
from zoo.load.base import LoadOutcome
from zoo.load.execute import TICK_S, Tick
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.wrk import Wrk, merge_outcomes
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Link

LEAD_S = 0.3
"""Seconds until all nodes start: longer than it takes to send the command to each of them."""

CLOCK_READINGS = 7


@dataclass(frozen=True)
class LoadNode:
    """A node with a load generator; its clock is `ahead_s` seconds ahead of ours."""

    name: str
    wrk: Wrk
    executor: AgentExecutor
    link: Link
    ahead_s: float


def connect_node(name: str, agent: AgentClient, url: str, addresses: tuple[str, ...] = ()) -> LoadNode:
    """Return the node of this agent after measuring its clock and its link to the server.

    `addresses` are those of the server, if it has several.
    """
    executor, instruments = AgentExecutor(agent), AgentInstruments(agent)
    return LoadNode(name, Wrk(executor, addresses), executor, instruments.link(url), _ahead_s(instruments))


def _ahead_s(instruments: Instruments) -> float:
    """Return the agent's clock minus ours, in seconds.

    Use the fastest of several readings; the error is at most half of the time that it took.
    """
    best = (float("inf"), 0.0)
    for _ in range(CLOCK_READINGS):
        before = time.monotonic()
        theirs = instruments.clock()
        after = time.monotonic()
        best = min(best, (after - before, theirs - (before + after) / 2))
    return best[1]


class NodesInstruments(AgentInstruments):
    """Instruments of the server's node, which also find the client ends of connections on the other nodes."""

    local_readings = ("count_closed",)

    def __init__(self, agent: AgentClient, others: Sequence[AgentClient]) -> None:
        super().__init__(agent)
        self._nodes = [AgentInstruments(one) for one in (agent, *others)]

    def count_closed(self, url: str, oldest_s: float, newest_s: float) -> int | None:
        found = [one.count_closed(url, oldest_s, newest_s) for one in self._nodes]
        known = [count for count in found if count is not None]
        return sum(known) if len(known) == len(found) else None


class SpreadWrk:
    """One wrk on each node. If one fails, the whole load is invalid, not just smaller."""

    name = "wrk"

    def __init__(self, nodes: Sequence[LoadNode]) -> None:
        self._nodes = nodes

    def version(self) -> str:
        found = {one.name: one.wrk.version() for one in self._nodes}
        if len(set(found.values())) > 1:
            versions = ", ".join(f"{name} has {version}" for name, version in found.items())
            raise LoadError("generator_failed", f"the nodes have different versions of wrk: {versions}")
        return next(iter(found.values()))

    def pids(self) -> list[int]:
        return []  # the processes end with their agents

    def run(self, spec: LoadSpec, on_tick: Tick | None = None) -> LoadOutcome:
        self.version()
        shares = shares_of(self._nodes[0].wrk.with_addresses(spec), len(self._nodes))
        senders = self._nodes[: len(shares)]
        begin = time.monotonic() + LEAD_S
        with ThreadPoolExecutor(len(senders)) as pool:
            runs = [
                pool.submit(one.wrk.run, share, begin_at=begin + one.ahead_s)
                for one, share in zip(senders, shares, strict=True)
            ]
            try:
                _wait_for(runs, [one.name for one in senders], begin, on_tick)
            except BaseException:
                for one in senders:
                    with suppress(LoadError):
                        one.executor.end()
                raise
        return _merge(senders, [run.result() for run in runs])


def shares_of(spec: LoadSpec, nodes: int) -> list[LoadSpec]:
    """Return the load of each node, as equal as possible.

    The connections of every node but the last are a multiple of the number of threads, which is `spec.threads` or, if
    there are few connections, fewer. With fewer connections than nodes, some nodes get none.
    """
    count = min(nodes, spec.connections)
    threads = min(spec.threads, spec.connections // count)
    sets, over = divmod(spec.connections, threads)
    sizes = [(sets // count + (number < sets % count)) * threads for number in range(count)]
    sizes[-1] += over
    return [replace(spec, connections=size) for size in sizes]


def _wait_for(runs: Sequence[Future[LoadOutcome]], names: Sequence[str], begin: float, on_tick: Tick | None) -> None:
    """Wait until all runs are done or one has failed; call `on_tick` in this thread with the seconds since `begin`."""
    left = set(runs)
    while left:
        done, left = wait(left, timeout=TICK_S, return_when=FIRST_EXCEPTION)
        for run in done:
            try:
                run.result()
            except LoadError as error:
                message = f"generator host {names[runs.index(run)]}: {error.message}"
                raise LoadError(error.kind, message, error.output) from error
        if on_tick and left:
            on_tick(max(0.0, time.monotonic() - begin))


def _merge(senders: Sequence[LoadNode], found: Sequence[LoadOutcome]) -> LoadOutcome:
    began = [outcome.began_s - one.ahead_s for one, outcome in zip(senders, found, strict=True)]
    generators = [
        GeneratorUse(
            host=one.name,
            connections=outcome.connections,
            requests=outcome.requests,
            cpu_s=outcome.cpu_s,
            busiest_thread=outcome.busiest_thread,
            began_s=start - min(began),
            round_trip_us=one.link.round_trip_us,
            bandwidth_mb_s=one.link.bandwidth_mb_s,
        )
        for one, outcome, start in zip(senders, found, began, strict=True)
    ]
    return merge_outcomes(found, generators)


def with_ports_of(server: HostFacts, name: str, generators: Mapping[str, Limits], addresses: int) -> HostFacts:
    """Return the facts of the server's host with the ports that the generators can open connections from.

    Each generator can use its ports once per address of the server. `name` is the server's host; `generators` has the
    limits by the name of each generator's host.
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
