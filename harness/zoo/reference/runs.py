"""The table of committed runs, `results/reference/runs.toml`, and the runs themselves."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from zoo.core import manifest_files as toml_file
from zoo.core.data import Data
from zoo.core.errors import UserError
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.run_folder import Store
from zoo.reference.reports import contents_of
from zoo.report.page.contents import Contents
from zoo.report.summary import Summary
from zoo.scenarios.held import HELD
from zoo.stats.memory_per_request import Cost, costs

COMMITTED = Path("results/reference")
"""The folder of the committed runs, relative to the root of a checkout."""

TABLE = COMMITTED / "runs.toml"

FINDINGS = "docs/explanation/findings.md"
LEDGER = "docs/claims.md"

READERS = ("READMEs and findings", "claims", "other documents")
"""Groups of documents that quote runs; the most-read group comes first."""


class TableError(UserError):
    """A mistake in the table of committed runs, or a name that it does not list; the message says which."""


class CommittedRun(Data):
    """A committed run: the command that makes it, and the documents that quote it.

    The first lines of the file explain each key.
    """

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
        """Return the run's folder or file, relative to the root of a checkout."""
        return COMMITTED / self.name

    @property
    def readers(self) -> str:
        """Return one of `READERS`: the first whose documents quote the run."""
        if any(name.endswith("README.md") or name == FINDINGS for name in self.quoted_by):
            return READERS[0]
        return READERS[1] if LEDGER in self.quoted_by else READERS[2]

    @property
    def words(self) -> list[str]:
        """Return the arguments of `zoo`. A bench always names its runtime, as the default depends on the machine."""
        found = shlex.split(self.command)
        return [*found, "--runtime", "process"] if found[:1] == ["bench"] and "--runtime" not in found else found

    def catalog(self, root: Path) -> Catalog:
        """Load the servers of this checkout and those of ZOO."""
        return _catalog(root, self.env.get("ZOO"))


@cache
def _catalog(root: Path, folder: str | None) -> Catalog:
    return load_catalog(root, root / folder if folder else None)


class CommittedRuns(Data):
    """All committed runs, in the order of the file."""

    runs: list[CommittedRun] = Field(default=[])

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [run.name for run in self.runs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two runs have the name {twice[0]}; rename one")
        return self

    def matching(self, name: str) -> list[CommittedRun]:
        """Return the run of this name, all that match a pattern, or all that a document such as `README.md` quotes.

        Raise `TableError` if there is none.
        """
        found = [run for run in self.runs if fnmatchcase(run.name, name) or name in run.quoted_by]
        if not found:
            raise TableError(f'{TABLE} lists no run "{name}"; zoo reference status shows all names')
        return found


def load(root: Path) -> CommittedRuns:
    """Read the table of this checkout; `TableError` names the file and key of anything missing or wrong."""
    return toml_file.read_toml(root / TABLE, CommittedRuns, TableError)


@dataclass(frozen=True)
class StoredRun:
    """A committed run whose files are read when they are first needed."""

    listing: CommittedRun
    folder: Path
    catalog: Catalog

    @property
    def link(self) -> str:
        """Return the run's path, relative to the root of the checkout."""
        return self.listing.path.as_posix()

    @property
    def name(self) -> str:
        """Return the last part of the run's name."""
        return self.listing.path.name

    @cached_property
    def run(self) -> Run:
        return Store.open(self.folder).run()

    @cached_property
    def records(self) -> list[Record]:
        return Store.open(self.folder).records()

    @cached_property
    def summary(self) -> Summary:
        return Summary.of(self.run, self.records, self.catalog.reference_id, self.catalog.synthetic)

    @cached_property
    def costs(self) -> dict[tuple[str, str], Cost]:
        """Return the cost per connection that the scenario `held` measured, by entry and quantity."""
        records = self.records if HELD.name in self.run.plan.scenarios else []
        return costs([record for record in records if record.scenario == HELD.name])

    @cached_property
    def contents(self) -> Contents:
        return contents_of(Store.open(self.folder), self.summary)


class Reference:
    """The committed runs of a checkout."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        listed = [run for run in load(root).runs if (root / run.path).exists()]
        self._there = [StoredRun(run, root / run.path, catalog) for run in listed]

    def matching(self, name: str) -> list[StoredRun]:
        """Return the committed run of this name, or all that match a pattern such as `scenarios/*`."""
        return [run for run in self._there if fnmatchcase(run.listing.name, name)]

    @property
    def folders(self) -> Mapping[str, Path]:
        """Return the folders of the runs by name."""
        return {run.listing.name: run.folder for run in self._there if run.folder.is_dir()}
