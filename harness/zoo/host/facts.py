"""Collects what a run records about its machine; names of hosts and users are left out."""

import platform

from zoo.host import system
from zoo.host.cgroup import read_cgroup, usable_cpus
from zoo.host.jdk import find_jdks
from zoo.host.limits import read_limits
from zoo.host.tools import find_tools
from zoo.model.host import HostFacts, JdkFacts, cores_in_words
from zoo.model.jdk import Jdk


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


def cores() -> str:
    """Describe this machine's cores, and what limits their use."""
    limits = read_cgroup()
    return cores_in_words(system.logical_cores(), usable_cpus(limits), limits.cpus)
