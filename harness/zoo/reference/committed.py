"""Opens committed runs by name, each once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from zoo.analysis.held import Cost, costs
from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.reference import runs
from zoo.reference.runs import CommittedRun
from zoo.report.page.contents import Contents
from zoo.report.summary import Summary
from zoo.scenarios.held import HELD
from zoo.store.run_folder import Store


@dataclass(frozen=True)
class Committed:
    """A committed run, of which everything is read when it is first needed."""

    listed: CommittedRun
    folder: Path
    reference: str | None
    """The entry that is nothing but the protocol."""

    @property
    def link(self) -> str:
        """Its place below the root of the checkout."""
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
        return costs([record for record in self.records if record.scenario == HELD.name])

    @cached_property
    def contents(self) -> Contents:
        return run_reports.contents_of(Store.open(self.folder), self.summary)


class Reference:
    """The committed runs of a checkout."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        listed = [run for run in runs.load(root).runs if (root / run.path).exists()]
        self._there = [Committed(run, root / run.path, catalog.reference_id) for run in listed]

    def matching(self, name: str) -> list[Committed]:
        """Return the committed runs of this name, or for `scenarios/*` all whose names begin with `scenarios/`."""
        return [run for run in self._there if fnmatchcase(run.listed.name, name)]

    @property
    def folders(self) -> Mapping[str, Path]:
        """The folders of the runs by name."""
        return {run.listed.name: run.folder for run in self._there if run.folder.is_dir()}
