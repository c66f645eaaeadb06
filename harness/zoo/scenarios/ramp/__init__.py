"""ramp: all connections start at once on an idle server. How soon does it serve all of them?"""

from dataclasses import replace

from zoo.scenarios.ramp.spec import SPEC
from zoo.scenarios.ramp.trial import measure_cell
from zoo.scenarios.ramp.view import VIEW

RAMP = replace(SPEC, trial=measure_cell, view=VIEW)
