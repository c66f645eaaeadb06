"""sleep: every request waits in the way of its thread model; who serves all of them, and at what memory?"""

from zoo.plan.scenario import Scenario

SLEEP = Scenario(
    name="sleep",
    title="every request waits, then 13 bytes",
    delay_s=10.0,
    speed=False,
    holds=True,
    once=True,
)
