"""What a million connections would take of ten hosts, from measured costs: a part of docs/scale-out.md."""

from __future__ import annotations

from pathlib import Path

from zoo.analysis.held import Cost
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.method_proofs import told
from zoo.docs.origin import origin
from zoo.docs.scenario_runs import HeldRun, held, preferred
from zoo.model.entry_id import plain
from zoo.report.text import sizing

CONNECTIONS, GENERATORS = 1_000_000, 9


def generated(root: Path, catalog: Catalog) -> Generated:
    """Reckoned, not measured: the cost of a connection times so many."""
    found = measured(root)
    if not found:
        return Generated()
    used = {one.folder: one.run for one, _ in found.values()}
    runs = "; ".join(f"[{folder.name}](../{folder}): {origin(run, catalog)}" for folder, run in used.items())
    section = sizing.section(CONNECTIONS, GENERATORS, {key: cost for key, (_, cost) in found.items()})
    return Generated({root / "docs/scale-out.md": {"million": told(section, f"Cost of a connection: {runs}.")}})


def measured(root: Path) -> dict[tuple[str, str], tuple[HeldRun, Cost]]:
    """By entry and quantity, from the preferred run that held its connections; under usual conditions alone."""
    return {key: found for key, found in preferred(held(root)).items() if plain(key[0]) == key[0]}
