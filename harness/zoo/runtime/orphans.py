"""Removal of a run's containers or, if the engine is gone, of their processes."""

from __future__ import annotations

import os

from zoo.host import run_lock
from zoo.host.engine import Engine, EngineError
from zoo.host.run_lock import RUN

LABEL = "server-zoo.run"
"""A label of every container of a run; its value is the run's random id."""
LOCK = "server-zoo.lock"
"""A label whose value is the run's lock, so that the next holder of the lock finds what a killed run left behind."""
MARK = "ZOO_CONTAINER"
"""An environment variable of every container of a run; its value is the container's name."""


def prefix(run_id: str) -> str:
    """Return the prefix of the names of a run's containers."""
    return f"zoo-{run_id}-"


def label(run_id: str) -> str:
    """Return the label of everything that belongs to a run."""
    return f"{LABEL}={run_id}"


def lock_labels() -> list[str]:
    """Return the label of everything made under this process's lock, as a list that is empty if it holds no lock."""
    lock = os.environ.get(RUN)
    return [f"{LOCK}={lock}"] if lock else []


def options(run_id: str, name: str) -> list[str]:
    """Return the options of `docker run` that identify a container."""
    labels = (label(run_id), *lock_labels())
    return [f"--name={name}", *(f"--label={one}" for one in labels), f"--env={MARK}={name}"]


def remove_containers(engine: Engine, run_id: str, *, here: bool) -> None:
    """Remove all containers of the run; if the engine does not answer, `EngineError` says what may be left.

    With `here`, this kernel runs their processes, so they can be killed without the engine.
    """
    try:
        engine.remove_labelled(label(run_id))
    except EngineError as error:
        if here:
            kill_processes(prefix(run_id))
            left = "the processes in this run's containers were killed without it"
        else:
            left = (
                "containers of this run may remain; when the engine answers, remove them: docker rm "
                f"--force $(docker ps --all --quiet --filter label={label(run_id)})"
            )
        raise EngineError(f"{error}; {left}") from error


def remove_leftovers(engine: Engine) -> list[str]:
    """Remove the containers of a killed run that held this process's lock before; return their names.

    If the engine does not answer, the containers stay, and the next run tries again.
    """
    try:
        return [name for lock in lock_labels() for name in engine.remove_labelled(lock)]
    except EngineError:
        return []


def kill_processes(names: str) -> None:
    """Kill all processes in containers whose names begin with `names`; no other process has the mark."""
    run_lock.kill_marked(f"{MARK}={names}")
