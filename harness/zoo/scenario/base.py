"""The form of a scenario that wrk can drive."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """A request, how long the server is told to wait, and how it is warmed up.

    `delay_s` is the wait asked for in each request; `settle` says whether warm-up goes on until throughput is
    steady (it is what the scenario measures) or is a fixed, short one that only gets the code compiled. `speed` is
    False where the answer does not depend on how fast the machine is, so that an emulated host can give it too.
    """

    name: str
    title: str
    delay_s: float
    settle: bool
    speed: bool = True

    def path(self, delay_s: float, home: str = "/") -> str:
        """The request target; `home` is where the server gives its plain answer."""
        return f"/sleep?ms={round(delay_s * 1000)}" if self.delay_s else home

    def warm_path(self, home: str = "/") -> str:
        """The request target of warm-up: the same code, without the long wait."""
        return "/sleep?ms=1" if self.delay_s else home


def sleeping_window(delay_s: float, *, highest: bool) -> int:
    """Whole seconds of a sleeping cell: one cycle and a tenth; at the highest tier 2.5 cycles.

    The highest tier needs the slack because its connections are opened in one burst inside the window.
    """
    return math.ceil(delay_s * (2.5 if highest else 1.1))
