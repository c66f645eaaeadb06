"""Checks of this host's limits and tools: their effect on each connection count, and commands that fix them.

The checks change nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from zoo.core import capacity
from zoo.core.capacity import SERVER_DESCRIPTORS, SPARE_PORTS, Setting
from zoo.core.host_facts import MINIMUM_JDK, EngineFacts, HostFacts, Limits, version_key
from zoo.host.engine import EngineError

State = Literal["ok", "warn", "bad"]

TIERS = {"100": 100, "1k": 1_000, "25k": 25_000}
HIGHEST = max(TIERS.values())
NOFILE_WANTED = 65_536
BACKLOG_WANTED = 4_096
POOL_WANTED = 2_000
PORTS_WANTED = "15000 60999"
# The memory of the largest entry at the highest sleeping tier, with the generator and the kernel's sockets.
MEMORY_WANTED_GB = 8
MEMORY_NEEDED_GB = 2
CORES_WANTED = 4
HIGHEST_SERVER_PORT = 8_109
SIGNS: dict[State, tuple[str, str]] = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "bad": ("BAD", "bold red")}

ROOM = 76
"""Terminal width that the table needs for its longest words, in columns."""

# For systems without a usable package of a tool.
BY_HAND = {
    "jdk": "unpack Eclipse Temurin 21 or newer and set JAVA_HOME, or with SDKMAN: sdk install java",
    "cargo": "install Rust with rustup (see rustup.rs)",
    "maven": "unpack Apache Maven and put its bin folder on PATH",
    "wrk": "build wrk from its sources (github.com/wg/wrk): make, then put wrk on PATH",
    "docker": "install Docker Engine as described in its documentation",
    "compose": "install docker-compose-plugin (Docker's own packages), docker-compose-v2 (Ubuntu), docker-compose "
    "(Debian 13, Arch) or docker-cli-compose (Alpine)",
    "qemu": "make qemu, on Debian on x86_64",  # not apt-get alone, which may install a QEMU that crashes JVMs
}

INSTALL = {
    "debian": "sudo apt-get install -y",
    "fedora": "sudo dnf install -y",
    "suse": "sudo zypper install -y",
    "arch": "sudo pacman -S --needed",
    "alpine": "sudo apk add",
}

PACKAGES = {
    "debian": {"jdk": "openjdk-21-jdk-headless", "maven": "maven", "wrk": "wrk", "docker": "docker.io"},
    "fedora": {"jdk": "java-21-openjdk-devel", "cargo": "cargo", "maven": "maven"},
    "suse": {"jdk": "java-21-openjdk-devel", "cargo": "cargo", "maven": "maven", "docker": "docker"},
    "arch": {"jdk": "jdk21-openjdk", "cargo": "rust", "maven": "maven", "wrk": "wrk", "docker": "docker"},
    "alpine": {"jdk": "openjdk21", "cargo": "cargo", "maven": "maven", "wrk": "wrk", "docker": "docker"},
}

# Releases whose packages have no JDK 21.
WITHOUT_JDK_21 = ("Debian GNU/Linux 12", "Debian GNU/Linux 11", "Ubuntu 20.04")


@dataclass(frozen=True)
class Check:
    """One row: what was found, what it means, and the command that fixes it (None if there is nothing to fix)."""

    name: str
    found: str
    meaning: str
    state: State
    fix: str | None = None


def checks(facts: HostFacts, rust: str | None = None, *, builds: bool = True) -> list[Check]:
    """Return all rows, limits first.

    `rust` is the oldest version of Rust that builds the servers; `builds` is False if they were built elsewhere.
    """
    compilers = [_cargo(facts, rust), _tool(facts, "Maven", "maven", facts.tools.maven, "builds the Java servers")]
    return [
        _descriptors(facts),
        _ports(facts.limits.ports),
        _backlog(facts.limits),
        _threads(facts.limits),
        _cores(facts),
        _memory(facts),
        _clock(facts),
        _jdk(facts),
        *(compilers if builds else []),
        _tool(facts, "wrk", "wrk", facts.tools.wrk, "generates the load for any number of connections"),
    ]


def load_generators(found: Mapping[str, bool]) -> Check:
    """Return the row of load generators other than wrk; `found` says which are installed."""
    missing = [name for name, there in found.items() if not there]
    if not missing:
        return Check("generators", ", ".join(found), "generate the load of pool-size, open, rate, ramp and ab", "ok")
    shown = "; ".join(filter(None, [", ".join(n for n in found if n not in missing), f"no {', '.join(missing)}"]))
    meaning = "needed for make answer and the scenarios pool-size, open, rate, ramp and ab"
    return Check("generators", shown, meaning, "warn", "make tools (vegeta needs Go)")


def container_engine(facts: HostFacts, found: EngineFacts | EngineError) -> Check:
    """Return the row of containers; `found` is the result of the same check that a run in containers makes."""
    if isinstance(found, EngineFacts):
        return Check("container engine", f"Docker {found.version}", "RUNTIME=container works", "ok")
    name = "none" if facts.tools.docker is None else f"docker {facts.tools.docker}, unusable"
    why = "" if facts.tools.docker is None else f": {found}"
    fix = _engine_fix(found, facts.family)
    return Check("container engine", name, f"servers run as plain processes{why}", "warn", fix)


def virtual_host(facts: HostFacts, missing: str | None, qemu: str | None, device: bool) -> Check:
    """Return the row of RUNTIME=vm; `missing` is what is missing for it, and `device` whether KVM may work."""
    if missing is None:
        emulated = "emulated, so for memory and threads only, not for speed"
        speed = f"; if KVM starts no guest, {emulated}" if device else f"; {emulated}"
        found = f"QEMU {qemu or 'unknown'}, {'/dev/kvm' if device else 'no KVM'}"
        return Check("virtual host", found, f"RUNTIME=vm can hold 25k connections{speed}", "ok")
    if capacity.feasible_connections(facts.limits, HIGHEST).limited_by is None:
        return Check("virtual host", "none", "not needed: processes can hold every number of connections", "ok")
    fix = install_command("qemu", facts.family)
    return Check("virtual host", "none", f"RUNTIME=vm could hold 25k connections, but {missing}", "warn", fix)


def worst_state(found: list[Check]) -> State:
    return max((check.state for check in found), key=list(SIGNS).index, default="ok")


def print_checks(found: list[Check], console: Console) -> None:
    """Print a table that fits 80 columns, and below it the commands on separate lines, ready to copy."""
    if console.width < ROOM:
        for check in found:
            console.print(Text(f"{SIGNS[check.state][0]} {check.name}: {check.found}"))
            console.print(Padding(Text(check.meaning), (0, 0, 0, 2)))
    else:
        console.print(_table(found))
    fixes = [check for check in found if check.fix]
    if fixes:
        console.print("\nTo fix (nothing has been changed):")
    for check in fixes:
        console.print(Text(f"  {check.name}:"))
        for line in (check.fix or "").splitlines():
            console.print(Text(wrap_command(line, console.width)), soft_wrap=True)


def wrap_command(command: str, width: int) -> str:
    """Break a command between words so that a shell still reads it as one; quoted words stay whole."""
    words, lines = re.findall(r"(?:'[^']*'|[^ '])+", command), ["   "]
    for word in words:
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


def install_command(tool: str, family: str | None, distribution: str | None = None) -> str:
    """Return how to install `jdk`, `cargo`, `maven`, `wrk`, `docker`, `compose` or `qemu`."""
    if tool == "jdk" and (distribution or "").startswith(WITHOUT_JDK_21):
        return BY_HAND[tool]
    package = PACKAGES.get(family or "", {}).get(tool)
    return f"{INSTALL[family]} {package}" if family and package else BY_HAND[tool]


def host_limit_fix(setting: Setting, connections: int) -> str:
    """Return the command that lets the engine's host hold, or open, this many connections of containers."""
    wanted = connections + SERVER_DESCRIPTORS
    if setting == "ports":
        return _sysctl("net.ipv4.ip_local_port_range", "1024 65535")
    if setting == "files":
        return _sysctl("fs.file-max", str(2 * wanted))
    return f"dockerd --default-ulimit nofile={wanted}:{wanted}, or default-ulimits in its /etc/docker/daemon.json"


