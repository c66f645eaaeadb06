"""Allows one run at a time on a machine, and removes what a killed run has left."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

from zoo.host import marked, scratch
from zoo.host.marked import RUN
from zoo.model.errors import BenchError


def be_alone(root: Path) -> list[str]:
    """Two runs at once would measure each other. The lock lasts as long as this process, also through exec.

    Whoever holds it is the only run, so what still has its mark was left by a run that was killed. Ends that, removes
    its temporary folders, and gives the names.
    """
    path = root / "results" / ".lock"
    try:
        path.parent.mkdir(exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise BenchError(f"{path} cannot be written: {error.strerror}") from error
    try:
        _take(lock)
    except OSError as error:
        lock = _of_this_machine(path, os.fstat(lock), error)
    os.set_inheritable(lock, True)
    # also in a namespace or a chroot no other file has both numbers
    held = os.fstat(lock)
    os.environ[RUN] = f"{held.st_dev}:{held.st_ino}."
    left = marked.end(f"{RUN}={os.environ[RUN]}")
    scratch.clear()
    return left


def _take(lock: int) -> None:
    """Take the lock of an open file; `BenchError` where another run has it, OSError where it cannot be locked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BenchError("another run is being measured here; wait for it or stop it") from None


def _of_this_machine(path: Path, file: os.stat_result, why: OSError) -> int:
    """Take a lock in the folder for temporary files instead: the checkout is on a file system without locks, such as
    some NFS. Runs on other machines do not disturb this one.
    """
    folder = Path(tempfile.gettempdir())
    try:
        lock = os.open(
            folder / f"zoo-run-{file.st_dev}-{file.st_ino}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644
        )
        _take(lock)
    except OSError as error:
        raise BenchError(
            f"{path} cannot be locked: {why.strerror}, nor can a file in {folder}: {error.strerror}; "
            "name a folder on a local disk as TMPDIR, or keep the checkout on one"
        ) from None
    return lock
