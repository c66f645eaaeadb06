"""What committed runs of scenarios with a section of their own found, as a part of docs/scenarios.md."""

from __future__ import annotations

from pathlib import Path

from zoo import reports
from zoo.proved import where
from zoo.report import experiments
from zoo.report.markdown import body
from zoo.store import Store

FOLDER = Path("results/reference/scenarios")
"""A folder a run, of whatever name."""


def told(root: Path) -> str:
    """A part for each scenario of each run, in the scenarios' order; empty without runs."""
    order = list(experiments.EXPERIMENTS)
    found: list[tuple[int, str]] = []
    for file in sorted((root / FOLDER).glob("*/run.json")):
        store = Store.open(file.parent)
        run = store.run()
        source = f"[Committed run](../{FOLDER / file.parent.name}/report.md), {run.plan.rounds} round(s): {where(run)}."
        for name, section in experiments.sections(store.records()):
            found.append((order.index(name), "\n\n".join([f"### {name}", *body(section), source])))
    return "\n\n".join(part for _, part in sorted(found, key=lambda one: one[0]))


def texts(root: Path, reference: str | None) -> dict[Path, str]:
    """Their reports, by path."""
    folders = [file.parent for file in (root / FOLDER).glob("*/run.json")]
    return {f / "report.md": reports.text(reports.read(Store.open(f), reference), reference) for f in folders}
