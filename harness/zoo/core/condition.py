"""The conditions of a cell: everything that identifies it except entry, scenario and connection count."""

from __future__ import annotations

from pydantic import Field

from zoo.core.data import Data
from zoo.core.host_facts import Cores

IN_IMAGES = ("container", "hosts", "swarm")
"""Runtimes whose servers run in images and use the toolchains of these. `hosts` occurs only in earlier records."""


class Condition(Data):
    """Everything that identifies a cell except its entry, scenario and connection count."""

    runtime: str = "process"
    network: str = Field(
        default="host",
        description=(
            "`private`: a separate network namespace of the run; `host`: that of the host; "
            "`container`, `vm`: that of the server's container or guest, which has loopback "
            "only; `remote`: beyond loopback; `swarm` (in earlier records also `hosts`): the "
            "network between the hosts of server and generators"
        ),
    )
    jdk: str | None = None
    jvm_flags: list[str] = []
    env: dict[str, str] = {}
    cpus: float | None = Field(
        default=None,
        description=("CPU limit of the server's container; for a process, the number of processors it gets"),
    )
    cores: Cores | None = Field(
        default=None, description=("the processors of server and generator if each has its own; none if both share all")
    )
    memory: str | None = Field(
        default=None,
        description=(
            "memory limit of the server's container, or the guest's memory, in the engine's notation: 512m, 2g"
        ),
    )
    accelerator: str | None = Field(
        default=None,
        description=(
            "for a guest, `kvm` (it uses this host's processor) or `tcg` (emulated, so its time means nothing)"
        ),
    )

    @property
    def emulated(self) -> bool:
        """Return True if the processor is emulated, so that results which depend on speed must not be reported."""
        return self.accelerator == "tcg"

    def differs_in_jvm(self, other: Condition) -> bool:
        """Return True if only the JVM or its flags differ from the other condition."""
        return self != other and self == other.model_copy(update={"jdk": self.jdk, "jvm_flags": self.jvm_flags})

    def settings_unlike(self, other: Condition) -> list[str]:
        """Return the names of the settings that differ from the other condition, if the two differ in nothing else."""
        if self != other.model_copy(update={"env": self.env}):
            return []
        return [name for name in {**self.env, **other.env} if self.env.get(name) != other.env.get(name)]
