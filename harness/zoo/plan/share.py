"""Shares as a person types them. Pure."""

from __future__ import annotations

import re

from zoo.plan.tier import PlanError


def half_width(text: str) -> float:
    """Read a precision; `PlanError` for what is none."""
    return percent(text, "a precision")


def percent(text: str, what: str) -> float:
    """Read `3%` or `0.03`; `PlanError` for anything outside 0.1–50 %."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(found.group(1)) / (100 if found.group(2) else 1) if found else 0.0
    if not 0.001 <= value <= 0.5:
        raise PlanError(f'{what} must be a share such as 3% (0.1% to 50%), got "{text}"')
    return value
