"""A server's matrix: the runs that answer its question, by name, from its `matrix.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from zoo import toml

NAME = "matrix.toml"


class MatrixError(Exception):
    """A matrix that cannot be used; the message says why."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(_Table):
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

    def options(self, server: str) -> list[str]:
        """The words behind `zoo bench`."""
        words = ["--server", server, "--scenario", self.scenario, "--rounds", str(self.rounds)]
        for option, values in (("--variant", self.variants), ("--case", self.cases), ("--vary", self.vary)):
            words += [word for value in values for word in (option, value)]
        if self.tiers:
            words += ["--tiers", ",".join(self.tiers)]
        if self.duration_s is not None:
            words += ["--duration", str(self.duration_s)]
        return words


class Matrix(_Table):
    """All parts, in the order they are measured."""

    parts: list[Part] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [part.name for part in self.parts]
        if len(set(names)) != len(names):
            raise ValueError("parts must have different names")
        return self

    def chosen(self, names: list[str]) -> list[Part]:
        """The parts of these names; all without names. `MatrixError` for one that there is not."""
        known = [part.name for part in self.parts]
        for name in names:
            if name not in known:
                raise MatrixError(f'no part "{name}"; known: {", ".join(known)}')
        return [part for part in self.parts if not names or part.name in names]


def load(folder: Path) -> Matrix:
    """The matrix of the server in this folder; `MatrixError` names file and key of what is missing or wrong."""
    return toml.read(folder / NAME, Matrix, MatrixError)
