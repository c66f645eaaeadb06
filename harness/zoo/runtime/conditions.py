"""Under which conditions entries are measured: the runtime, and what this environment sets for it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.catalog.manifest import Entry, Language
from zoo.host import processors
from zoo.host.cgroup import read_cgroup
from zoo.host.engine import Engine, EngineError
from zoo.host.facts import read_limits
from zoo.host.jdk import find_jdk
from zoo.host.network import namespace_command, namespace_limits
from zoo.model.condition import IN_IMAGES, Condition
from zoo.model.errors import BenchError
from zoo.model.host import Cores, Jdk
from zoo.plan import capacity
from zoo.plan.cores import AUTO, CHOICES, SHARED, SPLIT, chosen
from zoo.plan.request import unread
from zoo.runtime.condition_checks import check_release_setting, checked, release_settings
from zoo.runtime.container import resources_of
from zoo.runtime.swarm.places import places_of, swarm_of
from zoo.runtime.vm import machine

RUNTIMES = ("auto", "process", "container", "vm", "fit", "swarm")
COMPARED = {"process", "container", "swarm"}
"""Runtimes of which two may be compared in one run: in each case the server is started anew."""

IMAGE_JDK = "25"
"""The compose file's own default."""

ELSEWHERE = {"vm": "a server in a virtual host"}

PASSED_ON = ("MAX_THREADS", "BACKLOG", "CONNECTOR", "BUFFERS", "SCHEDULER")
"""Settings of the zoo's servers that a person may put in front of a command; they become part of the condition.

Which variant reads which of them is in its manifest. A server from outside the zoo may read others.
"""


def runtime_named(wanted: str, tiers: Sequence[str] = (), *, outside: bool = False) -> str:
    """A runtime's name; `auto` takes containers where they can be used, `fit` what holds the tiers.

    Servers from outside the zoo, and all beside them, are processes.
    """
    if wanted == "hosts":
        raise BenchError("RUNTIME=hosts was removed: join the machines to a swarm, RUNTIME=swarm (docs/scale-out.md)")
    if wanted not in RUNTIMES:
        raise BenchError(f'RUNTIME must be one of {", ".join(RUNTIMES)}, got "{wanted}"')
    if outside:
        if wanted not in ("auto", "process"):
            raise BenchError("a server from outside the zoo has no image, and all run alike: RUNTIME=process")
        return "process"
    if wanted == "auto":
        return "container" if Engine().is_usable() else "process"
    if wanted == "fit":
        limits = read_limits() if namespace_command() is None else namespace_limits(read_limits())
        asked = [capacity.tier(name).connections for name in tiers]
        return "vm" if any(capacity.connections(limits, count).limited_by for count in asked) else "process"
    if wanted == "swarm":
        places_of(swarm_of(os.environ), os.environ)
    if wanted == "container":
        try:
            Engine().usable()
        except EngineError as error:
            raise BenchError(f"RUNTIME=container needs a container engine: {error} (see zoo doctor)") from None
    return wanted


def jdk_for(entries: Sequence[Entry], version: str | None = None) -> Jdk | None:
    """The JDK that Java entries need, of this version; None when there are none. `JdkError` when it is missing."""
    wanted = version or os.environ.get("JDK")
    needed = any(e.server.manifest.language is Language.JAVA for e in entries)
    return find_jdk(wanted=wanted) if needed else None


def condition_of(runtime: str, entries: Sequence[Entry], root: Path, *, targets: bool = False) -> Condition:
    """The condition that this environment sets. `JdkError` when Java entries lack a JDK.

    Targets listen on the host's loopback, which a network namespace of the run's own does not have.
    """
    return checked(_condition(runtime, entries, root, targets=targets), entries)


def _condition(runtime: str, entries: Sequence[Entry], root: Path, *, targets: bool = False) -> Condition:
    env = settings_from(os.environ, entries)
    try:
        resources = resources_of(os.environ)
    except ValueError as error:
        raise BenchError(str(error)) from None
    if runtime in IN_IMAGES:
        java = any(e.server.manifest.language is Language.JAVA for e in entries)
        jdk = os.environ.get("JDK", IMAGE_JDK) if java else None
        return Condition(
            runtime=runtime,
            network=runtime,
            jdk=jdk,
            env=env,
            cpus=resources.cpus,
            cores=cores_of(os.environ.get("CORES", AUTO), runtime) if runtime == "container" else None,
            memory=resources.memory,
        )
    found = jdk_for(entries)
    version = found.version if found else None
    if runtime == "vm":
        try:
            by, memory = machine.choose_accelerator(root, os.environ), machine.memory_of(os.environ)
        except machine.VmError as error:
            raise BenchError(str(error)) from None
        return Condition(runtime=runtime, network=runtime, jdk=version, env=env, memory=memory, accelerator=by)
    network = "private" if not targets and namespace_command() else "host"
    apart = cores_of(os.environ.get("CORES", AUTO), runtime, targets=targets)
    return Condition(runtime=runtime, network=network, jdk=version, env=env, cpus=resources.cpus, cores=apart)


