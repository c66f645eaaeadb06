"""What documents quote of database runs, and of the profiles that they have."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.jdbc.store import JdbcStore
from zoo.report.jdbc import readme

REFERENCES = {"results": Path("results/reference/jdbc"), "article": Path("results/reference/jdbc-article")}
"""Runs of the default profile and of the article's."""


def generated(root: Path, catalog: Catalog) -> Generated:
    found: dict[Path, dict[str, str]] = {}
    if (root / "docs/jdbc.md").exists():
        found[root / "docs/jdbc.md"] = {"profiles": readme.profiles()}
    for part, folder in REFERENCES.items():
        if (root / folder / "run.json").exists():
            store = JdbcStore.open(root / folder)
            told = readme.results(store.run(), store.records(), f"../{folder}")
            found.setdefault(root / "java-jdbc/README.md", {})[part] = told
    return Generated(found)
