"""Checks whether this machine can meet a condition, and whether its settings are in effect in the running server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

from zoo.core.condition import Condition
from zoo.core.errors import UserError
from zoo.core.host_facts import MINIMUM_JDK, Cores, feature_release
from zoo.core.manifest import Entry, Model, Server
from zoo.host.processors import ALLOWED
from zoo.runtime.base import Launch
from zoo.sample.jcmd import parse_flags, parse_parallelism
from zoo.sample.requests import Info


class ConditionError(UserError):
    """A condition that cannot be met; the message says why, and which one can."""


def release_settings(entries: Sequence[Entry]) -> list[str]:
    """Return the variables that select a server's release, for the servers of these entries."""
    return list(dict.fromkeys(r.setting for e in entries if (r := e.server.manifest.release)))


def check_condition(condition: Condition, entries: Sequence[Entry]) -> Condition:
    """Return the condition if its release supports its JDK and the machine has enough processors.

    Raise `ConditionError` otherwise.
    """
    for server in {e.server.name: e.server for e in entries}.values():
        _check_release(server, condition)
    if condition.runtime == "process" and condition.cpus is not None:
        _check_processors(condition.cpus, condition.cores)
    return condition


def check_release_setting(setting: str, entries: Sequence[Entry]) -> None:
    """Raise `ConditionError` if the setting does not apply to all entries.

    An entry that ignores the setting would be measured twice under the same condition.
    """
    for entry in entries:
        release = entry.server.manifest.release
        if release is None or release.setting != setting:
            raise ConditionError(
                f"{entry.server.name} does not support {setting}: select the servers that do with SERVER="
            )


def _check_release(server: Server, condition: Condition) -> None:
    release = server.manifest.release
    version = condition.env.get(release.setting) if release else None
    if release is None or version is None:
        return
    if condition.runtime == "vm":
        raise ConditionError(f"{release.setting} works only for processes and containers")
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        raise ConditionError(f'{release.setting} must be a release such as 1.2.3, got "{version}"')
    newest = release.newest_java(version)
    if newest is None or condition.jdk is None or feature_release(condition.jdk) <= newest:
        return
    title = f"{server.manifest.title} {version}"
    if newest < MINIMUM_JDK:
        raise ConditionError(f"{title} supports Java up to {newest}, but the zoo needs {MINIMUM_JDK} or newer")
    raise ConditionError(f"{title} supports Java up to {newest}, not {condition.jdk}: set JDK={newest}")


def _check_processors(cpus: float, cores: Cores | None) -> None:
    here = len(cores.server if cores else ALLOWED)
    if not cpus.is_integer() or not 1 <= cpus <= here:
        raise ConditionError(
            f"cannot give a process {cpus:g} processors: on this machine the number must be whole, from 1 to {here}"
        )


COLLECTORS = {
    "UseSerialGC": "Copy",
    "UseParallelGC": "PS ",
    "UseG1GC": "G1 ",
    "UseZGC": "ZGC",
    "UseShenandoahGC": "Shenandoah",
    "UseEpsilonGC": "Epsilon",
}
"""Flags that choose a garbage collector, each with the prefix of its beans' names."""

BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
HEAP_TOLERANCE = 0.25
"""Relative tolerance for the heap: a JVM rounds it to regions, and the reported size may exclude a survivor space."""
NUMBER_TOLERANCE = 0.1
"""Relative tolerance for other sizes: a JVM rounds them to pages or regions."""


CommandLine = Callable[[int], Sequence[str] | None]
"""A function that returns the command line of a process as words; None if it cannot be read."""

Jcmd = Callable[..., str | None]
"""A function that returns the output of `jcmd PID …` with these words; None if jcmd cannot reach the process."""


def fault(launch: Launch, info: Info, command_line: CommandLine, jcmd: Jcmd) -> str | None:
    """Return which requested setting is not in effect; None if every setting that can be read back is.

    Read no more than this launch needs: after its first jcmd call, a JVM has one more thread.
    """
    return (
        _transport_fault(launch, info)
        or _pool_fault(launch, info)
        or _flags_fault(launch, info, command_line, jcmd)
        or _carriers_fault(launch, info, jcmd)
    )


def _requested_carriers(launch: Launch) -> tuple[str, int] | None:
    """Return the flag that sets the number of carrier threads, and that number; None if none does."""
    if launch.entry.variant.model is not Model.VIRTUAL_THREAD:
        return None
    for flag in reversed(launch.jvm_flags):
        if sized := re.fullmatch(r"-Djdk\.virtualThreadScheduler\.parallelism=(\d+)", flag):
            return flag, int(sized[1])
    return None


