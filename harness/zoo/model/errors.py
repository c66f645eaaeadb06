"""The errors that a person is told of or that are recorded with a cell."""

from __future__ import annotations

import re


class UserError(Exception):
    """A mistake, or a lack of the machine, that a person can mend; the message says how and needs no stack trace."""


class BenchError(UserError):
    """Something a person can mend before a run; the message says how."""


class RuntimeFailure(Exception):
    """A server that did not start, crashed or would not stop; carries its log's last lines.

    kind: `not_started` · `contract` · `no_effect` · `crashed` · `no_jdk` · `no_port` · `no_image` · `engine` ·
    `rebuilt`.
    """

    def __init__(self, kind: str, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log_tail = log_tail


_SAYS_NOTHING = re.compile(
    r"\s*$|\s+at |\s+\.\.\. \d+ more|note: run with `RUST_BACKTRACE|.* VM warning: "
    r"|Error: (Could not create the Java Virtual Machine|A fatal exception has occurred)|Error occurred during init"
)
"""Lines that a JVM or a Rust program prints around the one that says why it ended."""


def telling(log: str) -> list[str]:
    """Return the lines of a log without those that say nothing of why a program ended."""
    return [line.strip() for line in log.splitlines() if not _SAYS_NOTHING.match(line)]


def reason(log: str) -> str:
    """Return the line of a log that says why a program ended: a JVM's first error, else the last line."""
    lines = telling(log)
    return next((line for line in lines if line.startswith("Error: ")), lines[-1] if lines else "")


def never_listened(code: int, log_tail: str) -> RuntimeFailure:
    """Of a server that ended before it listened, with the line of its log that says why."""
    why = reason(log_tail)
    message = f"ended with exit code {code} before it listened" + (f": {why}" if why else "")
    return RuntimeFailure("not_started", message, log_tail)
