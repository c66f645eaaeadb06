"""startup: the time from starting a process to its first good response, and its memory at rest after that."""

from dataclasses import replace

from zoo.scenarios.startup.spec import SPEC
from zoo.scenarios.startup.trial import measure_cell
from zoo.scenarios.startup.view import VIEW

STARTUP = replace(SPEC, trial=measure_cell, view=VIEW)
