"""The scenarios: one module or folder each, registered once, here."""

from zoo.plan.scenario import SCENARIOS
from zoo.scenarios.ab import AB
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

ALL = (HELLO, SLEEP, RAMP, HELD, HEAP, SCALE, SERVICE, CPU, BYTES, OPEN, RATE, AB, STARTUP)
SCENARIOS.update({scenario.name: scenario for scenario in ALL})
