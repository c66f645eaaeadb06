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
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, TextIO

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from zoo.host import facts
from zoo.load.ab import AbOutcome, AbSpec, LocalAb
from zoo.load.children import STARTING
from zoo.load.shards import LocalShards, Ran, Shard
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.vegeta import Attack, Attacked, LocalVegeta
from zoo.model.noise import Noise
from zoo.model.samples import Samples
from zoo.sample import cgroup
from zoo.sample.contract_probe import hello_fault
from zoo.sample.instruments import LocalInstruments, NoiseRecording, Recording
from zoo.sample.jvm import Info, fetch_info
from zoo.sample.link import link
from zoo.sample.response import responses

SPEC: TypeAdapter[LoadSpec] = TypeAdapter(LoadSpec)
SHARDS: TypeAdapter[list[Shard]] = TypeAdapter(list[Shard])
ATTACK: TypeAdapter[Attack] = TypeAdapter(Attack)
AB_SPEC: TypeAdapter[AbSpec] = TypeAdapter(AbSpec)


class Agent:
    """The operations, by name; arguments and values are what JSON can carry."""

    def __init__(self, instruments: LocalInstruments | None = None, shards: LocalShards | None = None) -> None:
        here = instruments or LocalInstruments()
        self._here = here
        self._wrk = shards or LocalShards()
        self._vegeta = LocalVegeta()
        self._ab = LocalAb()
        self._handles = count(1)
        self._samplers: dict[int, Recording] = {}
        self._noises: dict[int, NoiseRecording] = {}
        self.operations: Mapping[str, Callable[..., object]] = {
            "hello_fault": hello_fault,
            "info": self._info,
            "responses": responses,
            "snapshot": here.snapshot,
            "count_anew": here.count_anew,
            "sample": self._sample,
            "samples": self._samples,
            "noise": self._noise,
            "noise_of": self._noise_of,
            "counters": here.counters,
            "cgroup": cgroup.container_use,
            "established": here.established,
            "unclosed": here.unclosed,
            "closed": here.closed,
            "settle_sockets": here.settle_sockets,
            "canary": here.canary,
            "available_kb": here.available_kb,
            "seconds_a_round": here.seconds_a_round,
            "cpu_s": time.process_time,
            "clock": time.monotonic,
            "link": link,
            "limits": facts.read_limits,
            "facts": facts.gather,
            "wrk_version": self._wrk.version,
            "wrk_nofile": self._wrk.nofile,
            "wrk": self._run_wrk,
            "vegeta": self._run_vegeta,
            "ab": self._run_ab,
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
        for pid in [*self._wrk.pids(), *self._vegeta.pids(), *self._ab.pids()]:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGKILL)

    def _info(self, url: str, timeout: float) -> Info:
        return fetch_info(url, timeout)

    def _sample(self, pid: int) -> int:
        handle = next(self._handles)
        self._samplers[handle] = self._here.sample(pid)
        return handle

    def _samples(self, handle: int) -> Samples:
        return self._samplers.pop(handle).stop()

    def _noise(self) -> int:
        handle = next(self._handles)
        self._noises[handle] = self._here.noise()
        return handle

    def _noise_of(
        self, handle: int, server_cpu_s: float | None, generator_cpu_s: float, runnable: float | None
    ) -> Noise:
        return self._noises.pop(handle).stop(server_cpu_s, generator_cpu_s, runnable=runnable)

    def _run_wrk(self, spec: object, shards: object, nofile: int, begin_at: float | None = None) -> Ran:
        if begin_at is not None:
            time.sleep(max(0.0, begin_at - time.monotonic()))
        return self._wrk.run(SPEC.validate_python(spec), SHARDS.validate_python(shards), nofile)

    def _run_vegeta(self, attack: object) -> Attacked:
        return self._vegeta.run(ATTACK.validate_python(attack))

    def _run_ab(self, spec: object) -> AbOutcome:
        return self._ab.run(AB_SPEC.validate_python(spec))


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