def _engine_fix(error: EngineError, family: str | None) -> str:
    if error.lacks:
        return install_command(error.lacks, family)
    if "permission denied" in str(error).lower():
        return "sudo usermod -aG docker $USER, and log in again"
    return "sudo systemctl start docker"


MORE_FOR_THE_ENGINE = (
    "if the engine runs in a virtual machine, give that more cores and memory (Docker Desktop: Settings, Resources; "
    "Colima: colima start --cpu 4 --memory 8)"
)


def _nofile_fix(facts: HostFacts) -> str:
    """Return commands that raise the limit for this shell and its children, and permanently from the next login.

    The permanent one needs PAM to set limits. It names root because `*` does not include root. (A systemd service
    would need LimitNOFILE=.) In a container, the engine decides.
    """
    if facts.container:
        limit = f'{{"Name": "nofile", "Soft": {NOFILE_WANTED}, "Hard": {NOFILE_WANTED}}}'
        return f'in daemon.json of the engine: "default-ulimits": {{"nofile": {limit}}}'
    now = f"sudo prlimit --pid $$ --nofile={NOFILE_WANTED}:{NOFILE_WANTED}"
    keep = f"printf '%s - nofile {NOFILE_WANTED}\\n' '*' root | sudo tee /etc/security/limits.d/zoo.conf"
    return now if facts.family == "alpine" else f"{now}\n{keep}"


