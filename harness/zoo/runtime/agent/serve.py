"""The agent: runs next to a server, in its container's PID and network namespaces, and executes the harness's requests.

`python -m zoo.runtime.agent.serve` reads one JSON request per line, `{"id", "op", "arguments"}`. It writes one JSON
response per line, `{"id", "value"}` or `{"id", "error": {"type", ...}}`. Requests may overlap. When its input ends, the
agent ends, and so do its generator processes. Its only libraries are pydantic and psutil.
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

from zoo.load.execute import STARTING, ExecutionResult, Job, LocalExecutor
from zoo.load.spec import LoadError
from zoo.sample import cgroup
from zoo.sample.instruments import READINGS, Instruments, NoiseRecording, Recording

JOB: TypeAdapter[Job] = TypeAdapter(Job)


class Agent:
    """The agent's operations, by name; arguments and values are data that JSON can represent."""

    def __init__(self, instruments: Instruments | None = None) -> None:
        self._instruments = instruments or Instruments()
        self._executor = LocalExecutor()
        self._handles = count(1)
        self._recordings: dict[int, Recording | NoiseRecording] = {}
        self.operations: Mapping[str, Callable[..., object]] = {
            **{name: getattr(self._instruments, name) for name in READINGS},
            "cgroup": cgroup.container_use,
            "begin": self._begin,
            "finish": self._finish,
            "nofile": self._executor.nofile,
            "printed": self._executor.printed,
            "execute": self._execute,
            "end": self.end,
        }

    def end(self) -> None:
        """Kill the running generators."""
        with STARTING:
            self._kill()

    def close(self) -> None:
        """Kill the running generators and never start another.

        The parent of a later one would be the namespace's first process.
        """
        STARTING.acquire()
        self._kill()

    def _kill(self) -> None:
        for pid in self._executor.pids():
            with suppress(ProcessLookupError):  # the process may have just ended
                os.kill(pid, signal.SIGKILL)

    def _begin(self, what: Literal["sample", "noise"], pid: int | None) -> int:
        handle = next(self._handles)
        self._recordings[handle] = getattr(self._instruments, what)(pid)
        return handle

    def _finish(self, handle: int, known: list[float | None]) -> object:
        return self._recordings.pop(handle).stop(*known)

    def _execute(self, job: object) -> ExecutionResult:
        return self._executor.execute(JOB.validate_python(job))


def answer(agent: Agent, line: str) -> str:
    """Return the response to one request, which may be an error; a malformed request raises `ValueError`."""
    request = json.loads(line)
    reply: dict[str, Any] = {"id": request["id"]}
    try:
        value = agent.operations[request["op"]](**request["arguments"])
        reply["value"] = to_jsonable_python(value)
    except LoadError as error:
        reply["error"] = {"type": "LoadError", "kind": error.kind, "message": error.message, "output": error.output}
    except Exception as error:  # the harness must receive every error; otherwise it would wait
        reply["error"] = {"type": type(error).__name__, "message": str(error)}
    return json.dumps(reply, separators=(",", ":"))


def serve(agent: Agent, requests: Iterable[str], answers: TextIO) -> None:
    """Process requests until they end, then close the agent."""
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
