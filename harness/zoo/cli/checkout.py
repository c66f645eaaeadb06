"""The checkout that the commands work in, and its servers."""

from __future__ import annotations

import os
from pathlib import Path

import zoo
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog

ROOT = zoo.ROOT


def catalog() -> Catalog:
    """The zoo, and what ZOO names beside it."""
    beside = os.environ.get("ZOO")
    return load_catalog(ROOT, Path(beside) if beside else None)


def shown(path: Path) -> str:
    """The path as a person would type it in the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
