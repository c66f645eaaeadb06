"""What can be asked of an entry: one file a scenario."""

from zoo.scenario.ab import AB
from zoo.scenario.base import Scenario
from zoo.scenario.bytes import BYTES
from zoo.scenario.cpu import CPU
from zoo.scenario.heap import HEAP
from zoo.scenario.held import HELD
from zoo.scenario.hello import HELLO
from zoo.scenario.open import OPEN
from zoo.scenario.ramp import RAMP
from zoo.scenario.rate import RATE
from zoo.scenario.scale import SCALE
from zoo.scenario.service import SERVICE
from zoo.scenario.sleep import SLEEP
from zoo.scenario.startup import STARTUP

SCENARIOS: dict[str, Scenario] = {
    s.name: s for s in (HELLO, SLEEP, RAMP, HELD, HEAP, SCALE, SERVICE, CPU, BYTES, OPEN, RATE, AB, STARTUP)
}
DEFAULT = (HELLO.name, SLEEP.name)
"""What a run asks when no scenario is named."""


def is_trial(name: str) -> bool:
    """True of a scenario whose records have figures of their own, so that they are no rows of the tables of loads."""
    return name in SCENARIOS and SCENARIOS[name].trial is not None


def holds(name: str) -> bool:
    """True of a scenario that asks what a held connection costs."""
    return name in SCENARIOS and SCENARIOS[name].holds


__all__ = ["DEFAULT", "SCENARIOS", "Scenario", "holds", "is_trial"]
