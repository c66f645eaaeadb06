"""Finds which committed runs are current, and which were measured with an earlier build."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.catalog.build import program_hash
from zoo.docs.archives import PROGRAM_OF
from zoo.docs.origin import changed
from zoo.model.entry_id import server_of
from zoo.reference.runs import CommittedRun


@dataclass(frozen=True)
class Build:
    """The state of a committed run: when it was measured (None if nothing is committed), and what changed since."""

    run: CommittedRun
    started_at: str | None = None
    changed: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        return self.started_at is not None and not self.changed


def build_of(run: CommittedRun, root: Path) -> Build:
    """Compare the build that the committed run measured with the sources of this checkout.

    A server of which the run kept no hash counts as changed. Copies that are not in the tree cannot be compared.
    """
    facts = _facts(root / run.path)
    if facts is None:
        return Build(run)
    kept, measured = facts.get("builds", {}), _measured(facts)
    stale = changed(kept, [server for server in run.catalog(root).servers if server.name in measured])
    programs = [name for name in PROGRAM_OF.values() if name in measured]
    stale += [name for name in programs if kept.get(name) != program_hash(root, name)]
    return Build(run, facts.get("started_at", ""), tuple(sorted(stale)))


def _facts(path: Path) -> dict[str, Any] | None:
    """Read the metadata of a run; None if nothing is committed."""
    file = path / "run.json" if path.is_dir() else path
    if not file.is_file():
        return None
    data = file.read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
    return found


def _measured(facts: dict[str, Any]) -> list[str]:
    """Return the servers, or the program, that a run measured."""
    kind = facts.get("kind")
    if kind in PROGRAM_OF:
        return [PROGRAM_OF[kind]]
    entries = facts["plan"]["entries"] if "plan" in facts else facts.get("marks") or [facts["entry"]]
    return sorted({server_of(entry) for entry in entries})
