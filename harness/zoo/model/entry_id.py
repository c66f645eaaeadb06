"""Ids of entries in a run: `java-tomcat:virtual` and what a plan makes of it.

`java-tomcat:virtual@heap=50m` is under a further condition, `java-tomcat:virtual.again` is measured a second time for
A/A, and `target:9000` is a server that something else started.
"""

from __future__ import annotations

MARK = "@"
"""No server's or variant's name contains it."""


def varied(entry_id: str, name: str) -> str:
    return f"{entry_id}{MARK}{name}"


def name_of(entry_id: str) -> str:
    """The name of the condition; empty for the run's own."""
    return original(entry_id).partition(MARK)[2]


def plain(entry_id: str) -> str:
    """The entry's own id, under whatever condition and however often it is measured."""
    return original(entry_id).partition(MARK)[0]


def server_of(entry_id: str) -> str:
    return entry_id.partition(":")[0]


TARGET = "target"
"""Stands for the server in a target's id; its variant is the port, which no variant of the zoo's can be called."""


def is_target(entry_id: str) -> bool:
    """True of a server that something else started."""
    name, _, port = plain(entry_id).partition(":")
    return name == TARGET and port.isdecimal()


SUFFIX = ".again"
"""No variant's name contains a dot, and the id stays fit for file names, links and Markdown."""


def twin(entry_id: str) -> str:
    return entry_id + SUFFIX


def is_twin(entry_id: str) -> bool:
    return entry_id.endswith(SUFFIX)


def original(entry_id: str) -> str:
    """The entry's own id, of either of its ids."""
    return entry_id.removesuffix(SUFFIX)
