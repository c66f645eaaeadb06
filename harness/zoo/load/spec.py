"""What a load generator is to do, and why it gave no outcome. Needs no library, as the agent uses it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from zoo.model.errors import UserError


@dataclass(frozen=True)
class LoadSpec:
    url: str
    connections: int
    duration_s: float
    timeout_s: float  # at least the duration, or late answers go missing from the histogram
    threads: int = 2  # of each generator
    addresses: tuple[str, ...] = ()  # the threads send to these one after the other; empty: to the URL's
    census: bool = False  # count the responses that are not 2xx, which slows wrk down: for loads that are not measured

    @property
    def timeout_whole_s(self) -> int:
        """wrk knows whole seconds only."""
        return math.ceil(self.timeout_s)


class LoadError(UserError):
    """The generator gave no outcome that may be used.

    kind: `spec_invalid` · `generator_missing` · `generator_failed` (exit code, no report) · `generator_hung` ·
    `generator_cut` (it stopped before its time) · `clock_set` (its time and the harness's are not the same) ·
    `generators_apart` (several hosts did not begin together) ·
    `bad_responses` (too many were redirects, errors or had another body) ·
    `histogram_invalid` (the report contradicts itself).
    """

    def __init__(self, kind: str, message: str, output: str = "") -> None:
        super().__init__(f"{message}\n{output}" if output else message)
        self.kind = kind
        self.message = message
        self.output = output  # the last lines the tool printed
