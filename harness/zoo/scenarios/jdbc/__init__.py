"""Database access by executor: the scenarios that run java-jdbc's benchmark and show its results."""

from dataclasses import replace

from zoo.scenarios.jdbc.spec import FLOOD_SPEC, SPEC
from zoo.scenarios.jdbc.trial import JdbcSession
from zoo.scenarios.jdbc.view import FLOOD_VIEW, VIEW

JDBC = replace(SPEC, trial=JdbcSession.cell, view=VIEW)
JDBC_FLOOD = replace(FLOOD_SPEC, trial=JdbcSession.flood, view=FLOOD_VIEW)
