"""The facts that a run records about its machine: system, limits and tools, but no host or user names."""

import os
import platform
import re
import resource
import shutil
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from zoo.core.host_facts import GENERIC_VM, HostFacts, Jdk, JdkFacts, Limits, Tools, format_cores
from zoo.host.cgroup import parse_amount, read_cgroup, usable_cpus
from zoo.host.files import read_text
from zoo.host.jdk import find_jdks

# Files that an engine puts into its containers.
DOCKER_MARK, PODMAN_MARK = Path("/.dockerenv"), Path("/run/.containerenv")

# Words in DMI fields, and the hypervisor that each one shows.
HYPERVISORS = {
    "amazon ec2": "Amazon EC2",
    "google": "Google Compute Engine",
    "microsoft corporation virtual machine": "Hyper-V",
    "vmware": "VMware",
    "virtualbox": "VirtualBox",
    "qemu": "KVM/QEMU",
    "kvm": "KVM",
    "xen": "Xen",
    "openstack": "OpenStack",
    "parallels": "Parallels",
}

FAMILIES = {
    "debian": {"debian", "ubuntu"},
    "fedora": {"fedora", "rhel", "centos"},
    "suse": {"suse", "opensuse"},
    "arch": {"arch"},
    "alpine": {"alpine"},
}

# wrk has only `-v`. `docker --version` is the client's version; `docker version` waits for the engine, and without one
# prints an error, sometimes with exit code 0.
COMMANDS = {
    "wrk": ["wrk", "-v"],
    "cargo": ["cargo", "--version"],
    "rustc": ["rustc", "--version"],
    "maven": ["mvn", "--version"],
    "docker": ["docker", "--version"],
    "engine": ["docker", "version", "--format", "{{.Server.Version}}"],
}


def gather(jdk: Jdk | None = None) -> HostFacts:
    """Gather the facts about this machine; `jdk` is the one that the run uses."""
    limits = read_limits()
    name, family = distribution()
    memory, swap = memory_kb()
    return HostFacts(
        system=platform.system(),
        kernel=platform.release(),
        architecture=platform.machine(),
        distribution=name,
        family=family,
        virtualization=_virtualization(),
        container=DOCKER_MARK.exists() or PODMAN_MARK.exists(),
        container_engine=_container_engine(),
        cpu_model=parse_cpu_model(read_text("/proc/cpuinfo")) or platform.processor() or None,
        cores=os.cpu_count(),
        cores_usable=usable_cpus(limits.cgroup),
        governor=read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        turbo=_turbo(),
        memory_kb=memory,
        swap_kb=swap,
        huge_pages=huge_pages(),
        libc=_libc(),
        python=platform.python_version(),
        limits=limits,
        jdk=JdkFacts.of(jdk) if jdk else None,
        jdks=[JdkFacts.of(found) for found in find_jdks()],
        tools=find_tools(),
    )


def read_limits() -> Limits:
    soft, hard = _rlimit(resource.RLIMIT_NOFILE)
    low, high = parse_range(_sysctl("net/ipv4/ip_local_port_range")) or (None, None)
    return Limits(
        nofile_soft=soft,
        nofile_hard=hard,
        file_max=parse_amount(_sysctl("fs/file-max")),
        somaxconn=parse_amount(_sysctl("net/core/somaxconn")),
        tcp_max_syn_backlog=parse_amount(_sysctl("net/ipv4/tcp_max_syn_backlog")),
        tcp_tw_reuse=parse_amount(_sysctl("net/ipv4/tcp_tw_reuse")),
        port_low=low,
        port_high=high,
        pid_max=parse_amount(_sysctl("kernel/pid_max")),
        threads_max=parse_amount(_sysctl("kernel/threads-max")),
        max_map_count=parse_amount(_sysctl("vm/max_map_count")),
        nproc=_rlimit(resource.RLIMIT_NPROC)[1],
        cgroup=read_cgroup(),
    )


def describe_cores() -> str:
    """Describe this machine's cores and the limits on their use."""
    limits = read_cgroup()
    return format_cores(os.cpu_count(), usable_cpus(limits), limits.cpus)


def distribution() -> tuple[str | None, str | None]:
    """Return the distribution's readable name and its family, which determines the package manager."""
    try:
        fields = platform.freedesktop_os_release()
    except OSError:
        return None, None
    return fields["PRETTY_NAME"], family_of(fields)


def memory_kb() -> tuple[int | None, int | None]:
    try:
        return psutil.virtual_memory().total // 1024, psutil.swap_memory().total // 1024
    except (OSError, RuntimeError):
        return None, None


def huge_pages() -> str | None:
    return parse_choice(read_text("/sys/kernel/mm/transparent_hugepage/enabled"))


