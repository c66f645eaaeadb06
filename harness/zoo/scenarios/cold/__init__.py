"""cold: full load from the moment a server listens, on a JVM that was never warm."""

from dataclasses import replace

from zoo.scenarios.cold.spec import SPEC
from zoo.scenarios.cold.trial import measure_cell
from zoo.scenarios.cold.view import VIEW

COLD = replace(SPEC, trial=measure_cell, view=VIEW)
