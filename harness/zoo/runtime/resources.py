"""What of the machine a container may have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.model.cores import ranges

LEAST_PIDS = 4_096


@dataclass(frozen=True)
class Resources:
    """What a server's container may use; None: no limit of the container's own."""

    cpus: float | None = None
    memory: str | None = None
    pids: int = LEAST_PIDS

    def words(self) -> list[str]:
        """Options of `docker run`."""
        words = [f"--pids-limit={self.pids}"]
        if self.cpus is not None:
            words.append(f"--cpus={self.cpus:g}")
        if self.memory is not None:
            words += [f"--memory={self.memory}", f"--memory-swap={self.memory}"]
        return words


def resources_of(environment: Mapping[str, str]) -> Resources:
    """SERVER_CPUS, SERVER_MEMORY (0: no limit, as in the compose file) and SERVER_PIDS; ValueError names a bad one."""
    cpus, memory = environment.get("SERVER_CPUS") or "0", environment.get("SERVER_MEMORY") or "0"
    pids = environment.get("SERVER_PIDS") or str(LEAST_PIDS)
    if not re.fullmatch(r"\d+(\.\d+)?", cpus):
        raise ValueError(f'SERVER_CPUS must be a number such as 1.5, or 0 for no limit, got "{cpus}"')
    if not re.fullmatch(r"0|[1-9]\d*[bkmg]?", memory):
        raise ValueError(f'SERVER_MEMORY must be an amount such as 512m or 2g, got "{memory}"')
    if not re.fullmatch(r"-1|[1-9]\d*", pids):
        raise ValueError(f'SERVER_PIDS must be a whole number above 0, or -1 for no limit, got "{pids}"')
    return Resources(float(cpus) or None, None if memory == "0" else memory, int(pids))


def cpuset(processors: Sequence[int]) -> list[str]:
    """The option of `docker run` that gives a container these processors; none: all."""
    return [f"--cpuset-cpus={ranges(processors)}"] if processors else []
