"""By what the containers of a run are found again and removed; without their engine too, by their processes."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from zoo.host.engine import Engine, EngineError

LABEL = "server-zoo.run"
"""A label that every container of a run gets, with the run's own random word."""
MARK = "ZOO_CONTAINER"
"""A variable that every container of a run gets, with its name."""


def prefix(run_id: str) -> str:
    """How the names of a run's containers begin."""
    return f"zoo-{run_id}-"


def options(run_id: str, name: str) -> list[str]:
    """Options of `docker run` by which a container is found again."""
    return [f"--name={name}", f"--label={LABEL}={run_id}", f"--env={MARK}={name}"]


def clear(engine: Engine, run_id: str, *, here: bool) -> None:
    """Leave no container of the run behind; where the engine cannot be asked, `EngineError` says what may be left.

    `here`: their processes are this kernel's, so they can be ended without the engine.
    """
    label = f"{LABEL}={run_id}"
    try:
        engine.remove(engine.labelled(label))
    except EngineError as error:
        if here:
            end(prefix(run_id))
            left = "the processes in this run's containers were ended without it"
        else:
            left = (
                "containers of this run may be left; end them when it answers: "
                f"docker rm --force $(docker ps --all --quiet --filter label={label})"
            )
        raise EngineError(f"{error}; {left}") from error


def end(names: str, within_s: float = 5.0) -> None:
    """SIGKILL to what runs in containers whose names begin so, where this kernel runs it and lets us.

    Returns when it is gone; with processes of others it has nothing to do, as no other has the mark.
    """
    deadline = time.monotonic() + within_s
    while _signalled(f"{MARK}={names}".encode()) and time.monotonic() < deadline:
        time.sleep(0.05)


def _signalled(mark: bytes) -> bool:
    """Whether there was one to signal. By a handle: the number may be another process's by then."""
    found = False
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            handle = os.pidfd_open(int(folder.name))
            try:
                if any(word.startswith(mark) for word in (folder / "environ").read_bytes().split(b"\0")):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    found = True
            finally:
                os.close(handle)
    return found
