"""Temporary folders, whose names tell which run they are of: found again when that run was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from zoo.host.marked import RUN


def folder(of: str) -> tempfile.TemporaryDirectory[str]:
    """A new one, gone with its context, also where something still writes to it; `of` is a word for people who look."""
    return tempfile.TemporaryDirectory(prefix=f"{_prefix()}{of}-", ignore_cleanup_errors=True)


def clear() -> None:
    """Remove those of the run whose mark this process has; only who holds its lock may say that they are left over."""
    for left in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        shutil.rmtree(left, ignore_errors=True)


def _prefix() -> str:
    mark = os.environ.get(RUN, "")
    return f"zoo-{mark.replace(':', '-').replace('.', '-')}"
