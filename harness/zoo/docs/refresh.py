"""Keeps generated parts of the documentation in step: what stands between markers, charts, the records' JSON schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.docs import (
    allocators,
    cores_apart,
    first_turns,
    guest_agreement,
    highest_tier,
    ledger,
    method_proofs,
    runtime_costs,
    scale_plan,
    scenario_runs,
    schedulers,
    server_matrix,
    soak,
    wrk_percentiles,
    zoo_results,
)
from zoo.docs import jdbc as databases
from zoo.docs.generated import Generated, Source
from zoo.jdbc import records as jdbc
from zoo.model import jvm_run
from zoo.model.errors import UserError
from zoo.model.run import schema
from zoo.report.section import Table
from zoo.report.text.markdown import render_table


class DocumentError(UserError):
    """A document without the markers of its generated part."""


def refresh(root: Path, catalog: Catalog, *, write: bool) -> list[Path]:
    """Files that are stale or no longer wanted; rewritten or removed when `write`."""
    wanted = _wanted(root, catalog)
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    stale += [p for p in sorted((root / "docs/charts").glob("*.svg")) if p not in wanted]
    if write:
        for path in stale:
            if path in wanted:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(wanted[path], encoding="utf-8")
            else:
                path.unlink()
    return stale


def _wanted(root: Path, catalog: Catalog) -> dict[Path, str]:
    """The content that generated files, and files with generated parts, should have."""
    parts: dict[Path, dict[str, str]] = {}
    wanted: dict[Path, str] = {}
    for source in SOURCES:
        made = source(root, catalog)
        wanted |= made.files
        for path, named in made.parts.items():
            parts.setdefault(path, {}).update(named)
    return wanted | {path: _filled(path, path.read_text(encoding="utf-8"), named) for path, named in parts.items()}


def _pretty(form: object) -> str:
    return json.dumps(form, indent=2, sort_keys=True) + "\n"


def _filled(path: Path, text: str, parts: dict[str, str]) -> str:
    """Fill `<!-- generated: NAME -->` … `<!-- end -->`; a part without its markers is an error of the document."""
    for name, part in parts.items():
        found = re.findall(rf"<!-- generated: {name} -->\n.*?<!-- end -->", text, flags=re.DOTALL)
        if len(found) != 1:
            raise DocumentError(
                f"{path}: expected the markers of the generated part {name!r} once, found them {len(found)} times"
            )
        text = text.replace(found[0], f"<!-- generated: {name} -->\n{part}\n<!-- end -->")
    return text


def _schemas(root: Path, catalog: Catalog) -> Generated:
    forms = {"records": schema(), "jdbc": jdbc.schema(), "jvm": jvm_run.schema()}
    return Generated(files={root / f"docs/{name}.schema.json": _pretty(form) for name, form in forms.items()})


def _entries(root: Path, catalog: Catalog) -> Generated:
    body = [[f"[`{e.id}`]({e.server.name}/)", e.variant.model, e.variant.summary] for e in catalog.entries]
    table = Table("entries", ["entry", "model", "how it runs a request"], body, text=3)
    return Generated({root / "README.md": {"entries": render_table(table)}})


SOURCES: tuple[Source, ...] = (
    _entries,
    _schemas,
    zoo_results.generated,
    allocators.generated,
    highest_tier.generated,
    scenario_runs.generated,
    runtime_costs.generated,
    server_matrix.generated,
    method_proofs.generated,
    scale_plan.generated,
    first_turns.generated,
    cores_apart.generated,
    schedulers.generated,
    guest_agreement.generated,
    wrk_percentiles.generated,
    databases.generated,
    soak.generated,
    ledger.generated,
)
"""All that is generated; a further part is a file in this package and a name here."""
