"""The conditions that entries are measured under: the runtime, and its settings from this environment."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.core import capacity
from zoo.core.condition import IN_IMAGES, Condition
from zoo.core.cpu_sets import AUTO, CHOICES, SHARED, SPLIT, choose_cores
from zoo.core.errors import BenchError
from zoo.core.host_facts import Cores, Jdk
from zoo.core.manifest import Entry, Language
from zoo.core.plan import explain_unread
from zoo.host import processors
from zoo.host.cgroup import read_cgroup
from zoo.host.engine import Engine, EngineError
from zoo.host.facts import read_limits
from zoo.host.jdk import find_jdk
from zoo.host.network import namespace_command, namespace_limits
from zoo.runtime.condition_checks import check_condition, check_release_setting, release_settings
from zoo.runtime.container import resources_of
from zoo.runtime.swarm.places import places_of, swarm_of
from zoo.runtime.vm import machine

RUNTIMES = ("auto", "process", "container", "vm", "fit", "swarm")
COMPARED = {"process", "container", "swarm"}
"""Runtimes that one run may compare with each other: each of them starts a fresh server per cell."""

IMAGE_JDK = "25"
"""The default JDK version of the compose file."""

UNPINNABLE = {"vm": "a server in a virtual host"}

PASSED_ON = ("MAX_THREADS", "BACKLOG", "CONNECTOR", "BUFFERS", "SCHEDULER")
"""Settings of the zoo's servers that a user may put in front of a command; they become part of the condition.

