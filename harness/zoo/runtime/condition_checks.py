"""Checks that a condition can be met here, and that what it asks for is in effect in the running server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zoo.catalog.manifest import Entry, Model, Server
from zoo.host.processors import ALLOWED
from zoo.model.condition import Condition
from zoo.model.errors import UserError
from zoo.model.host import MINIMUM, Cores, major_of
from zoo.runtime.base import Launch
from zoo.sample import jcmd
from zoo.sample.requests import Info


class ConditionError(UserError):
    """A condition that cannot be met; the message says why, and what can."""


def release_settings(entries: Sequence[Entry]) -> list[str]:
    """Variables that name a release of a server of these."""
    return list(dict.fromkeys(r.setting for e in entries if (r := e.server.manifest.release)))


def checked(condition: Condition, entries: Sequence[Entry]) -> Condition:
    """The condition, if a release that it names goes with its JDK, and if there are so many processors."""
    for server in {e.server.name: e.server for e in entries}.values():
        _check_release(server, condition)
    if condition.runtime == "process" and condition.cpus is not None:
        _check_processors(condition.cpus, condition.cores)
    return condition


def check_release_setting(setting: str, entries: Sequence[Entry]) -> None:
    """Entries that it does not concern would be measured twice under one condition."""
    for entry in entries:
        release = entry.server.manifest.release
        if release is None or release.setting != setting:
            raise ConditionError(f"{setting} does not concern {entry.server.name}: choose by --server whom it does")


def _check_release(server: Server, condition: Condition) -> None:
    release = server.manifest.release
    version = condition.env.get(release.setting) if release else None
    if release is None or version is None:
        return
    if condition.runtime == "vm":
        raise ConditionError(f"{release.setting} is for processes and containers")
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        raise ConditionError(f'{release.setting} must be a release such as 1.2.3, got "{version}"')
    newest = release.newest_java(version)
    if newest is None or condition.jdk is None or major_of(condition.jdk) <= newest:
        return
    title = f"{server.manifest.title} {version}"
    if newest < MINIMUM:
        raise ConditionError(f"{title} supports Java up to {newest}, and the zoo needs {MINIMUM}")
    raise ConditionError(f"{title} supports Java up to {newest}, not {condition.jdk}: choose one by JDK={newest}")


def _check_processors(cpus: float, cores: Cores | None) -> None:
    here = len(cores.server if cores else ALLOWED)
    if not cpus.is_integer() or not 1 <= cpus <= here:
        raise ConditionError(f"a process can have 1 to {here} whole processors here, not {cpus:g}")


COLLECTORS = {
    "UseSerialGC": "Copy",
    "UseParallelGC": "PS ",
    "UseG1GC": "G1 ",
    "UseZGC": "ZGC",
    "UseShenandoahGC": "Shenandoah",
    "UseEpsilonGC": "Epsilon",
}
"""Flags that choose a collector, and how the names of its beans begin."""

BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
HEAP_TOLERANCE = 0.25
"""A JVM rounds its heap to regions, and the size it tells may lack a survivor space."""
NUMBER_TOLERANCE = 0.1
"""A JVM rounds other sizes to pages or regions."""


@dataclass(frozen=True)
class Evidence:
    """What a running server says of itself; None where its runtime cannot read it, or its JVM does not tell."""

    info: Info
    command_line: Sequence[str] | None = None
    jvm_flags: Mapping[str, str] | None = None
    carriers: int | None = None


def fault(launch: Launch, evidence: Evidence) -> str | None:
    """Return what was asked for and is not in effect; None where everything that can be read back is."""
    return (
        _transport_fault(launch, evidence.info)
        or _pool_fault(launch, evidence.info)
        or _flags_fault(launch, evidence)
        or _carriers_fault(launch, evidence.carriers)
    )


def gathered(
    launch: Launch,
    info: Info,
    command_line: Callable[[Info], list[str] | None],
    asked: Callable[[Info, Sequence[str]], str | None],
) -> Evidence:
    """Read what it takes to judge this launch, and no more: a JVM that jcmd asks has one thread more from then on."""
    table = asked(info, ("VM.flags", "-all")) if _asks_for_table(launch) else None
    scheduler = asked(info, ("Thread.vthread_scheduler",)) if _carriers_wanted(launch) else None
    return Evidence(
        info=info,
        command_line=command_line(info) if launch.jvm_flags else None,
        jvm_flags=jcmd.parse_flags(table) if table else None,
        carriers=jcmd.parallelism(scheduler) if scheduler else None,
    )


def _asks_for_table(launch: Launch) -> bool:
    """True where only the JVM's table of flags says whether one is in effect."""
    return any(name and name != "Xmx" and name not in COLLECTORS for name in map(_name, launch.jvm_flags))


