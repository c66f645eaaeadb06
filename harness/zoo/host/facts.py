"""What is known of the machine a run was made on: no name of it, nor of its users."""

import platform

from pydantic import BaseModel, ConfigDict

from zoo.host import system
from zoo.host.cgroup import usable_cpus
from zoo.host.engine import EngineFacts
from zoo.host.jdk import Jdk, find_jdks
from zoo.host.limits import Limits, read_limits
from zoo.host.tools import Tools, find_tools


class JdkFacts(BaseModel):
    """A JDK, its folder's name without the path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    major: int
    vendor: str

    @classmethod
    def of(cls, jdk: Jdk) -> "JdkFacts":
        return cls(name=jdk.home.name, version=jdk.version, major=jdk.major, vendor=jdk.vendor)


class HostFacts(BaseModel):
    """Goes into `run.json`; None where this system does not tell."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    kernel: str
    architecture: str
    distribution: str | None
    family: str | None
    virtualization: str | None
    container: bool
    cpu_model: str | None
    cores: int | None
    cores_usable: float | None
    governor: str | None
    turbo: bool | None
    memory_kb: int | None
    swap_kb: int | None
    huge_pages: str | None
    libc: str | None
    python: str
    limits: Limits
    jdk: JdkFacts | None
    jdks: list[JdkFacts]
    tools: Tools
    engine: EngineFacts | None = None

    @property
    def memory_usable_kb(self) -> int | None:
        """Of the machine, or of the control group when that is less."""
        known = [kb for kb in (self.memory_kb, self.limits.cgroup.memory_kb) if kb is not None]
        return min(known, default=None)


def gather(jdk: Jdk | None = None) -> HostFacts:
    """Looks at this machine; `jdk` is the one the run uses."""
    limits = read_limits()
    name, family = system.distribution()
    memory_kb, swap_kb = system.memory_kb()
    return HostFacts(
        system=platform.system(),
        kernel=platform.release(),
        architecture=platform.machine(),
        distribution=name,
        family=family,
        virtualization=system.virtualization(),
        container=system.in_container(),
        cpu_model=system.cpu_model(),
        cores=system.logical_cores(),
        cores_usable=usable_cpus(limits.cgroup),
        governor=system.governor(),
        turbo=system.turbo(),
        memory_kb=memory_kb,
        swap_kb=swap_kb,
        huge_pages=system.huge_pages(),
        libc=system.libc(),
        python=platform.python_version(),
        limits=limits,
        jdk=JdkFacts.of(jdk) if jdk else None,
        jdks=[JdkFacts.of(found) for found in find_jdks()],
        tools=find_tools(),
    )
