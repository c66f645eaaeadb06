"""What can be asked of an entry: one file a scenario."""

from zoo.scenarios.ab import AB
from zoo.scenarios.base import Scenario
from zoo.scenarios.bytes import BYTES
from zoo.scenarios.cpu import CPU
from zoo.scenarios.heap import HEAP
from zoo.scenarios.held import HELD
from zoo.scenarios.hello import HELLO
from zoo.scenarios.open import OPEN
from zoo.scenarios.ramp import RAMP
from zoo.scenarios.rate import RATE
from zoo.scenarios.scale import SCALE
from zoo.scenarios.service import SERVICE
from zoo.scenarios.sleep import SLEEP
from zoo.scenarios.startup import STARTUP

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
