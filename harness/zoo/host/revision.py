"""The commit of a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path


def revision(root: Path) -> tuple[str | None, bool | None]:
    """Commit of the checkout and whether tracked files, results left out, differ from it; None outside a checkout."""
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)results")
    return commit or None, None if status is None else bool(status)


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
