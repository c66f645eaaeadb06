"""wrk on several hosts at once: a share of the connections on each, begun together, their reports put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from zoo.load.shards import Place, Ran, Shard
from zoo.load.spec import LoadError, LoadSpec
from zoo.runtime.agent.load import TICK_S, AgentShards

LEAD_S = 0.3
"""From now until all begin: longer than it takes to tell each of them."""


@dataclass(frozen=True)
class Link:
    """What lies between a generator and the server."""

    round_trip_us: float
    bandwidth_mb_s: float


@dataclass(frozen=True)
class Remote:
    """A host that sends, by the name that a person gave it; `ahead_s`: its clock's seconds over ours."""

    name: str
    shards: AgentShards
    link: Link
    ahead_s: float


class SpreadShards:
    """Shards of wrk, dealt out to hosts in turn. One that fails makes the load invalid, not smaller."""

    def __init__(self, remotes: Sequence[Remote]) -> None:
        self._remotes = remotes

    @property
    def places(self) -> int:
        """At least one process on each host."""
        return len(self._remotes)

    def version(self) -> str:
        found = {remote.name: remote.shards.version() for remote in self._remotes}
        if len(set(found.values())) > 1:
            told = ", ".join(f"{name} has {version}" for name, version in found.items())
            raise LoadError("generator_failed", f"the hosts' wrk differ: {told}")
        return next(iter(found.values()))

    def nofile(self) -> int:
        """The least of the hosts'."""
        return min(remote.shards.nofile() for remote in self._remotes)

    def run(
        self, spec: LoadSpec, shards: list[Shard], nofile: int, on_tick: Callable[[float], None] | None = None
    ) -> Ran:
        dealt = [(remote, list(range(n, len(shards), self.places))) for n, remote in enumerate(self._remotes)]
        dealt = [(remote, mine) for remote, mine in dealt if mine]
        begin = time.monotonic() + LEAD_S
        with ThreadPoolExecutor(len(dealt)) as pool:
            runs = [
                pool.submit(remote.shards.run, spec, [shards[i] for i in mine], nofile, begin_at=begin + remote.ahead_s)
                for remote, mine in dealt
            ]
            try:
                _follow(runs, [remote.name for remote, _ in dealt], begin, on_tick)
            except BaseException:
                for remote, _ in dealt:
                    with suppress(LoadError):
                        remote.shards.end()
                raise
        return _together(dealt, [run.result() for run in runs])

    def pids(self) -> list[int]:
        return []  # they end with their agents


def _follow(
    runs: Sequence[Future[Ran]], names: Sequence[str], begin: float, on_tick: Callable[[float], None] | None
) -> None:
    """Until all are done, or the first has failed; on_tick in this thread, with the seconds since `begin`."""
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


def _together(dealt: Sequence[tuple[Remote, list[int]]], rans: Sequence[Ran]) -> Ran:
    """What all left, in the order of the shards."""
    began = [ran.began_s - remote.ahead_s for (remote, _), ran in zip(dealt, rans, strict=True)]
    reports: dict[int, str] = {}
    outputs: dict[int, str] = {}
    commands: dict[int, list[str]] = {}
    for (_, mine), ran in zip(dealt, rans, strict=True):
        reports |= dict(zip(mine, ran.reports, strict=True))
        outputs |= dict(zip(mine, ran.outputs, strict=True))
        commands |= dict(zip(mine, ran.commands, strict=True))
    order = sorted(reports)
    return Ran(
        reports=[reports[i] for i in order],
        outputs=[outputs[i] for i in order],
        commands=[commands[i] for i in order],
        cpu_s=sum(ran.cpu_s for ran in rans),
        busiest_thread=max(ran.busiest_thread for ran in rans),
        began_s=min(began),
        places=[
            Place(
                remote.name,
                mine,
                ran.cpu_s,
                ran.busiest_thread,
                start - min(began),
                remote.link.round_trip_us,
                remote.link.bandwidth_mb_s,
            )
            for (remote, mine), ran, start in zip(dealt, rans, began, strict=True)
        ],
    )
