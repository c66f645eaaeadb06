"""Reads the table of committed runs, `results/reference/runs.toml`."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from zoo.catalog import toml_file
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.model.data import Data
from zoo.model.errors import UserError

COMMITTED = Path("results/reference")
"""The folder of the committed runs, below the root of a checkout."""

TABLE = COMMITTED / "runs.toml"


class TableError(UserError):
    """A table of committed runs that cannot be used, or a name that it does not list; the message says why."""


class CommittedRun(Data):
    """A committed run: the command that makes it, and what quotes it. The file's first lines explain each key."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9./-]*$", description="its folder or file below results/reference")
    command: str
    env: dict[str, str] = Field(default={})
    asks: str = ""
    by_hand: str = ""
    raw: bool = False
    measured: bool = True
    quoted_by: list[str] = Field(min_length=1)

    @property
    def path(self) -> Path:
        """Its folder or file, below the root of a checkout."""
        return COMMITTED / self.name

    @property
    def words(self) -> list[str]:
        """The words of `zoo`, in which a bench names its runtime: the default depends on the machine."""
        found = shlex.split(self.command)
        return [*found, "--runtime", "process"] if found[:1] == ["bench"] and "--runtime" not in found else found

    def catalog(self, root: Path) -> Catalog:
        """Load the servers of this checkout, and those that ZOO names next to them."""
        return load_catalog(root, root / self.env["ZOO"] if "ZOO" in self.env else None)


class CommittedRuns(Data):
    """All committed runs, in the order of the file."""

    runs: list[CommittedRun] = Field(default=[])

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [run.name for run in self.runs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two runs are called {twice[0]}")
        return self

    def matching(self, name: str) -> list[CommittedRun]:
        """Return the run of this name, or for `java-liberty/*` all that begin like that; `TableError` if none does."""
        found = [run for run in self.runs if fnmatchcase(run.name, name)]
        if not found:
            raise TableError(f'{TABLE} lists no run "{name}"; zoo reference status shows all names')
        return found


def load(root: Path) -> CommittedRuns:
    """Read the table of this checkout; `TableError` names the file and the key of what is missing or wrong."""
    return toml_file.read(root / TABLE, CommittedRuns, TableError)
