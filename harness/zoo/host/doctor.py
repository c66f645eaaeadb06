"""Explains what this host's limits and tools mean for each tier, and how to raise them. Changes nothing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from zoo.host import mend
from zoo.host.engine import EngineError
from zoo.model.host import EngineFacts, HostFacts
from zoo.model.jdk import MINIMUM
from zoo.plan import feasible
from zoo.plan.feasible import SERVER_DESCRIPTORS, SPARE_PORTS

State = Literal["ok", "warn", "bad"]

TIERS = {"100": 100, "1k": 1_000, "25k": 25_000}
HIGHEST = max(TIERS.values())
NOFILE_WANTED = 65_536
BACKLOG_WANTED = 4_096
POOL_WANTED = 2_000
PORTS_WANTED = "15000 60999"
# What the greediest entry asks for at the highest tier of sleepers, with the generator and the kernel's sockets.
MEMORY_WANTED_GB = 8
MEMORY_NEEDED_GB = 2
CORES_WANTED = 4
HIGHEST_SERVER_PORT = 8_105
SIGNS: dict[State, tuple[str, str]] = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "bad": ("BAD", "bold red")}


@dataclass(frozen=True)
class Check:
    """One row: what was found, what it means, and the command that mends it (None: nothing to mend)."""

    name: str
    found: str
    meaning: str
    state: State
    mend: str | None = None


def checks(facts: HostFacts, rust: str | None = None) -> list[Check]:
    """Every row, limits first. `rust` is the oldest version of Rust that builds the servers."""
    rows: list[Callable[[HostFacts], Check]] = [
        _descriptors,
        _ports,
        _backlog,
        _threads,
        _cores,
        _memory,
        _clock,
        _jdk,
        partial(_cargo, needed=rust),
        _maven,
        _wrk,
    ]
    return [row(facts) for row in rows]


def worst(found: list[Check]) -> State:
    states = {check.state for check in found}
    return "bad" if "bad" in states else "warn" if "warn" in states else "ok"


def show(found: list[Check], console: Console) -> None:
    """A table that fits 80 columns; commands below it on lines of their own, to be copied."""
    if console.width < ROOM:
        for check in found:
            console.print(Text(f"{SIGNS[check.state][0]} {check.name}: {check.found}"))
            console.print(Padding(Text(check.meaning), (0, 0, 0, 2)))
    else:
        console.print(_table(found))
    mends = [check for check in found if check.mend]
    if mends:
        console.print("\nTo mend (nothing has been changed):")
    for check in mends:
        console.print(Text(f"  {check.name}:"))
        for line in (check.mend or "").splitlines():
            console.print(Text(broken(line, console.width)), soft_wrap=True)


ROOM = 76
"""Columns that the table needs for its longest words."""


def broken(command: str, width: int) -> str:
    """A command between words on lines of this width, which a shell still reads as one; words in quotes stay whole."""
    words, lines = re.findall(r"(?:'[^']*'|[^ '])+", command), ["   "]
    for word in words:
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


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


def short(count: int) -> str:
    """19500 -> `19.5k`."""
    return f"{count / 1000:g}k" if count >= 1_000 else str(count)


def _held(most: int) -> tuple[str, State]:
    """Which tiers run in full when `most` connections can be held."""
    cut = {name: size for name, size in TIERS.items() if size > most}
    if not cut:
        return "every tier up to 25k in full", "ok"
    smaller = ", ".join(f"{name} runs as {short(max(0, most))}" for name in cut)
    return smaller, "bad" if most < TIERS["1k"] else "warn"


def _descriptors(facts: HostFacts) -> Check:
    soft, hard = facts.limits.nofile_soft, facts.limits.nofile_hard
    if hard is None:
        return Check("file descriptors", "no hard limit", "every tier up to 25k in full", "ok")
    meaning, state = _held((hard - SERVER_DESCRIPTORS) // 100 * 100)
    found = f"hard {hard:,}, soft {soft:,}" if soft is not None else f"hard {hard:,}"
    lines = [mend.raise_nofile(NOFILE_WANTED, facts.family), mend.keep_nofile(NOFILE_WANTED, facts.family)]
    command = None if state == "ok" else "\n".join(line for line in lines if line)
    return Check("file descriptors", found, meaning, state, command)


def _ports(facts: HostFacts) -> Check:
    ports = facts.limits.ports
    if ports is None:
        return Check("local ports", "unknown", "25k needs about 26,000 free ports", "warn")
    low, high = ports
    meaning, state = _held((high - low + 1 - SPARE_PORTS) // 100 * 100)
    if low <= HIGHEST_SERVER_PORT and state == "ok":
        meaning, state = "an outgoing connection may take a server's port (8101-8105)", "warn"
    command = None if state == "ok" else mend.sysctl("net.ipv4.ip_local_port_range", PORTS_WANTED)
    return Check("local ports", f"{low}-{high} ({high - low + 1:,})", meaning, state, command)


def _backlog(facts: HostFacts) -> Check:
    depth = facts.limits.somaxconn
    if depth is None:
        return Check("listen backlog", "unknown", "a small one drops part of a burst of connections", "warn")
    syn = facts.limits.tcp_max_syn_backlog
    found = f"somaxconn {depth:,}" + (f", SYN {syn:,}" if syn is not None else "")
    if depth >= HIGHEST:
        return Check("listen backlog", found, "holds the burst of every tier", "ok")
    meaning = f"bursts above {depth:,} wait for retries; drops are counted in each record"
    if depth >= BACKLOG_WANTED:
        return Check("listen backlog", found, meaning, "ok")
    command = mend.sysctl("net.core.somaxconn", "65535")
    return Check("listen backlog", found, meaning, "warn", command)


def _threads(facts: HostFacts) -> Check:
    most = feasible.threads(facts.limits)
    if most.limited_by is None:
        return Check("threads", "unknown", "pools of platform threads need one each (default 200)", "ok")
    found = f"{most.actual:,} by {most.limited_by}"
    if most.actual >= POOL_WANTED:
        return Check("threads", found, "enough for the default pool (200) and large ones", "ok")
    state: State = "warn" if most.actual >= 500 else "bad"
    meaning = "default pool (200) fits, large ones do not" if state == "warn" else "the default pool (200) may not fit"
    return Check("threads", found, meaning, state, _raise_threads(most.limited_by))


def _raise_threads(limited_by: str) -> str:
    if limited_by.startswith(("kernel.", "vm.")):
        return mend.sysctl(limited_by, "262144")
    if limited_by.startswith("cgroup"):
        return "raise TasksMax= of the systemd unit, or --pids-limit of the container"
    return "sudo prlimit --pid $$ --nproc=65536:65536"


def _cores(facts: HostFacts) -> Check:
    usable, cores = facts.cores_usable, facts.cores
    if usable is None:
        return Check("cores", "unknown", "server and generator share them", "warn")
    quota = facts.limits.cgroup.cpus
    if quota is not None and quota == usable and (cores is None or quota < cores):
        return _quota(quota, cores)
    found = f"{usable:g} usable" + (f" of {cores}" if cores is not None and cores != usable else "")
    if usable >= CORES_WANTED:
        return Check("cores", found, "room for server and generator", "ok")
    meaning = "server and generator share them: req/s is a lower bound, CPU per request still compares"
    return Check("cores", found, meaning, "warn" if usable >= 2 else "bad")


def _quota(quota: float, cores: int | None) -> Check:
    """The row of cores where a control group has a CPU quota."""
    meaning = "a CPU quota stops server and generator when it is used up: req/s is a lower bound, latency longer"
    state: State = "warn" if quota >= 2 else "bad"
    command = "raise CPUQuota= of the systemd unit, or --cpus of the container"
    return Check("cores", f"{quota:g} of {cores or 'unknown'}, by a control group's quota", meaning, state, command)


def _memory(facts: HostFacts) -> Check:
    kb = facts.memory_usable_kb
    if kb is None:
        return Check("memory", "unknown", f"25k sleepers may need {MEMORY_WANTED_GB} GB", "warn")
    gigabytes = kb / 1024 / 1024
    found = f"{gigabytes:.1f} GB"
    if gigabytes >= MEMORY_WANTED_GB * 0.95:
        return Check("memory", found, "every tier; JVMs without -Xmx size their heap by it", "ok")
    if gigabytes >= MEMORY_NEEDED_GB * 0.95:
        return Check("memory", found, "100 and 1k; at 25k a JVM may run out of heap", "warn")
    return Check("memory", found, "too little for the JVM servers at 1k", "bad")


def _clock(facts: HostFacts) -> Check:
    governor = facts.governor
    where = facts.virtualization or ("container" if facts.container else None)
    if governor == "powersave" and where is None:
        command = "sudo cpupower frequency-set -g performance"
        return Check("clock", "governor powersave", "figures vary with the clock", "warn", command)
    if where:
        return Check("clock", where, "neighbours may take time: see steal and noise in each record", "ok")
    return Check("clock", f"governor {governor}" if governor else "unknown", "see noise in each record", "ok")


def _jdk(facts: HostFacts) -> Check:
    found = ", ".join(jdk.version for jdk in facts.jdks) or "none"
    fit = [jdk for jdk in facts.jdks if jdk.major >= MINIMUM]
    if fit:
        used = facts.jdk or fit[0]
        return Check("JDK", found, f"Java servers run on {used.version} ({used.vendor})", "ok")
    command = mend.install("jdk", facts.family, facts.distribution)
    return Check("JDK", found, f"Java servers need {MINIMUM} or newer", "bad", command)


def _cargo(facts: HostFacts, needed: str | None) -> Check:
    rustc = facts.tools.rustc
    if facts.tools.cargo and needed and (rustc is None or _parts(rustc) < _parts(needed)):
        found = f"rustc {rustc}" if rustc else "no rustc"
        return Check("cargo", found, f"the Rust server needs Rust {needed} or newer", "bad", mend.BY_HAND["cargo"])
    return _tool(facts, "cargo", "cargo", facts.tools.cargo, "builds the Rust server")


def _parts(version: str) -> list[int]:
    """The numbers of a version, to be compared."""
    return [int(part) for part in re.findall(r"[0-9]+", version)]


def _maven(facts: HostFacts) -> Check:
    return _tool(facts, "Maven", "maven", facts.tools.maven, "builds the Java servers")


def _wrk(facts: HostFacts) -> Check:
    return _tool(facts, "wrk", "wrk", facts.tools.wrk, "makes the load of every tier")


def _tool(facts: HostFacts, name: str, package: str, version: str | None, purpose: str) -> Check:
    if version:
        return Check(name, version, purpose, "ok")
    return Check(name, "not found", purpose, "bad", mend.install(package, facts.family))


def further_generators(found: Mapping[str, bool]) -> Check:
    """The row of load generators besides wrk; `found` says which are there."""
    lacking = [name for name, there in found.items() if not there]
    if not lacking:
        return Check("generators", ", ".join(found), "make the load of open, rate, ramp and ab", "ok")
    told = "; ".join(filter(None, [", ".join(n for n in found if n not in lacking), f"no {', '.join(lacking)}"]))
    meaning = "needed for make answer and the scenarios open, rate, ramp and ab"
    return Check("generators", told, meaning, "warn", "make tools (vegeta needs Go)")


def container_engine(facts: HostFacts, found: EngineFacts | EngineError) -> Check:
    """The row of containers; `found` is the result of the same check that a run in containers makes."""
    if isinstance(found, EngineFacts):
        return Check("container engine", f"Docker {found.version}", "containers can be used", "ok")
    name = "none" if facts.tools.docker is None else f"docker {facts.tools.docker}, unusable"
    why = "" if facts.tools.docker is None else f": {found}"
    return Check(
        "container engine", name, f"servers run as plain processes{why}", "warn", mend.engine(found, facts.family)
    )


def virtual_host(facts: HostFacts, lacking: str | None, qemu: str | None, device: bool) -> Check:
    """RUNTIME=vm, for a tier that limits forbid; `lacking` is what it has not got, `device` whether KVM may work."""
    if lacking is None:
        speed = "" if device else "; emulated: for memory and threads, not for speed"
        found = f"QEMU {qemu or 'unknown'}, {'/dev/kvm' if device else 'no KVM'}"
        return Check("virtual host", found, f"RUNTIME=vm holds a true 25k{speed}", "ok")
    if feasible.connections(facts.limits, HIGHEST).limited_by is None:
        return Check("virtual host", "none", "not needed: processes hold every tier", "ok")
    command = mend.install("qemu", facts.family)
    return Check("virtual host", "none", f"RUNTIME=vm would hold a true 25k, but {lacking}", "warn", command)