def _carriers_wanted(launch: Launch) -> tuple[str, int] | None:
    """Return the setting or flag that says how many carriers virtual threads have, and that number."""
    if launch.entry.variant.model is not Model.VIRTUAL_THREAD:
        return None
    for flag in reversed(launch.jvm_flags):
        if sized := re.fullmatch(r"-Djdk\.virtualThreadScheduler\.parallelism=(\d+)", flag):
            return flag, int(sized[1])
    return ("SCHEDULER=one", 1) if launch.env.get("SCHEDULER") == "one" else None


def noexec(folder: str) -> str:
    """Return the advice for a server's temporary folder where nothing may be executed; empty for another one."""
    if not os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return ""
    return (
        f"; {folder} is mounted noexec, so native libraries cannot be loaded from it: "
        "set TMPDIR=/some/folder where files may be executed"
    )


def _transport_fault(launch: Launch, info: Info) -> str | None:
    expected = launch.entry.server.manifest.transport
    if expected is None or info.transport is None:
        return None
    asked = launch.env.get(expected.setting) if expected.setting else None
    if info.transport == (asked or expected.name):
        return None
    why = f"{expected.setting}={asked} asks for another" if asked else f"its server.toml says {expected.name}"
    return f"the server uses the transport {info.transport}, and {why}"


def _pool_fault(launch: Launch, info: Info) -> str | None:
    asked = launch.env.get("MAX_THREADS")
    if asked is None or "MAX_THREADS" not in launch.entry.settings or asked == str(info.limits.max_threads):
        return None
    return f"MAX_THREADS={asked} is not in effect: /info says max_threads {info.limits.max_threads}"


def _flags_fault(launch: Launch, evidence: Evidence) -> str | None:
    last = {_name(flag) or flag: flag for flag in launch.jvm_flags}
    for name, flag in last.items():
        if name == "Xmx":
            wrong = _heap_fault(flag, evidence.info)
        elif name in COLLECTORS:
            wrong = _collector_fault(name, flag, evidence.info)
        else:
            wrong = _started_without(flag, evidence.command_line) or _table_fault(name, flag, evidence.jvm_flags)
        if wrong:
            return f"{flag} is not in effect: {wrong}"
    return None


def _heap_fault(flag: str, info: Info) -> str | None:
    heap, asked = info.heap_max, _number(flag.removeprefix("-Xmx"))
    if asked is None or (heap is not None and abs(heap / asked - 1) <= HEAP_TOLERANCE):
        return None
    return f"the JVM's heap may grow to {'what it does not tell' if heap is None else f'{heap / (1 << 20):,.0f} MB'}"


def _collector_fault(name: str, flag: str, info: Info) -> str | None:
    if flag.startswith("-XX:-") or any(bean.startswith(COLLECTORS[name]) for bean in info.gc):
        return None
    return f"the JVM collects with {', '.join(info.gc)}"


def _started_without(flag: str, line: Sequence[str] | None) -> str | None:
    if line is None or flag in line:
        return None
    return f"the JVM was started without it, as: {' '.join(line)}"


def _table_fault(name: str, flag: str, table: Mapping[str, str] | None) -> str | None:
    if table is None or not flag.startswith("-XX:"):
        return None
    if name not in table:
        return f"the JVM has no flag {name}"
    return None if _alike(_value(flag), table[name]) else f"{name} is {table[name]}"


def _carriers_fault(launch: Launch, carriers: int | None) -> str | None:
    wanted = _carriers_wanted(launch)
    if wanted is None or carriers is None or carriers == wanted[1]:
        return None
    return f"{wanted[0]} is not in effect: the scheduler of virtual threads has {carriers} carriers"


def _name(flag: str) -> str:
    """The name of a JVM's flag that can be given several times, of which the last counts; empty of another."""
    if flag.startswith("-Xmx"):
        return "Xmx"
    return re.split("[=:]", flag.removeprefix("-XX:").lstrip("+-"))[0] if flag.startswith("-XX:") else ""


def _value(flag: str) -> str:
    switched = {"+": "true", "-": "false"}.get(flag[len("-XX:")])
    return switched or re.split("[=:]", flag.removeprefix("-XX:"), maxsplit=1)[-1]


def _alike(asked: str, seen: str) -> bool:
    a, b = _number(asked), _number(seen)
    if a is None or b is None:
        return asked in seen  # a list has what was given before, too
    return abs(a - b) <= NUMBER_TOLERANCE * a


def _number(text: str) -> float | None:
    sized = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)", text.lower())
    return float(sized[1]) * BYTES[sized[2]] if sized else None
