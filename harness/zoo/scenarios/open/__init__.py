"""open: 400 new users per second, no matter what the server does. Who gets a response in time?"""

from dataclasses import replace

from zoo.scenarios.open.spec import SPEC
from zoo.scenarios.open.trial import measure_cell
from zoo.scenarios.open.view import VIEW

OPEN = replace(SPEC, trial=measure_cell, view=VIEW)
