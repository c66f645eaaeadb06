"""The options of an explanation, and the time it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from zoo.core.option import Option
from zoo.explain import memory_trial, trial
from zoo.explain.trial import WindowLoad
from zoo.scenarios.held import HELD

EXPLAINED = ("hello", "sleep")
"""Scenarios with one kind of request, so that CPU time per request has a meaning."""

MEMORY_WARMUP_S = 10.0


@dataclass(frozen=True)
class ExplainOptions:
    """The options of an explanation."""

    servers: Annotated[
        Sequence[str], Option("--server", "one server: its pool of threads is compared with its other thread model")
    ] = ()
    variants: Annotated[
        Sequence[str], Option("--variant", "two entries, such as java-tomcat:platform,java-tomcat:virtual")
    ] = ()
    vary: Annotated[
        Sequence[str],
        Option(
            "--vary", "one condition, such as heap=50m: one entry is compared with itself", separator=r",(?=[\w.-]+=)"
        ),
    ] = ()
    urls: Annotated[
        Sequence[str], Option("--target", "URLs of servers that already run", separator=",(?=https?://)")
    ] = ()
    pids: Annotated[Sequence[int], Option("--pid", "process IDs of the targets, one per target")] = ()
    scenario: Annotated[
        str,
        Option("--scenario", f"what each request does: {', '.join(EXPLAINED)}, or held: memory of waiting requests"),
    ] = "hello"
    connections: Annotated[str, Option("--connections", "number of open connections, such as 100 or 1k")] = "1k"
    windows: Annotated[
        int, Option("--windows", "profiled windows per entry; held: half as many fresh processes", minimum=2)
    ] = 6
    duration_s: Annotated[int, Option("--duration", "length of a window in seconds", minimum=1)] = 5
    warmup_s: Annotated[int, Option("--warmup", "seconds of warm-up per entry", minimum=4)] = 40

    @property
    def is_memory(self) -> bool:
        """Return True if memory is explained instead of CPU time."""
        return self.scenario == HELD.name

    @property
    def rounds(self) -> int:
        """The number of fresh processes per entry in which memory is measured."""
        return max(2, self.windows // 2)

    @property
    def start_warmup_s(self) -> float:
        """The warm-up of a process whose memory is measured, in seconds."""
        return min(self.warmup_s, MEMORY_WARMUP_S)

    def load(self, connections: int, delay_path: str | None) -> WindowLoad:
        """Return the load of windows in which CPU time is measured."""
        return WindowLoad(delay_path, connections, self.duration_s, self.windows, self.warmup_s)

    @property
    def seconds(self) -> float:
        """About how many seconds the measurement takes."""
        if self.is_memory:
            return memory_trial.seconds(self.rounds, self.start_warmup_s)
        return trial.seconds(self.load(1, None))
