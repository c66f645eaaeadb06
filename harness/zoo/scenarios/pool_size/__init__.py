"""pool-size: requests that all wait at once, by pool size and with virtual threads. Would a larger pool do?"""

from dataclasses import replace

from zoo.scenarios.pool_size.spec import SPEC
from zoo.scenarios.pool_size.trial import measure_cell
from zoo.scenarios.pool_size.view import VIEW

POOL_SIZE = replace(SPEC, trial=measure_cell, view=VIEW)
