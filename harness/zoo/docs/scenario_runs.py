"""What committed runs of scenarios with a section of their own found, as a part of docs/scenarios.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from zoo.analysis.held import Cost, costs
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import origin
from zoo.model.run import Run
from zoo.report import own_answers, scenario_sections
from zoo.report.text.markdown import body
from zoo.scenarios.held import HELD
from zoo.store.run_folder import Store

FOLDER = Path("results/reference/scenarios")
"""A folder a run, of whatever name."""


def told(root: Path, catalog: Catalog) -> str:
    """A part for each scenario of each run, its answer first, in the scenarios' order; empty without runs."""
    order = list(scenario_sections.EXPERIMENTS)
    found: list[tuple[int, str]] = []
    for store, source in _runs(root, catalog):
        records = store.records()
        for name, section in scenario_sections.sections(records):
            answers = own_answers.told([record for record in records if record.scenario == name])
            first = ["\n".join(f"- {answer}" for answer in answers)] if answers else []
            found.append((order.index(name), "\n\n".join([f"### {name}", *first, *body(section), source])))
    return "\n\n".join(part for _, part in sorted(found, key=lambda one: one[0]))


@dataclass(frozen=True)
class Held:
    """A run that held connections: its folder, and what one costs by entry and quantity."""

    folder: Path
    run: Run
    costs: Mapping[tuple[str, str], Cost]


def held(root: Path) -> list[Held]:
    """Of each run that held connections."""
    return [
        Held(folder, store.run(), costs(r for r in store.records() if r.scenario == HELD.name))
        for folder, store in _stores(root)
        if HELD.name in store.run().plan.scenarios
    ]


def _runs(root: Path, catalog: Catalog) -> Iterator[tuple[Store, str]]:
    """Each with the line that says where its figures are from."""
    for folder, store in _stores(root):
        run = store.run()
        link = f"[Committed run](../{folder})"
        yield store, f"{link}, {run.plan.rounds} round(s): {origin(run, catalog)}."


def _stores(root: Path) -> Iterator[tuple[Path, Store]]:
    """Each with its folder below the repository's."""
    for file in sorted((root / FOLDER).glob("*/run.json")):
        yield FOLDER / file.parent.name, Store.open(file.parent)
