"""Refreshes the generated parts of the documentation: text between markers, charts, the records' JSON schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.jdbc import records as jdbc
from zoo.model import jvm_run
from zoo.model.errors import UserError
from zoo.model.run import schema
from zoo.reference import claims_page
from zoo.reference.committed import Reference
from zoo.reference.documents import FILES, parts, quoted

SCHEMAS = {"records": schema, "jdbc": jdbc.schema, "jvm": jvm_run.schema}
"""The functions that make the schemas of stored data, by the name of their file in docs/."""


class DocumentError(UserError):
    """A document without the markers of its generated part."""


def refresh(root: Path, catalog: Catalog, *, write: bool) -> list[Path]:
    """Return the files that are stale or no longer wanted; with `write`, rewrite or remove them."""
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
    """Return the content that generated files, and files with generated parts, should have."""
    reference = Reference(root, catalog)
    wanted = {root / f"docs/{name}.schema.json": _pretty(make()) for name, make in SCHEMAS.items()}
    wanted |= claims_page.files(root, catalog, reference.folders)
    for made in FILES:
        if (runs := quoted(made.runs, reference)) is not None:
            wanted |= {root / path: text for path, text in made.render(runs, catalog).items()}
    filled: dict[Path, dict[str, str]] = {}
    for part in parts(catalog):
        runs = quoted(part.runs, reference)
        if runs is not None and (root / part.document).exists() and (text := part.render(runs, catalog)):
            filled.setdefault(root / part.document, {})[part.marker] = text
    return wanted | {path: _filled(path, path.read_text(encoding="utf-8"), named) for path, named in filled.items()}


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