def settings_from(environ: Mapping[str, str], entries: Sequence[Entry]) -> dict[str, str]:
    """Return the settings in the environment that some entry reads; `BenchError` for one that none reads."""
    read = dict.fromkeys(name for entry in entries for name in entry.settings)
    if idle := [name for name in PASSED_ON if name in environ and name not in read]:
        why = unread(idle[0], [entry.settings for entry in entries])
        raise BenchError(f"{idle[0]}={environ[idle[0]]} changes nothing: {why}; unset it")
    return {name: environ[name] for name in read if name in environ}


def cores_of(wanted: str, runtime: str, *, targets: bool = False) -> Cores | None:
    """Whose the processors are under CORES=; `PlanError` or `BenchError` when it asks for what cannot be.

    A server that already runs stays where it is, and a guest's processors are not this host's.
    """
    fixed = "a server that already runs" if targets else ELSEWHERE.get(runtime, "")
    if runtime == "container" and not _engine_is_here():
        fixed = "a container on another machine"
    if fixed and wanted == SPLIT:
        raise BenchError(f"CORES=split: {fixed} cannot be given processors of its own")
    return chosen(SHARED if fixed and wanted == AUTO else wanted, processors.cores(), read_cgroup().cpus)


def _engine_is_here() -> bool:
    """True when the engine's machine is this one, as far as its kernel and processors tell."""
    told = Engine().facts()
    return (told.kernel, told.cores) == (platform.release(), os.cpu_count())


def varied(texts: Sequence[str], base: Condition, entries: Sequence[Entry], root: Path) -> dict[str, Condition]:
    """Conditions that differ from the base in one thing, by that name: `runtime=container`, `heap=50m`, `jdk=21`."""
    made = {text: checked(_variation(text, base, entries, root), entries) for text in texts}
    if alike := [text for text, condition in made.items() if condition == base]:
        raise BenchError(f"{alike[0]} is the run's own condition already: leave it out, or vary another value")
    return made


def _variation(text: str, base: Condition, entries: Sequence[Entry], root: Path) -> Condition:
    key, _, value = text.partition("=")
    changes: dict[str, object] = {}
    if key == "runtime" and value != base.runtime and {value, base.runtime} < COMPARED:
        return _condition(runtime_named(value), entries, root)
    if key == "heap" and re.fullmatch(r"[1-9]\d*[kmg]", value):
        changes = {"jvm_flags": [*base.jvm_flags, f"-Xmx{value}"]}
    elif key == "jdk" and value.isdecimal() and base.runtime == "process":
        changes = {"jdk": find_jdk(wanted=value).version}
    elif key == "flags" and re.fullmatch(r"-[\w:+=.,-]+", value):
        changes = {"jvm_flags": [*base.jvm_flags, *value.split(",")]}
    elif key == "cpus" and re.fullmatch(r"\d+(\.\d+)?", value) and float(value) and base.runtime != "vm":
        changes = {"cpus": float(value)}
    elif key == "cores" and value in CHOICES and base.runtime != "vm":
        changes = {"cores": cores_of(value, base.runtime)}
    elif key.upper() in release_settings(entries):
        check_release_setting(key.upper(), entries)
        changes = {"env": {**base.env, key.upper(): value}}
    elif key in {*PASSED_ON, *(name for e in entries for name in e.settings)} and re.fullmatch(r"[\w.-]+", value):
        changes = {"env": {**base.env, key: value}}
    if not changes:
        raise BenchError(
            "vary takes runtime=container, heap=50m, flags=-XX:+UseSerialGC (more with commas between), cpus=1, "
            "cores=split, "
            f'MAX_THREADS=400, liberty=23.0.0.10 or (as a process) jdk=21, got "{text}"'
        )
    return base.model_copy(update=changes)


def settings(condition: Condition) -> Mapping[str, str]:
    """The condition as name and value, for people."""
    limits = {"CPUs": condition.cpus and f"{condition.cpus:g}", "memory": condition.memory}
    return {
        "runtime": f"{condition.runtime} (emulated)" if condition.emulated else condition.runtime,
        "network": condition.network,
        "JDK": condition.jdk or "none",
        **({"cores": str(condition.cores)} if condition.cores else {}),
        **{name: value for name, value in limits.items() if value},
        **condition.env,
    }
