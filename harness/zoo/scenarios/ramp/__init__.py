"""ramp: all connections begin at once on a server at rest; how soon are all of them served?"""

from dataclasses import replace

from zoo.scenarios.ramp.spec import SPEC
from zoo.scenarios.ramp.trial import measure_cell
from zoo.scenarios.ramp.view import VIEW

RAMP = replace(SPEC, trial=measure_cell, view=VIEW)
