"""The commit of a checkout."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Revision:
    """The commit, and whether tracked files differ from it, results left out; or why nothing is known of it."""

    commit: str | None
    dirty: bool | None
    unknown: str | None = None


class _GitError(Exception):
    """Git's own words."""


def revision(root: Path) -> Revision:
    """The revision of just this checkout: a repository that encloses it is none of ours.

    The folder may belong to another user: whoever runs the harness from it trusts its content already.
    """
    root = root.resolve()
    trust = ["-c", f"safe.directory={root}", "-c", "core.fsmonitor=false"]
    try:
        commit = _git(root, *trust, "rev-parse", "HEAD")
        changed = _git(root, *trust, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)results")
    except _GitError as error:
        return Revision(None, None, str(error))
    return Revision(commit, bool(changed))


def _git(root: Path, *words: str) -> str:
    """What git prints. A hook that calls us has variables that name its own repository."""
    try:
        local = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=False)
        env = {name: value for name, value in os.environ.items() if name not in local.stdout.split()}
        env |= {"GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        done = subprocess.run(["git", *words], cwd=root, env=env, capture_output=True, text=True, check=False)
    except OSError as error:
        raise _GitError(f"git: {error.strerror}") from error
    if done.returncode:
        raise _GitError(next(iter(done.stderr.splitlines()), f"git {words[0]} failed"))
    return done.stdout.strip()
