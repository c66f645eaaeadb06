"""By what the containers of a run are found again and removed; without their engine too, by their processes."""

from __future__ import annotations

from zoo.host import marked
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


def end(names: str) -> None:
    """End what runs in containers whose names begin so; no other process has the mark."""
    marked.end(f"{MARK}={names}")
