"""Entries under a second condition: `java-tomcat:virtual@heap=50m` beside `java-tomcat:virtual`. Pure."""

from __future__ import annotations

from zoo.twins import original

MARK = "@"
"""No server's or variant's name contains it."""


def varied(entry_id: str, name: str) -> str:
    """The entry's id under the condition of that name."""
    return f"{entry_id}{MARK}{name}"


def name_of(entry_id: str) -> str:
    """The name of the condition; empty for the run's own."""
    return original(entry_id).partition(MARK)[2]


def plain(entry_id: str) -> str:
    """The entry's own id, under whatever condition and however often it is measured."""
    return original(entry_id).partition(MARK)[0]
