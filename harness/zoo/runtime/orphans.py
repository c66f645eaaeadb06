"""Finds and removes the containers of a run, also without their engine, by their processes."""

from __future__ import annotations

import os

from zoo.host import run_lock
from zoo.host.engine import Engine, EngineError
from zoo.host.run_lock import RUN

LABEL = "server-zoo.run"
"""A label that every container of a run gets, with the run's own random word."""
LOCK = "server-zoo.lock"
"""A label with the lock that the run holds, so that who holds it next finds what a killed run has left."""
MARK = "ZOO_CONTAINER"
"""A variable that every container of a run gets, with its name."""


def prefix(run_id: str) -> str:
    """How the names of a run's containers begin."""
    return f"zoo-{run_id}-"


def label(run_id: str) -> str:
    """What is left of a run has this label."""
    return f"{LABEL}={run_id}"


def lock() -> list[str]:
    """The label of what belongs to a run that holds this process's lock; none where it holds none."""
    held = os.environ.get(RUN)
    return [f"{LOCK}={held}"] if held else []


def options(run_id: str, name: str) -> list[str]:
    """Options of `docker run` by which a container is found again."""
    labels = (label(run_id), *lock())
    return [f"--name={name}", *(f"--label={one}" for one in labels), f"--env={MARK}={name}"]


def clear(engine: Engine, run_id: str, *, here: bool) -> None:
    """Leave no container of the run behind; where the engine cannot be asked, `EngineError` says what may be left.

    `here`: their processes are this kernel's, so they can be ended without the engine.
    """
    try:
        engine.removed(label(run_id))
    except EngineError as error:
        if here:
            end(prefix(run_id))
            left = "the processes in this run's containers were ended without it"
        else:
            left = (
                "containers of this run may be left; end them when it answers: "
                f"docker rm --force $(docker ps --all --quiet --filter label={label(run_id)})"
            )
        raise EngineError(f"{error}; {left}") from error


def left(engine: Engine) -> list[str]:
    """Remove the containers of a run that held this process's lock before it, and was killed; their names.

    An engine that does not answer keeps them: it is asked again by the next run.
    """
    try:
        return [name for held in lock() for name in engine.removed(held)]
    except EngineError:
        return []


def end(names: str) -> None:
    """End what runs in containers whose names begin so; no other process has the mark."""
    run_lock.kill_marked(f"{MARK}={names}")
