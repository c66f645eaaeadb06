"""Connection counts by the names that a person types."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zoo.model.errors import UserError

UNITS = {"k": 1_000, "M": 1_000_000}


class PlanError(UserError):
    """A plan that cannot be made from the words given; the message says what was expected."""


@dataclass(frozen=True)
class Tier:
    """A connection count by the name a person types: `100`, `1k`, `25k`."""

    name: str
    connections: int


def tier(name: str) -> Tier:
    """Parse a tier's name; `PlanError` for anything that is not a whole number of connections."""
    found = re.fullmatch(r"[1-9]\d{0,6}[kK]?|[1-9]M", name.strip())
    if not found:
        raise PlanError(f'tier must be a connection count such as 100, 1k or 25k, got "{name}"')
    shown = found.group(0).replace("K", "k")
    return Tier(shown, count(shown))


def count(name: str) -> int:
    """The connections of a tier by its own name."""
    number, unit = (name[:-1], name[-1]) if name[-1] in UNITS else (name, "")
    return int(number) * UNITS.get(unit, 1)
