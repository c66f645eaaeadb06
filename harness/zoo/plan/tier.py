"""Connection counts by the names that a person types."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zoo.model.errors import UserError


class PlanError(UserError):
    """A plan that cannot be made from the words given; the message says what was expected."""


@dataclass(frozen=True)
class Tier:
    """A connection count by the name a person types: `100`, `1k`, `25k`."""

    name: str
    connections: int


def tier(name: str) -> Tier:
    """Parse a tier's name; `PlanError` for anything that is not a whole number of connections."""
    found = re.fullmatch(r"([1-9]\d{0,6})(k?)", name.strip().lower())
    if not found:
        raise PlanError(f'tier must be a connection count such as 100, 1k or 25k, got "{name}"')
    return Tier(found.group(0), int(found.group(1)) * (1000 if found.group(2) else 1))
