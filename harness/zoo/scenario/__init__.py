"""What can be asked of an entry: one file a scenario."""

from zoo.scenario.base import Scenario
from zoo.scenario.hello import HELLO
from zoo.scenario.sleep import SLEEP

SCENARIOS: dict[str, Scenario] = {s.name: s for s in (HELLO, SLEEP)}

__all__ = ["SCENARIOS", "Scenario"]