def find_tools() -> Tools:
    """Find the versions of all tools in parallel, with a timeout of some seconds for each."""
    with ThreadPoolExecutor() as pool:
        return Tools(**dict(zip(COMMANDS, pool.map(_version, COMMANDS), strict=True)))


def minimum_rust(root: Path) -> str | None:
    """Return the oldest version of Rust that builds the servers below this folder, from their Cargo.toml."""
    named = [tomllib.loads(path.read_text(encoding="utf-8"))["package"] for path in root.glob("*/Cargo.toml")]
    return max((package["rust-version"] for package in named if "rust-version" in package), default=None)


def parse_range(text: str | None) -> tuple[int, int] | None:
    words = (text or "").split()
    if len(words) != 2:
        return None
    low, high = parse_amount(words[0]), parse_amount(words[1])
    return (low, high) if low is not None and high is not None and low <= high else None


def parse_cpu_model(cpuinfo: str) -> str | None:
    """Return the first model name in /proc/cpuinfo (x86, or some ARM kernels)."""
    found = re.search(r"^(?:model name|Model|cpu model)[ \t]*:[ \t]*(\S[^\n]*)", cpuinfo, re.MULTILINE)
    return found.group(1).strip() if found else None


def family_of(os_release: dict[str, str]) -> str | None:
    """Return the distribution's family: debian, fedora, suse, arch or alpine."""
    words = f"{os_release.get('ID', '')} {os_release.get('ID_LIKE', '')}".lower().split()
    for word in words:
        for family, members in FAMILIES.items():
            if any(word == member or word.startswith(f"{member}-") for member in members):
                return family
    return None


def parse_virtualization(cpuinfo: str, dmi: str, kernel: str) -> str | None:
    """Return the likely virtualization, from the DMI names, the kernel's name and the processor's hypervisor flag."""
    if "microsoft" in kernel.lower():
        return "WSL"
    for word, name in HYPERVISORS.items():
        if word in dmi.lower():
            return name
    if "linuxkit" in kernel.lower():
        return f"{GENERIC_VM} of Docker Desktop"
    if re.search(r"^(?:flags|Features)\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        return GENERIC_VM
    return None


def parse_container_engine(containerenv: str) -> str | None:
    """Return the engine in a file that Podman gives to its containers: `podman 5.4.2`."""
    found = re.search(r'^engine="([^"-]+)-?([^"]*)"', containerenv, re.MULTILINE)
    return " ".join(found.groups()).strip() if found else None


def parse_choice(text: str) -> str | None:
    """Return the bracketed word of `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text)
    return found.group(1) if found else None


def parse_version(text: str) -> str | None:
    """Return the first version in what a tool prints: `wrk debian/4.1.0-3+b2 [epoll]` -> `4.1.0-3+b2`.

    A wrk built from a clone without tags prints a commit, and one built from an archive prints nothing.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = re.search(r"(?<![0-9.])[0-9]+\.[0-9]+[0-9A-Za-z.+~-]*", plain)
    if found:
        return found.group(0).rstrip(".-")
    wrk = re.match(r"wrk (\S*) \[", plain)
    return wrk.group(1) or "unknown" if wrk else None


def _rlimit(which: int) -> tuple[int | None, int | None]:
    soft, hard = (None if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(which))
    return soft, hard


def _sysctl(name: str) -> str:
    return read_text(f"/proc/sys/{name}")


def _virtualization() -> str | None:
    dmi = " ".join(read_text(f"/sys/class/dmi/id/{name}").strip() for name in ("sys_vendor", "product_name"))
    return parse_virtualization(read_text("/proc/cpuinfo"), dmi, platform.release())


def _container_engine() -> str | None:
    if PODMAN_MARK.exists():
        return parse_container_engine(read_text(PODMAN_MARK)) or "podman"
    return "docker" if DOCKER_MARK.exists() else None


def _turbo() -> bool | None:
    """Return whether the clock may rise above nominal; None if the kernel does not report it."""
    off = read_text("/sys/devices/system/cpu/intel_pstate/no_turbo").strip()
    on = read_text("/sys/devices/system/cpu/cpufreq/boost").strip()
    if off in ("0", "1"):
        return off == "0"
    return on == "1" if on in ("0", "1") else None


def _libc() -> str | None:
    name, version = platform.libc_ver()
    if name:
        return f"{name} {version}"
    return "musl" if any(Path("/lib").glob("ld-musl-*")) else None


def _version(tool: str) -> str | None:
    """Run a tool and return its version; None if there is no such tool or it prints no version in time."""
    command, engine = COMMANDS[tool], tool == "engine"
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=3 if engine else 10, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(done.stdout if engine else done.stdout + done.stderr)
