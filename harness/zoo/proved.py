"""What committed runs prove of the method, as parts of docs/method.md."""

from __future__ import annotations

from pathlib import Path

from zoo.pairs import Compared, compare
from zoo.proof import widths
from zoo.records import Run
from zoo.report import proofs
from zoo.report.markdown import render_table
from zoo.report.model import Section
from zoo.store import Store

AA, SLOWDOWN, DESIGNS = (Path("results/reference") / name for name in ("aa", "slowdown", "designs"))
"""Runs of `zoo.prove`; of designs there are several."""


def parts(root: Path, reference: Path) -> dict[str, str]:
    """By marker; `reference` is the run of the whole zoo."""
    made = {}
    for folder, section in ((AA, proofs.aa), (SLOWDOWN, proofs.slowdown)):
        if (root / folder / "run.json").exists():
            run, compared = _compared(root / folder)
            made[folder.name] = told(section(run, compared), _committed(folder, run))
    if AA.name in made and (root / reference / "run.json").exists():
        made[AA.name] += f"\n\nIn the [reference run](../{reference}/report.md), all scenarios and tiers: "
        made[AA.name] += proofs.counted(*_compared(root / reference))
    folders = sorted(path.parent for path in (root / DESIGNS).glob("*/run.json"))
    if folders:
        runs = [_compared(folder) for folder in folders]
        found = [width for run, compared in runs for width in widths(run, compared)]
        links = ", ".join(f"[{f.name}](../{DESIGNS}/{f.name}/report.md)" for f in folders)
        made[DESIGNS.name] = told(proofs.designs(found), f"Committed runs: {links}; {where(runs[0][0])}.")
    return made


def _compared(folder: Path) -> tuple[Run, Compared]:
    store = Store.open(folder)
    run = store.run()
    return run, compare(run.plan.entries, store.records())


def _committed(folder: Path, run: Run) -> str:
    return f"[Committed run](../{folder}/report.md): {where(run)}."


def told(section: Section, source: str) -> str:
    """A section without its heading."""
    bullets = [f"- {bullet}" for bullet in section.bullets]
    tables = [render_table(table) for table in section.tables]
    return "\n\n".join([*tables, *section.paragraphs, *(["\n".join(bullets)] if bullets else []), source])


def where(run: Run) -> str:
    """Machine, commit and JDK of a run."""
    host = run.host
    return (
        f"{host.cpu_model}, {host.cores} cores shared by server and generator, "
        f"commit {(run.commit or 'unknown')[:12]}, JDK {run.plan.condition.jdk or 'none'}"
    )
