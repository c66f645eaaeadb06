"""Ids of entries in a run: `java-tomcat:virtual` and the ids that a plan derives from it.

`java-tomcat:virtual@heap=50m` runs under an additional condition, `java-tomcat:virtual.again` is the same entry
measured twice (A/A), and `target:9000` is a server that something else started.
"""

from __future__ import annotations

CONDITION_MARK = "@"
"""Separator before a condition's name; no name of a server or variant contains it."""


def with_condition(entry_id: str, name: str) -> str:
    return f"{entry_id}{CONDITION_MARK}{name}"


def condition_name(entry_id: str) -> str:
    """Return the name of the condition; empty for the run's own condition."""
    return without_aa(entry_id).partition(CONDITION_MARK)[2]


def base_id(entry_id: str) -> str:
    """Return the entry's own id, without condition and A/A suffix."""
    return without_aa(entry_id).partition(CONDITION_MARK)[0]


def server_name(entry_id: str) -> str:
    return entry_id.partition(":")[0]


TARGET = "target"
"""Server name in a target's id. The target's variant is its port, and no variant of the zoo can have such a name."""


def is_target(entry_id: str) -> bool:
    """Return True if something else started the server."""
    name, _, port = base_id(entry_id).partition(":")
    return name == TARGET and port.isdecimal()


AA_SUFFIX = ".again"
"""Suffix of an entry that is measured a second time (A/A).

No variant's name contains a dot, and the id remains usable in file names, links and Markdown.
"""


def aa_id(entry_id: str) -> str:
    return entry_id + AA_SUFFIX


def is_aa(entry_id: str) -> bool:
    return entry_id.endswith(AA_SUFFIX)


def without_aa(entry_id: str) -> str:
    """Return the id without the A/A suffix."""
    return entry_id.removesuffix(AA_SUFFIX)
