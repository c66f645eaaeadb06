"""A runtime for each condition of a run, ready to start its entries."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from zoo.core.condition import IN_IMAGES, Condition
from zoo.core.errors import BenchError
from zoo.core.host_facts import HostFacts, Limits
from zoo.core.manifest import Entry
from zoo.host import facts, network
from zoo.host.engine import Engine, EngineError
from zoo.host.processors import cpu_affinity
from zoo.runtime.base import Runtime
from zoo.runtime.conditions import jdk_for
from zoo.runtime.container import ContainerRuntime, resources_of
from zoo.runtime.process import ProcessRuntime
from zoo.runtime.swarm.places import places_of, swarm_of
from zoo.runtime.swarm.runtime import SwarmRuntime
from zoo.runtime.vm import guest
from zoo.runtime.vm import runtime as vm


def limits_for(root: Path, condition: Condition, host: HostFacts) -> Limits:
    """Return the limits that apply to a run under this condition."""
    if condition.runtime == "vm":
        return guest.limits()
    if condition.runtime not in IN_IMAGES:
        return network.namespace_limits(host.limits) if condition.network == "private" else host.limits
    with open_runtimes(root, {"": condition}, []) as (_, seen):
        return seen.limits


@contextmanager
def open_runtimes(
    root: Path, conditions: Mapping[str, Condition], entries: Sequence[Entry]
) -> Iterator[tuple[dict[str, Runtime], HostFacts]]:
    """Yield a runtime for each condition, ready to start these entries, and the facts of the machine they start on.

    The facts are gathered again, because some limits differ in a network namespace or a container. With several
    runtimes, the run's limit of descriptors is the lowest one. If the generator has its own processors, the harness
    runs on them.
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
                if condition.runtime == "vm":
                    jdk, by, memory = jdk_for(entries, condition.jdk), condition.accelerator, condition.memory
                    shared["vm"], seen = vm.prepare(root, by or "", memory or "", jdk)
                else:
                    same = [c for c in conditions.values() if c.runtime == condition.runtime]
                    shared[condition.runtime], seen = stack.enter_context(_containers(root, same, entries))
                found.append(seen)
            runtimes[name] = shared[condition.runtime]
        apart = conditions[""].cores if "" in conditions else None
        stack.enter_context(cpu_affinity(apart.generator if apart else None))
        least = min(found, key=lambda f: f.limits.nofile_hard or math.inf)
        yield runtimes, found[0].model_copy(update={"limits": least.limits, "engine": found[-1].engine})


@contextmanager
def _containers(
    root: Path, conditions: Sequence[Condition], entries: Sequence[Entry]
) -> Iterator[tuple[Runtime, HostFacts]]:
    """Build all images, yield the runtime and its facts, and remove all containers afterwards.

    An image that cannot be built is recorded as broken. If the engine does not answer at the end, a message names the
    containers that may be left.
    """
    runtime = _container_runtime(conditions[0].runtime)
    built: set[str] = set()
    try:
        for place, condition in enumerate(conditions):
            servers = {
                s.label: s for s in (e.server.with_release(condition.env) for e in entries) if s.label not in built
            }
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


def _container_runtime(name: str) -> ContainerRuntime:
    """Return the runtime of this name with the settings of this environment."""
    resources, sampler = resources_of(os.environ), os.environ.get("SAMPLER", "auto")
    if name == "swarm":
        swarm = swarm_of(os.environ)
        return SwarmRuntime(swarm, places_of(swarm, os.environ), resources)
    return ContainerRuntime(Engine(), resources, sampler)


def _variables(condition: Condition) -> dict[str, str]:
    """Return the variables of the compose file that determine the content of an image."""
    return condition.env | ({"JDK": condition.jdk} if condition.jdk else {})
