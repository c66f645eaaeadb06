"""Reads the table of committed runs, `results/reference/runs.toml`, and the runs themselves."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from zoo.analysis.held import Cost, costs
from zoo.catalog import load as toml_file
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.model.data import Data
from zoo.model.errors import UserError
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.reference.reports import contents_of
from zoo.report.page.contents import Contents
from zoo.report.summary import Summary
from zoo.scenarios.held import HELD
from zoo.store.run_folder import Store

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
        return _catalog(root, self.env.get("ZOO"))


@cache
def _catalog(root: Path, more: str | None) -> Catalog:
    return load_catalog(root, root / more if more else None)


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


@dataclass(frozen=True)
class Committed:
    """A committed run; each of its files is read when it is first needed."""

    listed: CommittedRun
    folder: Path
    reference: str | None
    """The entry that is nothing but the protocol."""

    @property
    def link(self) -> str:
        """Its path below the root of the checkout."""
        return self.listed.path.as_posix()

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.listed.path.name

    @cached_property
    def run(self) -> Run:
        return Store.open(self.folder).run()

    @cached_property
    def records(self) -> list[Record]:
        return Store.open(self.folder).records()

    @cached_property
    def summary(self) -> Summary:
        return Summary.of(self.run, self.records, self.reference)

    @cached_property
    def costs(self) -> dict[tuple[str, str], Cost]:
        """The cost of a connection that the scenario `held` measured, by entry and quantity."""
        records = self.records if HELD.name in self.run.plan.scenarios else []
        return costs([record for record in records if record.scenario == HELD.name])

    @cached_property
    def contents(self) -> Contents:
        return contents_of(Store.open(self.folder), self.summary)


class Reference:
    """The committed runs of a checkout."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        listed = [run for run in load(root).runs if (root / run.path).exists()]
        self._there = [Committed(run, root / run.path, catalog.reference_id) for run in listed]

    def matching(self, name: str) -> list[Committed]:
        """Return the committed runs of this name, or for `scenarios/*` all whose names begin with `scenarios/`."""
        return [run for run in self._there if fnmatchcase(run.listed.name, name)]

    @property
    def folders(self) -> Mapping[str, Path]:
        """The folders of the runs by name."""
        return {run.listed.name: run.folder for run in self._there if run.folder.is_dir()}
