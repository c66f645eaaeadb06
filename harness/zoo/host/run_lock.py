"""The lock that allows one run at a time, the mark of a run's processes, and cleanup after a killed run."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from zoo.core.errors import BenchError

RUN = "ZOO_LOCK"
"""An environment variable that every process of a run gets; it identifies the lock that the run holds."""


def acquire_run_lock(root: Path) -> list[str]:
    """Take the lock and remove what a killed run has left behind; return the names of the processes that were killed.

    Two runs at once would disturb each other's measurements. The lock lasts as long as this process, even across exec.
    Its holder is the only run, so any process that still has the lock's mark was left behind by a killed run.
    """
    path = root / "results" / ".lock"
    try:
        path.parent.mkdir(exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}") from error
    try:
        _lock_file(lock)
    except OSError as error:
        lock = _lock_in_tmp(path, os.fstat(lock), error)
    os.set_inheritable(lock, True)
    # no other file has both numbers, not even in a namespace or a chroot
    file = os.fstat(lock)
    os.environ[RUN] = f"{file.st_dev}:{file.st_ino}."
    left = kill_marked(f"{RUN}={os.environ[RUN]}")
    clear_scratch()
    return left


def run_mark() -> dict[str, str]:
    """Return the variable that identifies the processes of this run; empty if this process holds no lock."""
    return {RUN: os.environ[RUN]} if RUN in os.environ else {}


def kill_marked(mark: str, within_s: float = 5.0) -> list[str]:
    """Kill each process that has an environment variable starting with `mark` (`NAME=value`), if this user may.

    Wait until the processes are gone, at most `within_s`, and return their names.
    """
    deadline = time.monotonic() + within_s
    ended: dict[int, str] = {}
    while (found := _kill_once(mark.encode())) and time.monotonic() < deadline:
        ended |= found
        time.sleep(0.05)
    return sorted(ended.values())


def scratch_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """Make a temporary folder of this run; its context removes it even if something still writes to it.

    `purpose` becomes part of its name, for people who look at it.
    """
    return tempfile.TemporaryDirectory(prefix=f"{_scratch_prefix()}{purpose}-", ignore_cleanup_errors=True)


def clear_scratch() -> None:
    """Remove the folders of the run whose mark this process has; only the holder of the lock may do so."""
    for left in Path(tempfile.gettempdir()).glob(f"{_scratch_prefix()}*"):
        shutil.rmtree(left, ignore_errors=True)


def _scratch_prefix() -> str:
    mark = os.environ.get(RUN, "")
    return f"zoo-{mark.replace(':', '-').replace('.', '-')}"


def _kill_once(mark: bytes) -> dict[int, str]:
    """Kill the marked processes and return their names by pid.

    Signals go to a handle, because the pid may belong to another process by then.
    """
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            handle = os.pidfd_open(int(folder.name))
            try:
                if any(word.startswith(mark) for word in (folder / "environ").read_bytes().split(b"\0")):
                    name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    found[int(folder.name)] = name
            finally:
                os.close(handle)
    return found


def _lock_file(lock: int) -> None:
    """Take the lock of an open file.

    Raise `BenchError` if another run holds it, and OSError if the file cannot be locked.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BenchError(
            "cannot start: another run is being measured on this machine; wait until it ends, or stop it"
        ) from None


def _lock_in_tmp(path: Path, file: os.stat_result, why: OSError) -> int:
    """Take a lock in the folder for temporary files, because the checkout's file system has no locks, like some NFS.

    Such a lock does not exclude runs on other machines, but those do not disturb this one.
    """
    folder = Path(tempfile.gettempdir())
    name = folder / f"zoo-run-{file.st_dev}-{file.st_ino}.lock"
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        _lock_file(lock)
    except OSError as error:
        raise BenchError(
            f"cannot lock {path}: {why.strerror}; cannot lock a file in {folder}: {error.strerror}; "
            "set TMPDIR to a folder on a local disk, or move the checkout to one"
        ) from None
    return lock
