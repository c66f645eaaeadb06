"""What is generated of committed runs and of the code, for documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from zoo.catalog.manifest import Catalog


@dataclass(frozen=True)
class Generated:
    """By document, its generated parts by marker; and files that are generated as a whole."""

    parts: dict[Path, dict[str, str]] = field(default_factory=dict)
    files: dict[Path, str] = field(default_factory=dict)


Source = Callable[[Path, Catalog], Generated]
"""What one file of this package generates below the root of a checkout; nothing where what it tells of is not there."""
