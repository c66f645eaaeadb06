"""Makes a runtime for each condition of a run, ready to start its entries."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

from zoo.catalog.manifest import Entry
from zoo.host import facts, network
from zoo.host.engine import Engine, EngineError
from zoo.host.processors import cpu_affinity
from zoo.model.condition import IN_IMAGES, Condition
from zoo.model.errors import BenchError
from zoo.model.host import HostFacts, Limits
from zoo.runtime.base import Runtime
from zoo.runtime.conditions import jdk_for
from zoo.runtime.container import ContainerRuntime, resources_of
from zoo.runtime.process import ProcessRuntime
from zoo.runtime.swarm.places import places_of, swarm_of
from zoo.runtime.swarm.runtime import SwarmRuntime
from zoo.runtime.vm import guest, machine
from zoo.runtime.vm import runtime as vm


def limits_for(root: Path, condition: Condition, host: HostFacts) -> Limits:
    """The limits that a run under this condition will meet."""
    if condition.runtime == "vm":
        return guest.limits()
    if condition.runtime not in IN_IMAGES:
        return network.namespace_limits(host.limits) if condition.network == "private" else host.limits
    with hosting(root, {"": condition}, []) as (_, seen):
        return seen.limits


@contextmanager
def hosting(
    root: Path, conditions: Mapping[str, Condition], entries: Sequence[Entry]
) -> Iterator[tuple[dict[str, Runtime], HostFacts]]:
    """A runtime for each condition, ready to start these entries, and what is known of the machine they start on.

    The facts are gathered anew: in a network namespace or a container some limits are others. Where there are both,
    the lower limit of descriptors is the run's. Where the generator has processors of its own, so has the harness.
    """
    runtimes: dict[str, Runtime] = {}
    found: list[HostFacts] = []
    with ExitStack() as stack:
        shared: dict[str, Runtime] = {}
        for name, condition in conditions.items():
            if condition.runtime == "process":
                jdk = jdk_for(entries, condition.jdk)
                runtimes[name] = stack.enter_context(closing(ProcessRuntime(jdk)))
                found.append(facts.gather(jdk))
                continue
            if condition.runtime not in shared:
                alike = [c for c in conditions.values() if c.runtime == condition.runtime]
                shared[condition.runtime], seen = stack.enter_context(_enclosed(root, alike, entries))
                found.append(seen)
            runtimes[name] = shared[condition.runtime]
        apart = conditions[""].cores if "" in conditions else None
        stack.enter_context(cpu_affinity(apart.generator if apart else None))
        least = min(found, key=lambda f: f.limits.nofile_hard or math.inf)
        yield runtimes, found[0].model_copy(update={"limits": least.limits, "engine": found[-1].engine})


def _enclosed(
    root: Path, conditions: Sequence[Condition], entries: Sequence[Entry]
) -> AbstractContextManager[tuple[Runtime, HostFacts]]:
    in_guests = conditions[0].runtime == "vm"
    return _guests(root, conditions[0], entries) if in_guests else _containers(root, conditions, entries)


@contextmanager
def _guests(root: Path, condition: Condition, entries: Sequence[Entry]) -> Iterator[tuple[Runtime, HostFacts]]:
    by, memory = condition.accelerator or "", condition.memory or ""
    try:
        with vm.hosting(root, by, memory, jdk_for(entries, condition.jdk)) as hosted:
            yield hosted
    except machine.VmError as error:
        raise BenchError(str(error)) from None


@contextmanager
def _containers(
    root: Path, conditions: Sequence[Condition], entries: Sequence[Entry]
) -> Iterator[tuple[Runtime, HostFacts]]:
    """All images built or found broken; afterwards no container is left, or a person is told which may be."""
    runtime = _in_images(conditions[0].runtime)
    built: set[str] = set()
    try:
        for place, condition in enumerate(conditions):
            servers = {s.label: s for s in (e.server.at(condition.env) for e in entries) if s.label not in built}
            if servers or not place:
                runtime.build(root, list(servers.values()), _variables(condition))
            built |= set(servers)
        yield runtime, runtime.facts()
    except EngineError as error:
        raise BenchError(f"container engine: {error}") from None
    finally:
        try:
            runtime.close()
        except EngineError as error:
            print(f"zoo: container engine: {error}", file=sys.stderr)


def _in_images(name: str) -> ContainerRuntime:
    """The runtime of this name, as this environment sets it."""
    resources, sampler = resources_of(os.environ), os.environ.get("SAMPLER", "auto")
    if name == "swarm":
        swarm = swarm_of(os.environ)
        return SwarmRuntime(swarm, places_of(swarm, os.environ), resources)
    return ContainerRuntime(Engine(), resources, sampler)


def _variables(condition: Condition) -> dict[str, str]:
    """Those of the compose file that decide what is in an image."""
    return condition.env | ({"JDK": condition.jdk} if condition.jdk else {})
