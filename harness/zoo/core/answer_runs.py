"""The runs that show whether a server should change its thread model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.core.plan import BenchOptions

COST, POOLS, WAITING, ARRIVING, COLD, HELD = "cost", "pools", "waiting", "arriving", "cold", "held"

PARTS = {"hello": COST, "pool-size": POOLS, "sleep": WAITING, "open": ARRIVING, "cold": COLD, "held": HELD}
"""The part of an answer that the records of each scenario fill."""


@dataclass(frozen=True)
class Question:
    """A question and the run that answers it, for any server."""

    name: str
    text: str
    options: BenchOptions


_COST = Question(
    COST,
    "What does it cost if no request waits?",
    # Both connection counts are quoted, so both get 10 windows.
    BenchOptions(scenarios=["hello"], tiers=["100", "1k"], rounds=3, duration_s=10),
)
POOL_QUESTIONS = (
    Question(
        POOLS,
        "How many of 1,000 requests that wait are served at once, and what would a larger pool do?",
        BenchOptions(scenarios=["pool-size"], tiers=["1k"], rounds=1, duration_s=4),
    ),
    _COST,
)
"""The questions of `make answer` for a server with virtual threads and a pool whose size can be set: 15 minutes.

The question that one round answers comes first. The cost takes most of the time.
"""

QUESTIONS = (
    Question(
        WAITING,
        "How many of 1,000 requests that wait are served at once?",
        BenchOptions(scenarios=["sleep"], tiers=["1k"], rounds=1),
    ),
    Question(
        ARRIVING,
        "How many of 400 requests a second that wait 4 s each are answered?",
        BenchOptions(scenarios=["open"], rounds=1, duration_s=20),
    ),
    _COST,
)
"""The questions for every other server."""
