"""held: every request waits at more and more connections; what does a held connection cost, and is it given back?"""

from dataclasses import replace

from zoo.scenarios.held.spec import SPEC
from zoo.scenarios.held.view import VIEW

HELD = replace(SPEC, view=VIEW)