The manifest lists the settings that each variant reads. A server from outside the zoo may read others.
"""


def select_runtime(wanted: str, tiers: Sequence[str] = (), *, outside: bool = False) -> str:
    """Return the runtime's name; `BenchError` if it does not exist or cannot be used here.

    `auto` chooses containers if an engine is usable. `fit` chooses a guest (`vm`) if this machine's limits are too low
    for the connections. With a server from outside the zoo, all servers of the run are processes.
    """
    if wanted == "hosts":
        raise BenchError("RUNTIME=hosts no longer exists: use a swarm, RUNTIME=swarm (docs/guides/swarm.md)")
    if wanted not in RUNTIMES:
        raise BenchError(f'RUNTIME must be one of {", ".join(RUNTIMES)}, got "{wanted}"')
    if outside:
        if wanted not in ("auto", "process"):
            raise BenchError(
                "a server from outside the zoo has no image, and all servers of a run have the "
                "same runtime: set RUNTIME=process"
            )
        return "process"
    if wanted == "auto":
        return "container" if Engine().is_usable() else "process"
    if wanted == "fit":
        limits = read_limits() if namespace_command() is None else namespace_limits(read_limits())
        requested = [capacity.parse_tier(name).connections for name in tiers]
        return (
            "vm" if any(capacity.feasible_connections(limits, count).limited_by for count in requested) else "process"
        )
    if wanted == "swarm":
        places_of(swarm_of(os.environ), os.environ)
    if wanted == "container":
        try:
            Engine().check_usable()
        except EngineError as error:
            raise BenchError(
                f"RUNTIME=container needs a container engine: {error} (zoo doctor shows how to set one up)"
            ) from None
    return wanted


def jdk_for(entries: Sequence[Entry], version: str | None = None) -> Jdk | None:
    """Return the JDK of this version, or None if no entry needs one. Raise `JdkError` if it is missing."""
    wanted = version or os.environ.get("JDK")
    needed = any(e.server.manifest.language is Language.JAVA for e in entries)
    return find_jdk(wanted=wanted) if needed else None


def condition_of(runtime: str, entries: Sequence[Entry], root: Path, *, targets: bool = False) -> Condition:
    """Return the condition that this environment sets. Raise `JdkError` if Java entries have no JDK.

    With targets, the run uses the host's network: targets listen on the host's loopback, which a private network
    namespace cannot reach.
    """
    return check_condition(_condition(runtime, entries, root, targets=targets), entries)


def _condition(runtime: str, entries: Sequence[Entry], root: Path, *, targets: bool = False) -> Condition:
    env, resources = settings_from(os.environ, entries), resources_of(os.environ)
    if runtime in IN_IMAGES:
        java = any(e.server.manifest.language is Language.JAVA for e in entries)
        version = os.environ.get("JDK", IMAGE_JDK) if java else None
    else:
        version = found.version if (found := jdk_for(entries)) else None
    network = runtime
    if runtime == "process":
        network = "private" if not targets and namespace_command() else "host"
    base = Condition(runtime=runtime, network=network, jdk=version, env=env)
    if runtime == "vm":
        by, memory = machine.choose_accelerator(root, os.environ), machine.memory_of(os.environ)
        return base.model_copy(update={"memory": memory, "accelerator": by})
    limits: dict[str, object] = {"cpus": resources.cpus}
    if runtime in IN_IMAGES:
        limits["memory"] = resources.memory
    if runtime in ("process", "container"):
        limits["cores"] = cores_of(os.environ.get("CORES", AUTO), runtime, targets=targets)
    return base.model_copy(update=limits)


def settings_from(environ: Mapping[str, str], entries: Sequence[Entry]) -> dict[str, str]:
    """Return the settings in the environment that some entry reads; raise `BenchError` for one that none reads."""
    read = dict.fromkeys(name for entry in entries for name in entry.settings)
    if idle := [name for name in PASSED_ON if name in environ and name not in read]:
        why = explain_unread(idle[0], [entry.settings for entry in entries])
        raise BenchError(f"{idle[0]}={environ[idle[0]]} has no effect: {why}; unset it")
    return {name: environ[name] for name in read if name in environ}


def cores_of(wanted: str, runtime: str, *, targets: bool = False) -> Cores | None:
    """Return how CORES= divides the processors; `PlanError` or `BenchError` if that is impossible.

    A server that is already running cannot be moved, and a guest's processors are not this host's.
    """
    fixed = "a server that already runs" if targets else UNPINNABLE.get(runtime, "")
    if runtime == "container" and not _engine_is_here():
        fixed = "a container on another machine"
    if fixed and wanted == SPLIT:
        raise BenchError(
            f"CORES=split does not work: {fixed} cannot be pinned to separate processors; use CORES=shared"
        )
    return choose_cores(SHARED if fixed and wanted == AUTO else wanted, processors.physical_cores(), read_cgroup().cpus)


def _engine_is_here() -> bool:
    """Check whether the engine runs on this machine: its kernel and number of processors must match."""
    facts = Engine().facts()
    return (facts.kernel, facts.cores) == (platform.release(), os.cpu_count())


def variations_of(texts: Sequence[str], base: Condition, entries: Sequence[Entry], root: Path) -> dict[str, Condition]:
    """Return the conditions that each differ from the base in one setting, by that setting.

    Examples of settings are `runtime=container`, `heap=50m` and `jdk=21`.
    """
    made = {text: check_condition(_variation(text, base, entries, root), entries) for text in texts}
    if same := [text for text, condition in made.items() if condition == base]:
        raise BenchError(f"{same[0]} is already the run's own condition: leave it out, or vary another value")
    return made


def _variation(text: str, base: Condition, entries: Sequence[Entry], root: Path) -> Condition:
    key, _, value = text.partition("=")
    changes: dict[str, object] = {}
    if key == "runtime" and value != base.runtime and {value, base.runtime} < COMPARED:
        return _condition(select_runtime(value), entries, root)
    if flags := _flags(key, value, entries):
        changes = {"jvm_flags": [*base.jvm_flags, *flags]}
    elif key == "jdk" and value.isdecimal() and base.runtime == "process":
        changes = {"jdk": find_jdk(wanted=value).version}
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
            "VARY must be one of runtime=container, heap=50m, flags=-XX:+UseSerialGC (separate "
            "several with commas), jvm=compact, cpus=1, cores=split, MAX_THREADS=400, liberty=23.0.0.10 or (for "
            f'processes) jdk=21, got "{text}"'
        )
    return base.model_copy(update=changes)


def _flags(key: str, value: str, entries: Sequence[Entry]) -> list[str]:
    """Return the JVM flags that a variation adds; none if it concerns something else or has a bad value."""
    if key == "heap" and re.fullmatch(r"[1-9]\d*[kmg]", value):
        return [f"-Xmx{value}"]
    if key == "flags" and re.fullmatch(r"-[\w:+=.,-]+", value):
        return value.split(",")
    return _named_flags(value, entries) if key == "jvm" else []


def _named_flags(name: str, entries: Sequence[Entry]) -> list[str]:
    """Return the JVM flags that the manifests of all selected Java servers define under this name.

    Raise `BenchError` if none of them has a JVM, a manifest does not define the name, or two define it differently.
    """
    java = {e.server.name: e.server.manifest.conditions for e in entries if e.server.manifest.language is Language.JAVA}
    for server, conditions in java.items():
        if name not in conditions:
            known = ", ".join(conditions) or "none"
            raise BenchError(f'{server}/server.toml has no JVM condition "{name}"; known: {known}')
    defined = {server: conditions[name] for server, conditions in java.items()}
    if any(flags != next(iter(defined.values())) for flags in defined.values()):
        raise BenchError(f"jvm={name} means different flags in {', '.join(defined)}: select one server (SERVER=)")
    if not defined:
        raise BenchError(f"jvm={name} changes nothing: no selected server variant has a JVM")
    return next(iter(defined.values()))


def settings(condition: Condition) -> Mapping[str, str]:
    """Return the condition as names and values, for display."""
    limits = {"CPUs": condition.cpus and f"{condition.cpus:g}", "memory": condition.memory}
    return {
        "runtime": f"{condition.runtime} (emulated)" if condition.emulated else condition.runtime,
        "network": condition.network,
        "JDK": condition.jdk or "none",
        **({"cores": str(condition.cores)} if condition.cores else {}),
        **{name: value for name, value in limits.items() if value},
        **condition.env,
    }
