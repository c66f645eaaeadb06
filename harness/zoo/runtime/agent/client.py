"""The harness's end of the agent: instruments that work where the agent runs."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from itertools import count
from typing import IO, Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from zoo.load.spec import LoadError
from zoo.sample.jvm import InfoError

ANSWER_S = 30.0
LINGER_S = 90.0
ERROR_LINES = 20

T = TypeVar("T")

ANY: TypeAdapter[Any] = TypeAdapter(Any)
INT: TypeAdapter[int] = TypeAdapter(int)
INT_OR_NONE: TypeAdapter[int | None] = TypeAdapter(int | None)
TEXT: TypeAdapter[str] = TypeAdapter(str)


class AgentClient:
    """Speaks with one agent over a process's standard streams. A lost agent is a `LoadError` of kind `agent_lost`.

    `answer_s` is how long an answer may take where nothing else is said; `last_words` what to show when none comes.
    `errors` is read here and nowhere else; its last lines say why an agent was lost.
    """

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        answer_s: float = ANSWER_S,
        last_words: Callable[[], str] = lambda: "",
        errors: IO[bytes] | None = None,
    ) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self.answer_s = answer_s
        self._child = child
        self.last_words = last_words
        self._ids = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._lost = False
        self._errors: deque[str] = deque(maxlen=ERROR_LINES)
        self._listener = threading.Thread(target=self._read_errors, args=[errors], name="agent errors", daemon=True)
        self._listener.start()
        self._reader = threading.Thread(target=self._read, name="agent", daemon=True)
        self._reader.start()

    def call(self, kind: TypeAdapter[T], operation: str, within_s: float | None = None, **arguments: object) -> T:
        """Ask and wait; the value is validated as `kind`."""
        return self.value(kind, self.ask(operation, **arguments), operation, within_s)

    def ask(self, operation: str, **arguments: object) -> Future[Any]:
        """Ask without waiting."""
        number = next(self._ids)
        future: Future[Any] = Future()
        line = json.dumps({"id": number, "op": operation, "arguments": to_jsonable_python(arguments)})
        with self._lock:
            if self._lost:
                raise self._gone(operation)
            self._waiting[number] = future
            try:
                assert self._child.stdin is not None
                self._child.stdin.write(line.encode() + b"\n")
                self._child.stdin.flush()
            except OSError:
                raise self._gone(operation) from None
        return future

    def value(self, kind: TypeAdapter[T], future: Future[Any], operation: str, within_s: float | None = None) -> T:
        """The answer to what was asked."""
        limit_s = self.answer_s if within_s is None else within_s
        try:
            reply = future.result(limit_s)
        except FutureTimeout:
            message = f"the agent did not answer `{operation}` within {limit_s:.0f} s"
            raise LoadError("agent_lost", message, self.last_words()) from None
        if reply is None:
            raise self._gone(operation)
        if "error" in reply:
            raise _raised(operation, reply["error"])
        return kind.validate_json(json.dumps(reply["value"]))

    def close(self) -> None:
        """The agent ends when its input does."""
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(5.0)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._reader.join()
        assert self._child.stdout is not None
        self._child.stdout.close()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if not line.endswith(b"\n"):
                break  # cut off by the agent's end
            reply = json.loads(line)
            with self._lock:
                future = self._waiting.pop(reply["id"])
            future.set_result(reply)
        with self._lock:
            self._lost = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for future in left:
            future.set_result(None)

    def _read_errors(self, errors: IO[bytes] | None) -> None:
        if errors is not None:
            with errors:
                self._errors.extend(line.decode(errors="replace").rstrip() for line in errors)

    def _gone(self, operation: str) -> LoadError:
        time.sleep(0.3)  # a server that took the agent along has ended by then, and is seen to have
        self._listener.join(1.0)
        reason = f": {self._errors[-1]}" if self._errors else ""
        message = f"the agent ended before it answered `{operation}`{reason}"
        return LoadError("agent_lost", message, "\n".join(self._errors) or self.last_words())


def _raised(operation: str, error: dict[str, str]) -> Exception:
    """The agent's exception, as the caller would have met it here."""
    message = error["message"]
    if error["type"] == "LoadError":
        return LoadError(error["kind"], message, error["output"])
    if error["type"] == "InfoError":
        return InfoError(message)
    if error["type"] == "ProcessLookupError":
        return ProcessLookupError(message)
    return LoadError("agent_failed", f"the agent failed at `{operation}`: {error['type']}: {message}")
