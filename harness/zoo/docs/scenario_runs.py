"""What committed runs of scenarios with a section of their own found, as a part of docs/findings.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.analysis.held import Cost, costs
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.origin import origin, preference
from zoo.model.run import Run
from zoo.report import scenario_sections
from zoo.report.summary import Summary
from zoo.report.text.markdown import body
from zoo.scenarios.held import HELD
from zoo.store.run_folder import Store

FOLDER = Path("results/reference/scenarios")
"""A folder a run, of whatever name."""


def generated(root: Path, catalog: Catalog) -> Generated:
    """What runs of further scenarios say."""
    experiments = told(root, catalog)
    return Generated({root / "docs/findings.md": {"experiments": experiments}} if experiments else {})


def told(root: Path, catalog: Catalog) -> str:
    """A heading for each scenario in their order; below it, of each run, its answers and folded its tables."""
    found: dict[str, list[str]] = {name: [] for name in scenario_sections.EXPERIMENTS}
    for store, source in _runs(root, catalog):
        records = store.records()
        for name, section in scenario_sections.sections(records):
            answers = Summary.of(store.run(), [record for record in records if record.scenario == name]).own
            tables = "\n\n".join(["<details><summary>Tables</summary>", *body(section), "</details>"])
            if answers:
                found[name].append("\n".join(f"- {answer}" for answer in answers))
            found[name] += [source, tables]
    return "\n\n".join("\n\n".join([f"### {name}", *parts]) for name, parts in found.items() if parts)


@dataclass(frozen=True)
class HeldRun:
    """A run that held connections: its folder, and what one costs by entry and quantity."""

    folder: Path
    run: Run
    costs: Mapping[tuple[str, str], Cost]


def held(root: Path) -> list[HeldRun]:
    """Of each run that held connections."""
    return [
        HeldRun(folder, store.run(), costs([r for r in store.records() if r.scenario == HELD.name]))
        for folder, store in _stores(root)
        if HELD.name in store.run().plan.scenarios
    ]


def preferred(found: Sequence[HeldRun]) -> dict[tuple[str, str], tuple[HeldRun, Cost]]:
    """Return by entry and quantity the cost that documents quote, and its run."""
    every = [
        (preference(cost.interval.n, one.run.started_at), key, one, cost)
        for one in found
        for key, cost in one.costs.items()
    ]
    return {key: (one, cost) for _, key, one, cost in sorted(every, key=lambda item: item[0])}


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