def _sysctl(name: str, value: str) -> str:
    """Return the command that changes a setting until the next boot."""
    quoted = f'"{value}"' if " " in value else value
    return f"sudo sysctl -w {name}={quoted}"


def _table(found: list[Check]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("")
    table.add_column("what", no_wrap=True)
    table.add_column("found", max_width=24)
    table.add_column("what it means")
    for check in found:
        sign, style = SIGNS[check.state]
        table.add_row(Text(sign, style), check.name, Text(check.found), Text(check.meaning))
    return table


def _describe_tiers(most: int) -> tuple[str, State]:
    """Describe which tiers run in full if `most` connections can be held."""
    cut = [name for name, size in TIERS.items() if size > most]
    if not cut:
        return "every number of connections up to 25k", "ok"
    actual = f"{most / 1000:g}k" if most >= 1_000 else str(max(0, most))
    return ", ".join(f"{name} runs as {actual}" for name in cut), "bad" if most < TIERS["1k"] else "warn"


def _descriptors(facts: HostFacts) -> Check:
    soft, hard = facts.limits.nofile_soft, facts.limits.nofile_hard
    if hard is None:
        return Check("file descriptors", "no hard limit", "every number of connections up to 25k", "ok")
    meaning, state = _describe_tiers((hard - SERVER_DESCRIPTORS) // 100 * 100)
    found = f"hard {hard:,}, soft {soft:,}" if soft is not None else f"hard {hard:,}"
    return Check("file descriptors", found, meaning, state, None if state == "ok" else _nofile_fix(facts))


def _ports(ports: tuple[int, int] | None) -> Check:
    if ports is None:
        return Check("local ports", "unknown", "25k needs about 26,000 free ports", "warn")
    low, high = ports
    meaning, state = _describe_tiers((high - low + 1 - SPARE_PORTS) // 100 * 100)
    if low <= HIGHEST_SERVER_PORT and state == "ok":
        meaning, state = "an outgoing connection could take a server's port (8101-8109)", "warn"
    fix = None if state == "ok" else _sysctl("net.ipv4.ip_local_port_range", PORTS_WANTED)
    return Check("local ports", f"{low}-{high} ({high - low + 1:,})", meaning, state, fix)


def _backlog(limits: Limits) -> Check:
    depth, syn = limits.somaxconn, limits.tcp_max_syn_backlog
    if depth is None:
        return Check("listen backlog", "unknown", "drops part of a burst of connections", "warn")
    found = f"somaxconn {depth:,}" + (f", SYN {syn:,}" if syn is not None else "")
    if depth >= HIGHEST:
        return Check("listen backlog", found, "holds a burst of 25k connections", "ok")
    meaning = f"bursts above {depth:,} are dropped and retried; each record counts the drops"
    if depth >= BACKLOG_WANTED:
        return Check("listen backlog", found, meaning, "ok")
    return Check("listen backlog", found, meaning, "warn", _sysctl("net.core.somaxconn", "65535"))


def _threads(limits: Limits) -> Check:
    most = capacity.feasible_threads(limits)
    if most.limited_by is None:
        return Check("threads", "unknown", "each pool thread needs one (200 by default)", "ok")
    found = f"{most.actual:,} by {most.limited_by}"
    if most.actual >= POOL_WANTED:
        return Check("threads", found, "enough for the default pool (200) and for large ones", "ok")
    if most.limited_by.startswith(("kernel.", "vm.")):
        fix = _sysctl(most.limited_by, "262144")
    elif most.limited_by.startswith("cgroup"):
        fix = "raise TasksMax= of the systemd unit, or --pids-limit of the container"
    else:
        fix = "sudo prlimit --pid $$ --nproc=65536:65536"
    if most.actual >= 500:
        return Check("threads", found, "enough for the default pool (200), not for large ones", "warn", fix)
    return Check("threads", found, "may be too few for the default pool (200)", "bad", fix)


def _cores(facts: HostFacts) -> Check:
    usable, cores, quota = facts.cores_usable, facts.cores, facts.limits.cgroup.cpus
    if usable is None:
        return Check("cores", "unknown", "server and generator share this core", "warn")
    state: State = "warn" if usable >= 2 else "bad"
    if quota is not None and quota == usable and (cores is None or quota < cores):
        found = f"{quota:g} of {cores or 'unknown'}, by a control group's quota"
        meaning = "the quota pauses server and generator when it is used up: req/s is a lower bound, latency is higher"
        return Check("cores", found, meaning, state, "raise CPUQuota= of the systemd unit, or --cpus of the container")
    found = f"{usable:g} usable" + (f" of {cores}" if cores is not None and cores != usable else "")
    if usable >= CORES_WANTED:
        return Check("cores", found, "enough for server and generator", "ok")
    meaning = "server and generator share them: req/s is a lower bound, CPU per request is still comparable"
    return Check("cores", found, meaning, state, MORE_FOR_THE_ENGINE if facts.container else None)


def _memory(facts: HostFacts) -> Check:
    kb, fix = facts.memory_usable_kb, MORE_FOR_THE_ENGINE if facts.container else None
    if kb is None:
        return Check("memory", "unknown", f"25k waiting requests may need {MEMORY_WANTED_GB} GB", "warn")
    gigabytes = kb / 1024 / 1024
    found = f"{gigabytes:.1f} GB"
    if gigabytes >= MEMORY_WANTED_GB * 0.95:
        return Check("memory", found, "enough for 25k; a JVM without -Xmx sizes its heap by it", "ok")
    if gigabytes >= MEMORY_NEEDED_GB * 0.95:
        return Check("memory", found, "enough for 100 and 1k; at 25k a JVM may run out of heap", "warn", fix)
    return Check("memory", found, "too little for the JVM servers at 1k", "bad", fix)


def _clock(facts: HostFacts) -> Check:
    governor = facts.governor
    where = facts.virtualization or ("container" if facts.container else None)
    if where:
        return Check(
            "clock", where, "other virtual machines may take CPU time: see steal and noise in each record", "ok"
        )
    if governor == "powersave":
        fix = "sudo cpupower frequency-set -g performance"
        return Check("clock", "governor powersave", "results vary with the clock speed", "warn", fix)
    return Check("clock", f"governor {governor}" if governor else "unknown", "see noise in each record", "ok")


def _jdk(facts: HostFacts) -> Check:
    found = ", ".join(jdk.version for jdk in facts.jdks) or "none"
    fit = [jdk for jdk in facts.jdks if jdk.major >= MINIMUM_JDK]
    if fit:
        used = facts.jdk or fit[0]
        return Check("JDK", found, f"Java servers run on {used.version} ({used.vendor})", "ok")
    fix = install_command("jdk", facts.family, facts.distribution)
    return Check("JDK", found, f"Java servers need {MINIMUM_JDK} or newer", "bad", fix)


def _cargo(facts: HostFacts, needed: str | None) -> Check:
    rustc = facts.tools.rustc
    if facts.tools.cargo and needed and (rustc is None or version_key(rustc) < version_key(needed)):
        found = f"rustc {rustc}" if rustc else "no rustc"
        return Check("cargo", found, f"the Rust server needs Rust {needed} or newer", "bad", BY_HAND["cargo"])
    return _tool(facts, "cargo", "cargo", facts.tools.cargo, "builds the Rust server")


def _tool(facts: HostFacts, name: str, package: str, version: str | None, purpose: str) -> Check:
    if version:
        return Check(name, version, purpose, "ok")
    return Check(name, "not found", purpose, "bad", install_command(package, facts.family))
