"""The workload of `held`. Pure."""

from zoo.model.run import Case, Program
from zoo.plan.scenario import HELD_WAITS, Asked, Scenario, sleeping_window

TIERS = ("1k", "5k", "10k", "15k", "25k")
"""No 20k: where a process may hold 20,000 descriptors it would run at the count of 25k."""
DELAY_S, QUICK_S = 10, 2
REST_S, QUICK_REST_S = 30.0, 5.0


def program(asked: Asked) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    return Program(
        cases=[Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1")],
        tiers=list(asked.tiers or TIERS),
        duration_s=sleeping_window(delay_s, HELD_WAITS),
        rest_s=QUICK_REST_S if asked.quick else REST_S,
    )


SPEC = Scenario(
    name="held",
    title="every request waits, at a rising number of connections; then a rest",
    delay_s=DELAY_S,
    speed=False,
    holds=True,
    program=program,
)
