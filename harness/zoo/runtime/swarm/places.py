"""Which nodes of a swarm do what, by their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.host.engine import ROLE, Engine, EngineError, Node, Swarm, engine_of, image
from zoo.model.errors import BenchError
from zoo.runtime.container import GENERATOR, has_registry


@dataclass(frozen=True)
class Places:
    """The manager that is spoken to, the server's node, its addresses, and the nodes of generators by their names."""

    manager: Node
    server: Node
    addresses: tuple[str, ...]
    loads: Mapping[str, Node]

    @property
    def listens(self) -> str:
        """Where the server listens: at all addresses of its node where generators use several."""
        return self.addresses[0] if len(self.addresses) == 1 else "0.0.0.0"

    @property
    def apart(self) -> bool:
        """True when no generator is on the server's node."""
        return self.server not in self.loads.values()


def swarm_of(environment: Mapping[str, str]) -> Swarm:
    """By SWARM_CONTEXT=, a context or URL of a manager, else by this shell's own engine."""
    where = environment.get("SWARM_CONTEXT", "")
    return Swarm(engine_of(where) if where else Engine())


def places_of(swarm: Swarm, environment: Mapping[str, str]) -> Places:
    """By the nodes' labels; GENERATORS= says how many, dealt out in turns, SERVER_ADDRESS= where they reach the server.

    `BenchError` says which label is missing, and how to set it.
    """
    try:
        manager, nodes = swarm.nodes()
    except EngineError as error:
        raise BenchError(f"RUNTIME=swarm: {error}") from None
    server = _labelled(nodes, "server")[0]
    able = _labelled(nodes, "load")
    wanted = environment.get("GENERATORS", str(len(able)))
    if not re.fullmatch(r"[1-9]\d*", wanted):
        raise BenchError(f'GENERATORS must be a whole number above 0, got "{wanted}"')
    dealt = [able[number % len(able)] for number in range(int(wanted))]
    loads = {
        node.name if number < len(able) else f"{node.name} ({number // len(able) + 1})": node
        for number, node in enumerate(dealt)
    }
    if {server, *dealt} != {manager} and not has_registry(image(GENERATOR, environment)):
        raise BenchError(
            "RUNTIME=swarm: nodes fetch the images from a registry that all of them reach: name it by "
            "ZOO_IMAGES=registry.example.org/zoo"
        )
    given = [word.strip() for word in environment.get("SERVER_ADDRESS", "").split(",") if word.strip()]
    return Places(manager, server, tuple(given) or (server.address,), loads)


def _labelled(nodes: Sequence[Node], role: str) -> list[Node]:
    found = [node for node in nodes if role in node.roles]
    if ready := [node for node in found if node.ready]:
        return ready
    if found:
        names = ", ".join(node.name for node in found)
        raise BenchError(f"RUNTIME=swarm: no node with {ROLE}={role} is ready and active ({names}): docker node ls")
    names = ", ".join(node.name for node in nodes)
    raise BenchError(
        f"RUNTIME=swarm: no node has the label {ROLE}={role}. Set it: docker node update --label-add {ROLE}={role} "
        f"NODE, of {names}. A node that is for both has {ROLE}=server,load"
    )
