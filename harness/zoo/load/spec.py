"""The specification of a load, and the reasons why it gave no result.

This module needs no library, because the agent uses it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from zoo.core.errors import UserError


@dataclass(frozen=True)
class LoadSpec:
    url: str
    connections: int
    duration_s: float
    timeout_s: float  # at least the duration, otherwise late responses are missing from the histogram
    threads: int = 2  # per generator
    addresses: tuple[str, ...] = ()  # assigned to the threads in rotation; empty: the URL's address
    census: bool = False  # count the responses that are not 2xx, only in loads not measured because it slows wrk down
    by_second: bool = False  # count the responses of each second

    @property
    def timeout_whole_s(self) -> int:
        """Return the timeout rounded up, because wrk accepts only whole seconds."""
        return math.ceil(self.timeout_s)


class LoadError(UserError):
    """A load without a usable result.

    `kind` is one of: `spec_invalid` · `generator_missing` · `generator_failed` (exit code, no report) ·
    `generator_hung` · `generator_cut` (it stopped too early) · `clock_set` (its time and the harness's differ) ·
    `generators_apart` (several hosts did not start together) ·
    `bad_responses` (too many were redirects, errors or had another body) ·
    `histogram_invalid` (the report contradicts itself).
    """

    def __init__(self, kind: str, message: str, output: str = "") -> None:
        super().__init__(f"{message}\n{output}" if output else message)
        self.kind = kind
        self.message = message
        self.output = output  # the last lines that the tool printed
