"""What committed runs of scenarios with a section of their own found, as parts of docs/scenarios.md and of READMEs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zoo import reports
from zoo.proved import where
from zoo.report import experiments
from zoo.report.markdown import body
from zoo.scenario.held import HELD
from zoo.store import Store

FOLDER = Path("results/reference/scenarios")
"""A folder a run, of whatever name."""


def told(root: Path) -> str:
    """A part for each scenario of each run, in the scenarios' order; empty without runs."""
    order = list(experiments.EXPERIMENTS)
    found: list[tuple[int, str]] = []
    for store, source in _runs(root):
        for name, section in experiments.sections(store.records()):
            found.append((order.index(name), "\n\n".join([f"### {name}", *body(section), source])))
    return "\n\n".join(part for _, part in sorted(found, key=lambda one: one[0]))


def held(root: Path, server: str) -> str:
    """What a held connection costs in a server, a part for each run that measured it; empty without one."""
    parts = []
    for store, source in _runs(root):
        if HELD.name not in store.run().plan.scenarios:
            continue
        mine = [r for r in store.records() if r.scenario == HELD.name and r.entry.startswith(f"{server}:")]
        for _, section in experiments.sections(mine):
            parts += [*body(section), source]
    return "\n\n".join(parts)


def texts(root: Path, reference: str | None) -> dict[Path, str]:
    """Their reports, by path."""
    return {
        store.folder / "report.md": reports.text(reports.read(store, reference), reference) for store, _ in _runs(root)
    }


def _runs(root: Path) -> Iterator[tuple[Store, str]]:
    """Each with the line that says where its figures are from."""
    for file in sorted((root / FOLDER).glob("*/run.json")):
        store = Store.open(file.parent)
        run = store.run()
        link = f"[Committed run](../{FOLDER / file.parent.name}/report.md)"
        yield store, f"{link}, {run.plan.rounds} round(s): {where(run)}."
