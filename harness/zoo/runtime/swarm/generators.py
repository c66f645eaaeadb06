"""wrk on several nodes at once: a share of the connections on each, begun together, their outcomes merged."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace

from zoo.load.base import LoadOutcome
from zoo.load.execute import TICK_S, Tick
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.wrk import Wrk, merged
from zoo.model.host import HostFacts, Limits
from zoo.model.measurement import GeneratorUse
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Link

LEAD_S = 0.3
"""From now until all begin: longer than it takes to tell each of them."""

CLOCK_READINGS = 7


@dataclass(frozen=True)
class Remote:
    """A node that sends; `ahead_s`: by how much its clock is ahead of ours."""

    name: str
    wrk: Wrk
    executor: AgentExecutor
    link: Link
    ahead_s: float


def remote(name: str, agent: AgentClient, url: str, addresses: tuple[str, ...] = ()) -> Remote:
    """The node of this agent, its clock and its link to the server measured. `addresses`: the server's, if several."""
    executor, instruments = AgentExecutor(agent), AgentInstruments(agent)
    return Remote(name, Wrk(executor, addresses), executor, instruments.link(url), _ahead_s(instruments))


def _ahead_s(instruments: Instruments) -> float:
    """The agent's clock less ours, from the reading that took least time: it is wrong by half of that at most."""
    best = (float("inf"), 0.0)
    for _ in range(CLOCK_READINGS):
        before = time.monotonic()
        theirs = instruments.clock()
        after = time.monotonic()
        best = min(best, (after - before, theirs - (before + after) / 2))
    return best[1]


class SpreadWrk:
    """One wrk on each node. One that fails makes the load invalid, not smaller."""

    name = "wrk"

    def __init__(self, remotes: Sequence[Remote]) -> None:
        self._remotes = remotes

    def version(self) -> str:
        found = {one.name: one.wrk.version() for one in self._remotes}
        if len(set(found.values())) > 1:
            versions = ", ".join(f"{name} has {version}" for name, version in found.items())
            raise LoadError("generator_failed", f"the nodes' wrk differ: {versions}")
        return next(iter(found.values()))

    def pids(self) -> list[int]:
        return []  # they end with their agents

    def run(self, spec: LoadSpec, on_tick: Tick | None = None) -> LoadOutcome:
        self.version()
        shares = shares_of(self._remotes[0].wrk.with_addresses(spec), len(self._remotes))
        senders = self._remotes[: len(shares)]
        begin = time.monotonic() + LEAD_S
        with ThreadPoolExecutor(len(senders)) as pool:
            runs = [
                pool.submit(one.wrk.run, share, begin_at=begin + one.ahead_s)
                for one, share in zip(senders, shares, strict=True)
            ]
            try:
                _follow(runs, [one.name for one in senders], begin, on_tick)
            except BaseException:
                for one in senders:
                    with suppress(LoadError):
                        one.executor.end()
                raise
        return _together(senders, [run.result() for run in runs])


def shares_of(spec: LoadSpec, nodes: int) -> list[LoadSpec]:
    """Return the load of each node, as equal as may be: all but the last can have `spec.threads` threads.

    With fewer connections than nodes, some nodes have none.
    """
    count = min(nodes, spec.connections)
    threads = min(spec.threads, spec.connections // count)
    sets, over = divmod(spec.connections, threads)
    sizes = [(sets // count + (number < sets % count)) * threads for number in range(count)]
    sizes[-1] += over
    return [replace(spec, connections=size) for size in sizes]


def _follow(runs: Sequence[Future[LoadOutcome]], names: Sequence[str], begin: float, on_tick: Tick | None) -> None:
    """Return when all are done or the first has failed; on_tick in this thread, with the seconds since `begin`."""
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


def _together(senders: Sequence[Remote], found: Sequence[LoadOutcome]) -> LoadOutcome:
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
    return merged(found, generators)


def with_ports_of(server: HostFacts, name: str, generators: Mapping[str, Limits], addresses: int) -> HostFacts:
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
