"""A/A: an entry that is measured twice a round, under two ids, so that what differs is noise. Pure."""

from __future__ import annotations

SUFFIX = ".again"
"""No variant's name contains a dot, and the id stays fit for file names, links and Markdown."""


def twin(entry_id: str) -> str:
    """The second id of an entry."""
    return entry_id + SUFFIX


def is_twin(entry_id: str) -> bool:
    return entry_id.endswith(SUFFIX)


def original(entry_id: str) -> str:
    """The entry's own id, of either of its ids."""
    return entry_id.removesuffix(SUFFIX)
