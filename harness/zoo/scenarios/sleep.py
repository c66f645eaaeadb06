"""sleep: every request waits the way its thread model waits. Which entries serve all, and with how much memory?"""

from zoo.core.scenario import Scenario

SLEEP = Scenario(
    name="sleep",
    title="every request waits, then 13 bytes",
    delay_s=10.0,
    speed=False,
    holds=True,
    once=True,
)
