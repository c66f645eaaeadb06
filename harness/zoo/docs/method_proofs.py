"""What committed runs prove of the method, as parts of docs/method.md."""

from __future__ import annotations

from pathlib import Path

from zoo.analysis.method_proof import short_runs, widths
from zoo.analysis.pairs import Compared, compare
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.origin import REFERENCE, origin
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report.section import Section
from zoo.report.text import method_proofs
from zoo.report.text.markdown import render_table
from zoo.store.run_folder import Store

AA, SLOWDOWN, DESIGNS = (Path("results/reference") / name for name in ("aa", "slowdown", "designs"))
"""Runs of `zoo.cli.prove`; of designs there are several."""


def generated(root: Path, catalog: Catalog) -> Generated:
    found = parts(root, REFERENCE, catalog)
    return Generated({root / "docs/method.md": found} if found else {})


def parts(root: Path, reference: Path, catalog: Catalog) -> dict[str, str]:
    """By marker; `reference` is the run of the whole zoo."""
    made = {}
    if (root / AA / "run.json").exists():
        run, records = _read(root / AA)
        runs = short_runs(run, records)
        made[AA.name] = told(method_proofs.aa(run, runs), source(AA, run, catalog))
        if len(runs) > 1:
            made["power"] = told(method_proofs.found_of(run, runs), source(AA, run, catalog))
        if (root / reference / "run.json").exists():
            whole, seen = _read(root / reference)
            made[AA.name] += f"\n\nIn the [reference run](../{reference}/report.md), all scenarios and tiers: "
            made[AA.name] += method_proofs.counted(whole, short_runs(whole, seen))
    if (root / SLOWDOWN / "run.json").exists():
        run, compared = compared_in(root / SLOWDOWN)
        made[SLOWDOWN.name] = told(method_proofs.slowdown(run, compared), source(SLOWDOWN, run, catalog))
    folders = sorted(path.parent for path in (root / DESIGNS).glob("*/run.json"))
    if folders:
        proved = [compared_in(folder) for folder in folders]
        found = [width for run, compared in proved for width in widths(run, compared)]
        links = ", ".join(f"[{f.name}](../{DESIGNS}/{f.name})" for f in folders)
        made[DESIGNS.name] = told(
            method_proofs.designs(found), f"Committed runs: {links}; {origin(proved[0][0], catalog)}."
        )
    return made


def _read(folder: Path) -> tuple[Run, list[Record]]:
    store = Store.open(folder)
    return store.run(), store.records()


def compared_in(folder: Path) -> tuple[Run, Compared]:
    """A committed run and its pairs."""
    run, records = _read(folder)
    return run, compare(run.plan.entries, records)


def source(folder: Path, run: Run, catalog: Catalog) -> str:
    """The line that says where figures are from."""
    return f"[Committed run](../{folder}): {origin(run, catalog)}."


def told(section: Section, source: str) -> str:
    """A section without its heading."""
    bullets = [f"- {bullet}" for bullet in section.bullets]
    tables = [render_table(table) for table in section.tables]
    return "\n\n".join([*tables, *section.paragraphs, *(["\n".join(bullets)] if bullets else []), source])
