"""The roles of a swarm's nodes, by their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.core.errors import BenchError
from zoo.host.engine import ROLE, Engine, EngineError, Node, Swarm, engine_of, image_name
from zoo.runtime.container import GENERATOR, has_registry


@dataclass(frozen=True)
class Places:
    """The manager that receives the commands, the server's node and addresses, and the generators' nodes by name."""

    manager: Node
    server: Node
    addresses: tuple[str, ...]
    loads: Mapping[str, Node]

    @property
    def listen_address(self) -> str:
        """Return the address that the server listens on: all addresses of its node if generators use several."""
        return self.addresses[0] if len(self.addresses) == 1 else "0.0.0.0"

    @property
    def has_separate_generators(self) -> bool:
        """Check whether no generator is on the server's node."""
        return self.server not in self.loads.values()


def swarm_of(environment: Mapping[str, str]) -> Swarm:
    """Return the swarm of SWARM_CONTEXT=, a context or URL of a manager, otherwise that of this shell's engine."""
    where = environment.get("SWARM_CONTEXT", "")
    return Swarm(engine_of(where) if where else Engine())


def places_of(swarm: Swarm, environment: Mapping[str, str]) -> Places:
    """Assign roles to the nodes by their labels.

    GENERATORS= sets the number of generators, which are distributed over the nodes in turn. SERVER_ADDRESS= sets the
    addresses at which they reach the server. `BenchError` says which label is missing and how to set it.
    """
    try:
        manager, nodes = swarm.nodes()
    except EngineError as error:
        raise BenchError(f"RUNTIME=swarm: {error}") from None
    server = _nodes_with_role(nodes, "server")[0]
    able = _nodes_with_role(nodes, "load")
    wanted = environment.get("GENERATORS", str(len(able)))
    if not re.fullmatch(r"[1-9]\d*", wanted):
        raise BenchError(f'GENERATORS must be a whole number above 0, got "{wanted}"')
    assigned = [able[number % len(able)] for number in range(int(wanted))]
    loads = {
        node.name if number < len(able) else f"{node.name} ({number // len(able) + 1})": node
        for number, node in enumerate(assigned)
    }
    if {server, *assigned} != {manager} and not has_registry(image_name(GENERATOR, environment)):
        raise BenchError(
            "RUNTIME=swarm: the nodes need a registry from which to fetch the images: name one that "
            "all of them reach, with ZOO_IMAGES=registry.example.org/zoo"
        )
    given = [word.strip() for word in environment.get("SERVER_ADDRESS", "").split(",") if word.strip()]
    return Places(manager, server, tuple(given) or (server.address,), loads)


def _nodes_with_role(nodes: Sequence[Node], role: str) -> list[Node]:
    found = [node for node in nodes if role in node.roles]
    if ready := [node for node in found if node.ready]:
        return ready
    if found:
        names = ", ".join(node.name for node in found)
        raise BenchError(
            f"RUNTIME=swarm: no node with {ROLE}={role} is ready and active ({names}): check docker node ls"
        )
    names = ", ".join(node.name for node in nodes)
    raise BenchError(
        f"RUNTIME=swarm: no node has the label {ROLE}={role}. Set it on one of {names}: docker node "
        f"update --label-add {ROLE}={role} NODE. A node with {ROLE}=server,load runs both"
    )
