"""ab: so many requests by ApacheBench, as the first article asked them."""

from __future__ import annotations

from zoo.model.program import Case, Program
from zoo.scenarios.base import Asked, Scenario

TIERS = ("100",)
REQUESTS, QUICK_REQUESTS = 100_000, 5_000


def program(asked: Asked) -> Program:
    requests = QUICK_REQUESTS if asked.quick else REQUESTS
    return Program(cases=[Case(path="/")], tiers=list(asked.tiers or TIERS), duration_s=15, repeats=requests)


AB = Scenario(
    name="ab",
    title="ApacheBench, kept-alive connections, 13-byte answers",
    delay_s=0.0,
    settle=False,
    program=program,
    trial="ab",
)
