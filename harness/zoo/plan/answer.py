"""The runs that tell whether a server should change its thread model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.plan.request import Wish

COST, WAITING, ARRIVING = "cost", "waiting", "arriving"


@dataclass(frozen=True)
class Question:
    """A question and the run that answers it, of whichever server."""

    name: str
    asks: str
    wish: Wish


QUESTIONS = (
    Question(
        WAITING,
        "How many of 1,000 requests that wait are served at once?",
        Wish(scenarios=["sleep"], tiers=["1k"], rounds=1),
    ),
    Question(
        ARRIVING,
        "How many of 400 requests a second that wait 4 s each are answered?",
        Wish(scenarios=["open"], rounds=1, duration_s=20),
    ),
    Question(
        COST,
        "What does it cost where nothing waits?",
        # 12 windows at both connection counts, as both are quoted
        Wish(scenarios=["hello"], tiers=["100", "1k"], rounds=3, duration_s=12),
    ),
)
"""About ten minutes for a server of two variants: what is certain after one round first, most time for the cost."""
