"""Commands executed by the agent, next to the server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from pydantic import TypeAdapter

from zoo.load.execute import CONVERT_S, TICK_S, Executed, Job, Tick
from zoo.load.spec import LoadError
from zoo.runtime.agent.client import ANY, INT, TEXT, AgentClient

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
