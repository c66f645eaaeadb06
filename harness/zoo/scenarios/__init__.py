"""All scenarios, one module or folder each, registered here and nowhere else."""

from zoo.core.scenario import SCENARIOS
from zoo.scenarios.ab import AB
from zoo.scenarios.bytes import BYTES
from zoo.scenarios.cold import COLD
from zoo.scenarios.cpu import CPU
from zoo.scenarios.heap import HEAP
from zoo.scenarios.held import HELD
from zoo.scenarios.hello import HELLO
from zoo.scenarios.jdbc import JDBC, JDBC_FLOOD
from zoo.scenarios.open import OPEN
from zoo.scenarios.pool_size import POOL_SIZE
from zoo.scenarios.ramp import RAMP
from zoo.scenarios.rate import RATE
from zoo.scenarios.scale import SCALE
from zoo.scenarios.service import SERVICE
from zoo.scenarios.sleep import SLEEP
from zoo.scenarios.slow_readers import SLOW_READERS
from zoo.scenarios.startup import STARTUP

ALL = (
    HELLO,
    SLEEP,
    POOL_SIZE,
    RAMP,
    HELD,
    HEAP,
    SCALE,
    SERVICE,
    CPU,
    BYTES,
    SLOW_READERS,
    OPEN,
    RATE,
    AB,
    STARTUP,
    COLD,
    JDBC,
    JDBC_FLOOD,
)
SCENARIOS.update({scenario.name: scenario for scenario in ALL})
