"""open: a new user 400 times a second, whatever the server does; who is answered in time?"""

from dataclasses import replace

from zoo.scenarios.open.spec import SPEC
from zoo.scenarios.open.trial import measure_cell
from zoo.scenarios.open.view import VIEW

OPEN = replace(SPEC, trial=measure_cell, view=VIEW)
