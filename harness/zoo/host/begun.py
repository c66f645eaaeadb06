"""What a run that begins tells of itself: its name, the time, the code."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from zoo import __version__
from zoo.host.revision import revision


class Begun(TypedDict):
    """The fields of `model.run_facts` that do not depend on what is measured."""

    id: str
    started_at: str
    commit: str | None
    dirty: bool | None
    harness: str


def begun(root: Path, kind: str) -> Begun:
    """Of a run that begins now, with the code of this checkout; its id is the time and `kind`."""
    found = revision(root)
    return Begun(
        id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{kind}",
        started_at=now(),
        commit=found.commit,
        dirty=found.dirty,
        harness=__version__,
    )


def now() -> str:
    """UTC to the second, as it is stored."""
    return datetime.now(UTC).isoformat(timespec="seconds")
