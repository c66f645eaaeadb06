"""The errors that a person is told of or that are recorded with a cell."""

from __future__ import annotations


class UserError(Exception):
    """A mistake, or a lack of the machine, that a person can mend; the message says how and needs no stack trace."""


class BenchError(UserError):
    """Something a person can mend before a run; the message says how."""


class RuntimeFailure(Exception):
    """A server that did not start, crashed or would not stop; carries its log's last lines.

    kind: `not_started` · `contract` · `no_effect` · `crashed` · `no_jdk` · `no_port` · `no_image` · `engine`.
    """

    def __init__(self, kind: str, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log_tail = log_tail


def never_listened(code: int, log_tail: str) -> RuntimeFailure:
    """Of a server that ended before it listened, with the last line of its log, which says why."""
    last = log_tail.rpartition("\n")[2]
    message = f"ended with exit code {code} before it listened" + (f": {last}" if last else "")
    return RuntimeFailure("not_started", message, log_tail)
