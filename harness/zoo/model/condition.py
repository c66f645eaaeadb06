"""What besides entry, scenario and tier identifies a cell."""

from __future__ import annotations

from pydantic import Field

from zoo.model.data import Data
from zoo.model.host import Cores

IN_IMAGES = ("container", "hosts", "swarm")
"""Runtimes whose servers run in images, with the toolchains of these; `hosts` is in earlier records only."""


class Condition(Data):
    """What besides entry, scenario and tier identifies a cell."""

    runtime: str = "process"
    network: str = Field(
        default="host",
        description="`private`: in a network namespace of the run's own; `host`: in the host's; "
        "`container`, `vm`: in that of the server's container or guest, which has loopback only; `remote`: beyond "
        "loopback; `swarm` (in earlier records also `hosts`): that between the hosts of server and generators",
    )
    jdk: str | None = None
    jvm_flags: list[str] = []
    env: dict[str, str] = {}
    cpus: float | None = Field(
        default=None, description="a limit of the server's container; of a process: the processors it is given"
    )
    cores: Cores | None = Field(
        default=None, description="the processors of server and generator where each has its own; none: both share all"
    )
    memory: str | None = Field(
        default=None,
        description="limit of the server's container, or all of the guest's memory, as the engine takes it: 512m, 2g",
    )
    accelerator: str | None = Field(
        default=None,
        description="of a guest: `kvm`, its processor is this host's; `tcg`, it is emulated and its time says nothing",
    )

    @property
    def emulated(self) -> bool:
        """True where nothing that depends on speed may be told."""
        return self.accelerator == "tcg"

    def differs_in_jvm(self, other: Condition) -> bool:
        """True where this is the other, but for the JVM or its flags."""
        return self != other and self == other.model_copy(update={"jdk": self.jdk, "jvm_flags": self.jvm_flags})

    def settings_unlike(self, other: Condition) -> list[str]:
        """Return the names of the settings in which this differs from the other, if they differ in nothing else."""
        if self != other.model_copy(update={"env": self.env}):
            return []
        return [name for name in {**self.env, **other.env} if self.env.get(name) != other.env.get(name)]
