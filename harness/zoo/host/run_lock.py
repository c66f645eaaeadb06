"""Allows one run at a time on a machine, marks what a run starts, and removes what a killed run has left."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from zoo.model.errors import BenchError

RUN = "ZOO_LOCK"
"""A variable that every process of a run gets, with the lock that the run holds."""


def acquire_run_lock(root: Path) -> list[str]:
    """Take the lock, and remove what a killed run has left; return the names of the processes that were ended.

    Two runs at once would measure each other. The lock lasts as long as this process, also through exec. Whoever holds
    it is the only run, so what still has its mark was left by a run that was killed.
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
        lock = _lock_in_tmp(path, os.fstat(lock), error)
    os.set_inheritable(lock, True)
    # also in a namespace or a chroot no other file has both numbers
    file = os.fstat(lock)
    os.environ[RUN] = f"{file.st_dev}:{file.st_ino}."
    left = kill_marked(f"{RUN}={os.environ[RUN]}")
    clear_scratch()
    return left


def run_mark() -> dict[str, str]:
    """Return the variable by which what this process starts is found again; empty where it holds no lock."""
    return {RUN: os.environ[RUN]} if RUN in os.environ else {}


def kill_marked(mark: str, within_s: float = 5.0) -> list[str]:
    """Kill each process with a variable that begins so (`NAME=value`), where this user may; return their names.

    Returns when they are gone.
    """
    deadline = time.monotonic() + within_s
    ended: dict[int, str] = {}
    while (found := _kill(mark.encode())) and time.monotonic() < deadline:
        ended |= found
        time.sleep(0.05)
    return sorted(ended.values())


def scratch_folder(of: str) -> tempfile.TemporaryDirectory[str]:
    """Make a temporary folder of this run, removed with its context even where something still writes to it.

    `of` is a word for people who look.
    """
    return tempfile.TemporaryDirectory(prefix=f"{_prefix()}{of}-", ignore_cleanup_errors=True)


def clear_scratch() -> None:
    """Remove the folders of the run whose mark this process has; only the holder of its lock may do that."""
    for left in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        shutil.rmtree(left, ignore_errors=True)


def _prefix() -> str:
    mark = os.environ.get(RUN, "")
    return f"zoo-{mark.replace(':', '-').replace('.', '-')}"


def _kill(mark: bytes) -> dict[int, str]:
    """Return names by pid. Signals by a handle: the pid may be another process's by then."""
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


def _take(lock: int) -> None:
    """Take the lock of an open file; `BenchError` where another run has it, OSError where it cannot be locked."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BenchError("another run is being measured here; wait for it or stop it") from None


def _lock_in_tmp(path: Path, file: os.stat_result, why: OSError) -> int:
    """Take a lock in the folder for temporary files instead: the checkout is on a file system without locks, such as
    some NFS. Runs on other machines do not disturb this one.
    """
    folder = Path(tempfile.gettempdir())
    name = folder / f"zoo-run-{file.st_dev}-{file.st_ino}.lock"
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        _take(lock)
    except OSError as error:
        raise BenchError(
            f"{path} cannot be locked: {why.strerror}, nor can a file in {folder}: {error.strerror}; "
            "name a folder on a local disk as TMPDIR, or keep the checkout on one"
        ) from None
    return lock
