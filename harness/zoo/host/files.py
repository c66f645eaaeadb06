"""Reading of files that may not exist, such as those of /proc."""

from __future__ import annotations

from io import FileIO
from pathlib import Path


def read_text(path: str | Path) -> str:
    """Return a file's text; empty if it cannot be read."""
    try:
        with FileIO(path) as file:  # cheaper than Path.open: sampling thousands of threads reads as many files
            return file.readall().decode("utf-8", "replace")
    except OSError:
        return ""


def read_tail(path: Path, lines: int) -> str:
    """Return a file's last lines; empty if it cannot be read."""
    return "\n".join(read_text(path).splitlines()[-lines:])
