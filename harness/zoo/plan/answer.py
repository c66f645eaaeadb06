"""The runs that tell whether a server should change its thread model. Pure."""

from __future__ import annotations

from zoo.model.matrix import Matrix, MatrixPart
from zoo.scenarios.hello import HELLO
from zoo.scenarios.open import OPEN
from zoo.scenarios.sleep import SLEEP

COST, WAITING, ARRIVING = "cost", "waiting", "arriving"

ANSWER = Matrix(
    parts=[
        MatrixPart(
            name=WAITING,
            asks="How many of 1,000 requests that wait are served at once?",
            scenario=SLEEP.name,
            tiers=["1k"],
            rounds=1,
        ),
        MatrixPart(
            name=ARRIVING,
            asks="How many of 400 requests a second that wait 4 s each are answered?",
            scenario=OPEN.name,
            rounds=1,
            duration_s=20,
        ),
        MatrixPart(
            name=COST,
            asks="What does it cost where nothing waits?",
            scenario=HELLO.name,
            tiers=["100", "1k"],
            rounds=3,
            duration_s=12,  # 12 windows at both connection counts, as both are quoted
        ),
    ]
)
"""About ten minutes for a server of two variants: what is certain after one round first, most time for the cost."""