def noexec_advice(folder: str) -> str:
    """Return advice if a server's temporary folder is mounted noexec, otherwise an empty text."""
    if not os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return ""
    return (
        f"; {folder} is mounted noexec, so native libraries cannot be loaded from it: set TMPDIR to a "
        "folder without noexec"
    )


def _transport_fault(launch: Launch, info: Info) -> str | None:
    expected = launch.entry.server.manifest.transport
    if expected is None or info.transport is None:
        return None
    requested = launch.env.get(expected.setting) if expected.setting else None
    if info.transport == (requested or expected.name):
        return None
    why = f"{expected.setting}={requested} requests another" if requested else f"its server.toml names {expected.name}"
    return f"the server uses the transport {info.transport}, but {why}"


def _pool_fault(launch: Launch, info: Info) -> str | None:
    requested = launch.env.get("MAX_THREADS")
    if requested is None or "MAX_THREADS" not in launch.entry.settings or requested == str(info.limits.max_threads):
        return None
    return f"MAX_THREADS={requested} has no effect: /info reports max_threads {info.limits.max_threads}"


def _flags_fault(launch: Launch, info: Info, command_line: CommandLine, jcmd: Jcmd) -> str | None:
    last = {_name(flag) or flag: flag for flag in launch.jvm_flags}
    others = [name for name in last if name != "Xmx" and name not in COLLECTORS]
    line = command_line(info.pid) if others else None
    # only the JVM's own table of flags shows whether an -XX flag is in effect
    table = jcmd(info.pid, "VM.flags", "-all") if any(map(_name, (last[name] for name in others))) else None
    for name, flag in last.items():
        if name == "Xmx":
            wrong = _heap_fault(flag, info)
        elif name in COLLECTORS:
            wrong = _collector_fault(name, flag, info)
        else:
            wrong = _missing_flag_fault(flag, line) or _table_fault(name, flag, parse_flags(table or ""))
        if wrong:
            return f"{flag} has no effect: {wrong}"
    return None


def _heap_fault(flag: str, info: Info) -> str | None:
    heap, requested = info.heap_max, _number(flag.removeprefix("-Xmx"))
    if requested is None or (heap is not None and abs(heap / requested - 1) <= HEAP_TOLERANCE):
        return None
    if heap is None:
        return "the JVM does not report its largest heap"
    return f"the JVM's heap may grow to {heap / (1 << 20):,.0f} MB"


def _collector_fault(name: str, flag: str, info: Info) -> str | None:
    if flag.startswith("-XX:-") or any(bean.startswith(COLLECTORS[name]) for bean in info.gc):
        return None
    return f"the JVM's garbage collectors are {', '.join(info.gc)}"


def _missing_flag_fault(flag: str, line: Sequence[str] | None) -> str | None:
    if line is None or flag in line:
        return None
    return f"the JVM was started without it: {' '.join(line)}"


def _table_fault(name: str, flag: str, table: Mapping[str, str] | None) -> str | None:
    if table is None or not flag.startswith("-XX:"):
        return None
    if name not in table:
        return f"the JVM has no flag {name}"
    return None if _is_same_value(_value(flag), table[name]) else f"{name} is {table[name]}"


def _carriers_fault(launch: Launch, info: Info, jcmd: Jcmd) -> str | None:
    if (wanted := _requested_carriers(launch)) is None:
        return None
    setting, number = wanted
    carriers = parse_parallelism(jcmd(info.pid, "Thread.vthread_scheduler") or "")
    if carriers is None or carriers == number:
        return None
    return f"{setting} has no effect: the scheduler of virtual threads has {carriers} carriers"


def _name(flag: str) -> str:
    """Return the name of a JVM flag that may be repeated and whose last value counts; empty for other flags."""
    if flag.startswith("-Xmx"):
        return "Xmx"
    return re.split("[=:]", flag.removeprefix("-XX:").lstrip("+-"))[0] if flag.startswith("-XX:") else ""


def _value(flag: str) -> str:
    switched = {"+": "true", "-": "false"}.get(flag[len("-XX:")])
    return switched or re.split("[=:]", flag.removeprefix("-XX:"), maxsplit=1)[-1]


def _is_same_value(requested: str, seen: str) -> bool:
    a, b = _number(requested), _number(seen)
    if a is None or b is None:
        return requested in seen  # a list also contains the values given before
    return abs(a - b) <= NUMBER_TOLERANCE * a


def _number(text: str) -> float | None:
    sized = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)", text.lower())
    return float(sized[1]) * BYTES[sized[2]] if sized else None
