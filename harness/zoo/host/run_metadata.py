"""The metadata of a new run: its name, its start time, and the commit of the code."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from zoo import __version__
from zoo.host.files import read_text


class NewRunMetadata(TypedDict):
    """The fields of `core.run.RunFacts` that do not depend on the host or on what is measured."""

    id: str
    started_at: str
    commit: str | None
    dirty: bool | None
    harness: str


@dataclass(frozen=True)
class Revision:
    """The commit, and whether tracked files outside results/ differ from it; `unknown` is why neither is known."""

    commit: str | None
    dirty: bool | None
    unknown: str | None = None


def new_run_metadata(root: Path, kind: str) -> NewRunMetadata:
    """Return the metadata of a run that begins now with the code of this checkout; its id is the time and `kind`."""
    found = revision(root)
    return NewRunMetadata(
        id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{kind}",
        started_at=now(),
        commit=found.commit,
        dirty=found.dirty,
        harness=__version__,
    )


def now() -> str:
    """Return the time in UTC to the second, in the format of stored times."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def revision(root: Path) -> Revision:
    """Return the revision of this checkout, never that of an enclosing repository.

    The folder may belong to another user, because anyone who runs the harness from it already trusts its content.
    """
    root = root.resolve()
    trust = ["-c", f"safe.directory={root}", "-c", "core.fsmonitor=false"]
    try:
        commit = _git(root, *trust, "rev-parse", "HEAD")
        changed = _git(root, *trust, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)results")
    except OSError as error:
        return Revision(_head(root / ".git"), None, f"git: {error.strerror}")
    except subprocess.CalledProcessError as error:
        return Revision(None, None, next(iter(error.stderr.splitlines()), "git failed"))
    return Revision(commit, bool(changed))


def _head(git: Path) -> str | None:
    """Read the commit from the files of a repository, for an image without git; None if it is not in them.

    A branch is a file below refs/, or a line of packed-refs.
    """
    head = read_text(git / "HEAD").strip()
    branch = head.removeprefix("ref: ")
    if branch == head:
        return head or None
    packed = (line.split() for line in read_text(git / "packed-refs").splitlines())
    commit = read_text(git / branch).strip()
    return commit or next((words[0] for words in packed if words[1:] == [branch]), None)


def _git(root: Path, *words: str) -> str:
    """Run git without the variables that point to the repository of a calling git hook."""
    local = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=False)
    env = {name: value for name, value in os.environ.items() if name not in local.stdout.split()}
    env |= {"GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    done = subprocess.run(["git", *words], cwd=root, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()
