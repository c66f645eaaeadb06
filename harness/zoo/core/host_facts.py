"""The host of a run as it is stored in `run.json`: processors, JDKs, limits and tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from zoo.core.data import Data

MINIMUM_JDK = 21

GENERIC_VM = "virtual machine"
"""The virtualization if a hypervisor shows, but not which, or not on what machine."""


@dataclass(frozen=True)
class Jdk:
    home: Path
    java: Path
    version: str
    major: int
    vendor: str

    @property
    def label(self) -> str:
        return f"Java {self.version} in {self.home}"


def feature_release(version: str) -> int:
    """Return the feature release: 25 for `25.0.1+8`, 8 for `1.8.0_402`."""
    numbers = version_key(version)
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def version_key(version: str) -> tuple[int, ...]:
    """Return the version's numbers in order, without the build, so that versions can be compared."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", version.partition("+")[0])) or (0,)


class Cores(Data):
    """Processors of the server, and those of the generator and the harness, by the kernel's numbers.

    The kind of core is given if the machine has several kinds.
    """

    server: list[int] = Field(min_length=1)
    generator: list[int] = Field(min_length=1)
    server_kind: str | None = None
    generator_kind: str | None = None

    def __str__(self) -> str:
        sides = {"server": (self.server, self.server_kind), "generator": (self.generator, self.generator_kind)}
        return ", ".join(
            f"{name} {format_ranges(processors)}" + (f" ({kind} cores)" if kind else "")
            for name, (processors, kind) in sides.items()
        )


@dataclass(frozen=True)
class PhysicalCore:
    """A core of the machine, with those of its processors that this process may use; kind 0 is the fastest."""

    package: int
    processors: tuple[int, ...]
    kind: int = 0


def format_ranges(numbers: Sequence[int]) -> str:
    """Format numbers as the kernel does: `0-3,8`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def parse_ranges(text: str) -> list[int]:
    """Parse the kernel's format, such as `0-3,8`; ValueError for anything else."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class CgroupLimits(Data):
    """Limits of the control group. None means that there is no limit, or that none can be read."""

    version: str | None = None
    memory_kb: int | None = None
    cpus: float | None = None
    pids: int | None = None


class Limits(Data):
    """Host limits that can look like results; None if unknown or unlimited. The ports are those of each generator host.

    If the server and the generators run on separate hosts, `server_host` and `ports_host` name the hosts of these
    limits and ports.
    """

    nofile_soft: int | None = None
    nofile_hard: int | None = None
    file_max: int | None = None
    somaxconn: int | None = None
    tcp_max_syn_backlog: int | None = None
    tcp_tw_reuse: int | None = None
    port_low: int | None = None
    port_high: int | None = None
    pid_max: int | None = None
    threads_max: int | None = None
    max_map_count: int | None = None
    nproc: int | None = None
    generators: int = 1
    server_host: str | None = None
    ports_host: str | None = None
    cgroup: CgroupLimits = CgroupLimits()

    @property
    def ports(self) -> tuple[int, int] | None:
        if self.port_low is None or self.port_high is None:
            return None
        return self.port_low, self.port_high


class Tools(Data):
    """Versions of the tools; None if a tool is missing or does not run."""

    wrk: str | None = None
    cargo: str | None = None
    rustc: str | None = None
    maven: str | None = None
    docker: str | None = None
    engine: str | None = None


class EngineFacts(Data):
    """Facts about the container engine, stored in `run.json`."""

    version: str
    system: str
    kernel: str
    cgroup: str | None
    storage: str | None
    cores: int | None
    memory_kb: int | None
    rootless: bool


class JdkFacts(Data):
    """A JDK. `name` is that of its folder, without the path."""

    name: str
    version: str
    major: int
    vendor: str

    @classmethod
    def of(cls, jdk: Jdk) -> JdkFacts:
        return cls(name=jdk.home.name, version=jdk.version, major=jdk.major, vendor=jdk.vendor)


def format_cores(cores: int | None, usable: float | None, quota: float | None) -> str:
    """Format the number of cores, with a limit if not all may be used: `2 cores, limited to 0.6 by a control group`."""
    if usable is None or cores is None or usable >= cores:
        return f"{cores} cores"
    by = "a control group" if usable == quota else "its CPU affinity"
    return f"{cores} cores, limited to {usable:g} by {by}"


class HostFacts(Data):
    """Facts about the host, stored in `run.json`; None if this system does not provide a value."""

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
    container_engine: str | None = None

    @property
    def place(self) -> str:
        """Describe the virtualization in words, and the container if the run took place in one."""
        machine = self.virtualization or "no virtualization detected"
        return f"in a container ({self.container_engine or 'unknown engine'}), {machine}" if self.container else machine

    @property
    def unknown_machine(self) -> str:
        """Return a sentence if the run took place in a container on a machine without a name; otherwise empty.

        A virtual machine shows its hypervisor in DMI fields or in processor flags. ARM processors have no such flag.
        """
        machine = self.virtualization or (GENERIC_VM if self.architecture.startswith(("aarch64", "arm")) else "")
        if not self.container or GENERIC_VM not in machine:
            return ""
        return (
            "Measured in a container on a host that cannot be seen from there: other work on that host "
            "appears only as noise."
        )

    @property
    def processors(self) -> str:
        """Return the number of cores in words, and how many may be used if that is fewer."""
        return format_cores(self.cores, self.cores_usable, self.limits.cgroup.cpus)

    def processors_shared_by(self, users: str) -> str:
        return f"{self.processors}{(',' if ',' in self.processors else '')} shared by {users}"

    @property
    def memory_usable_kb(self) -> int | None:
        """Return the machine's memory, or the control group's limit if that is lower."""
        known = [kb for kb in (self.memory_kb, self.limits.cgroup.memory_kb) if kb is not None]
        return min(known, default=None)
