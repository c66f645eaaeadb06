"""Runs beside a server in its container's PID and network namespaces, and does there what the harness asks for.

`python -m zoo.runtime.agent.serve` reads one JSON request a line and writes one JSON answer a line:
`{"id", "op", "arguments"}`, `{"id", "value"}` or `{"id", "error": {"type", ...}}`. Requests overlap. It ends when its
input ends, and its generator processes with it. Its only libraries are pydantic and psutil.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Literal, TextIO

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from zoo.load.execute import STARTING, Executed, Job, LocalExecutor
from zoo.load.spec import LoadError
from zoo.sample import cgroup
from zoo.sample.instruments import READINGS, Instruments, NoiseRecording, Recording

JOB: TypeAdapter[Job] = TypeAdapter(Job)


class Agent:
    """The operations, by name; arguments and values are what JSON can carry."""

    def __init__(self, instruments: Instruments | None = None) -> None:
        self._here = instruments or Instruments()
        self._executor = LocalExecutor()
        self._handles = count(1)
        self._recordings: dict[int, Recording | NoiseRecording] = {}
        self.operations: Mapping[str, Callable[..., object]] = {
            **{name: getattr(self._here, name) for name in READINGS},
            "cgroup": cgroup.container_use,
            "begin": self._begin,
            "finish": self._finish,
            "nofile": self._executor.nofile,
            "printed": self._executor.printed,
            "execute": self._execute,
            "end": self.end,
        }

    def end(self) -> None:
        """End the generators that run."""
        with STARTING:
            self._kill()

    def close(self) -> None:
        """End the generators for good, none starts any more: its parent would be the namespace's first process."""
        STARTING.acquire()
        self._kill()

    def _kill(self) -> None:
        for pid in self._executor.pids():
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGKILL)

    def _begin(self, what: Literal["sample", "noise"], pid: int | None) -> int:
        handle = next(self._handles)
        self._recordings[handle] = getattr(self._here, what)(pid)
        return handle

    def _finish(self, handle: int, **known: Any) -> object:  # noqa: ANN401 (JSON's arguments of `stop`)
        return self._recordings.pop(handle).stop(**known)

    def _execute(self, job: object) -> Executed:
        return self._executor.execute(JOB.validate_python(job))


def answer(agent: Agent, line: str) -> str:
    """The answer to one request, an error among them; a request that is none of ours raises ValueError."""
    asked = json.loads(line)
    reply: dict[str, Any] = {"id": asked["id"]}
    try:
        value = agent.operations[asked["op"]](**asked["arguments"])
        reply["value"] = to_jsonable_python(value)
    except LoadError as error:
        reply["error"] = {"type": "LoadError", "kind": error.kind, "message": error.message, "output": error.output}
    except Exception as error:  # whatever it is, the harness must hear of it instead of waiting
        reply["error"] = {"type": type(error).__name__, "message": str(error)}
    return json.dumps(reply, separators=(",", ":"))


def serve(agent: Agent, requests: Iterable[str], answers: TextIO) -> None:
    """Until the requests end, and the agent with them."""
    writing = threading.Lock()

    def work(line: str) -> None:
        reply = answer(agent, line)
        with writing:
            answers.write(reply + "\n")
            answers.flush()

    for line in requests:
        threading.Thread(target=work, args=(line,), daemon=True).start()
    agent.close()


if __name__ == "__main__":
    serve(Agent(), sys.stdin, sys.stdout)
