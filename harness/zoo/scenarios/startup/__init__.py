"""startup: from the start of a process to its first good answer, and the memory it then has at rest."""

from dataclasses import replace

from zoo.scenarios.startup.spec import SPEC
from zoo.scenarios.startup.trial import measure_cell
from zoo.scenarios.startup.view import VIEW

STARTUP = replace(SPEC, trial=measure_cell, view=VIEW)
