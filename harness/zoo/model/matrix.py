"""A server's matrix: the runs that answer its question, by name."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from zoo.model.data import Data
from zoo.model.errors import UserError


class MatrixError(UserError):
    """A matrix that cannot be used; the message says why."""


class MatrixPart(Data):
    """One run: what it asks, the options of `zoo bench`, and the environment in front of it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    asks: str
    needs: str = ""
    """What not every machine has, so that the part may be left out."""
    scenario: str
    variants: list[str] = []
    cases: list[str] = []
    tiers: list[str] = []
    rounds: int = Field(ge=1)
    duration_s: int | None = None
    env: dict[str, str] = {}
    vary: list[str] = []


class Matrix(Data):
    """All parts, in the order they are measured."""

    parts: list[MatrixPart] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [part.name for part in self.parts]
        if len(set(names)) != len(names):
            raise ValueError("parts must have different names")
        return self

    def chosen(self, names: list[str]) -> list[MatrixPart]:
        """The parts of these names; all without names. `MatrixError` for one that there is not."""
        known = [part.name for part in self.parts]
        for name in names:
            if name not in known:
                raise MatrixError(f'no part "{name}"; known: {", ".join(known)}')
        return [part for part in self.parts if not names or part.name in names]
