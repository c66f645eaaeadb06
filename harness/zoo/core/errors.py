"""Errors that are shown to a person or recorded with a cell."""

from __future__ import annotations

import re


class UserError(Exception):
    """A mistake, or a limit of the machine, that a person can fix.

    The message names the fix, so no stack trace is needed.
    """


class BenchError(UserError):
    """A problem that a person can fix before a run; the message says how."""


class RuntimeFailure(Exception):
    """A server that did not start, crashed or did not stop, with the last lines of its log.

    `kind` is one of `not_started`, `contract`, `no_effect`, `crashed`, `no_jdk`, `no_port`, `no_image`, `engine` and
    `rebuilt`.
    """

    def __init__(self, kind: str, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log_tail = log_tail


_UNINFORMATIVE = re.compile(
    r"\s*$|\s+at |\s+\.\.\. \d+ more|note: run with `RUST_BACKTRACE|.* VM warning: "
    r"|Error: (Could not create the Java Virtual Machine|A fatal exception has occurred)|Error occurred during init"
)
"""Lines that a JVM or a Rust program prints around the line that gives the reason for its end."""


def informative_lines(log: str) -> list[str]:
    """Return the lines of a log that may explain why a program ended."""
    return [line.strip() for line in log.splitlines() if not _UNINFORMATIVE.match(line)]


def find_reason(log: str) -> str:
    """Return the line of a log that explains why a program ended: a JVM's first error, otherwise the last line."""
    lines = informative_lines(log)
    return next((line for line in lines if line.startswith("Error: ")), lines[-1] if lines else "")


def start_failure(code: int, log_tail: str) -> RuntimeFailure:
    """Return the failure of a server that ended before it listened, with the log line that gives the reason."""
    why = find_reason(log_tail)
    message = f"ended with exit code {code} before it listened" + (f": {why}" if why else "")
    return RuntimeFailure("not_started", message, log_tail)
