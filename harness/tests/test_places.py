"""Which nodes of a swarm get what, and what a person is told where that cannot be."""

from __future__ import annotations

from collections.abc import Mapping

import builders
import pytest

from zoo.host import doctor
from zoo.host.engine import Engine, EngineError, Node, Swarm
from zoo.model.condition import Condition
from zoo.model.errors import BenchError
from zoo.model.host import Limits
from zoo.plan.capacity import connections
from zoo.report.summary import Summary
from zoo.report.text.document import document
from zoo.report.text.markdown import render
from zoo.runtime.conditions import runtime_named
from zoo.runtime.swarm.generators import with_ports_of
from zoo.runtime.swarm.places import places_of


def node(name: str, *roles: str, ready: bool = True) -> Node:
    return Node(f"id-{name}", name, f"10.0.0.{ord(name)}", roles, ready)


A, B, C = node("a", "server"), node("b", "load"), node("c", "load")
REGISTRY = {"ZOO_IMAGES": "registry.example.org/zoo"}


class Nodes(Swarm):
    """A swarm that has these nodes, the first the manager that is spoken to."""

    def __init__(self, *nodes: Node) -> None:
        super().__init__(Engine())
        object.__setattr__(self, "made", nodes)

    made: tuple[Node, ...]

    def nodes(self) -> tuple[Node, list[Node]]:
        if not self.made:
            raise EngineError("this engine is in no swarm")
        return self.made[0], list(self.made)


def test_roles_come_from_labels() -> None:
    found = places_of(Nodes(A, B, C), REGISTRY)
    assert (found.server, found.addresses, found.listens) == (A, (A.address,), A.address)
    assert found.loads == {"b": B, "c": C}
    assert found.apart


def test_generators_are_dealt_out_in_turns() -> None:
    assert places_of(Nodes(A, B, C), {**REGISTRY, "GENERATORS": "1"}).loads == {"b": B}
    assert places_of(Nodes(A, B, C), {**REGISTRY, "GENERATORS": "3"}).loads == {"b": B, "c": C, "b (2)": B}


def test_several_addresses_of_the_server_are_listened_at_all() -> None:
    found = places_of(Nodes(A, B), {**REGISTRY, "SERVER_ADDRESS": "10.0.0.5, 10.0.0.6"})
    assert (found.addresses, found.listens) == (("10.0.0.5", "10.0.0.6"), "0.0.0.0")


def test_one_node_for_both_needs_no_registry_and_shares_its_cores() -> None:
    both = node("a", "server", "load")
    assert not places_of(Nodes(both), {}).apart


@pytest.mark.parametrize(
    ("nodes", "environment", "told"),
    [
        ((), {}, "RUNTIME=swarm: this engine is in no swarm"),
        ((A, B), {}, "name it by ZOO_IMAGES=registry.example.org/zoo"),
        ((node("a"), B), REGISTRY, "docker node update --label-add zoo.role=server NODE, of a, b. A node that is for"),
        ((A, node("b")), REGISTRY, "no node has the label zoo.role=load"),
        ((A, node("b", "load", ready=False)), REGISTRY, r"no node with zoo.role=load is ready and active \(b\)"),
        ((A, B), {**REGISTRY, "GENERATORS": "0"}, 'GENERATORS must be a whole number above 0, got "0"'),
    ],
)
def test_what_cannot_be_is_told(nodes: tuple[Node, ...], environment: Mapping[str, str], told: str) -> None:
    with pytest.raises(BenchError, match=told):
        places_of(Nodes(*nodes), environment)


def test_the_removed_runtime_names_its_successor() -> None:
    with pytest.raises(BenchError, match=r"RUNTIME=hosts was removed: .*RUNTIME=swarm"):
        runtime_named("hosts")


def test_records_of_the_removed_runtime_can_be_read() -> None:
    condition = Condition(runtime="hosts", network="hosts", jdk="25")
    assert Condition.model_validate_json(condition.model_dump_json()) == condition
    made = builders.run()
    run = made.model_copy(update={"plan": made.plan.model_copy(update={"condition": condition})})
    assert "JDK and rustc: the images' own" in render(document(Summary.of(run, [])))


def test_a_limit_names_its_host_and_the_command_that_raises_it() -> None:
    ports = {"b": Limits(port_low=32_768, port_high=60_999), "c": Limits(port_low=50_000, port_high=60_999)}
    found = connections(between(ports, nofile_hard=1_048_576), 100_000)
    assert (found.actual, found.limited_by) == (20_000, "ip_local_port_range 50000-60999 on c")
    assert found.setting == "ports"
    assert doctor.host_limit_fix("ports", 100_000) == 'sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
    few = connections(between({"b": ports["b"]}, nofile_hard=20_000), 25_000)
    assert (few.limited_by, few.setting) == ("nofile hard limit 20,000 on a", "descriptors")
    assert doctor.host_limit_fix("descriptors", 25_000).startswith("dockerd --default-ulimit nofile=25500:25500")
    kernel = connections(between({"b": ports["b"]}, nofile_hard=None, file_max=30_000), 25_000)
    assert (kernel.limited_by, kernel.setting) == ("fs.file-max 30,000 on a", "files")
    assert doctor.host_limit_fix("files", 25_000) == "sudo sysctl -w fs.file-max=51000"


def between(generators: Mapping[str, Limits], **server: int | None) -> Limits:
    """Of a run whose server, on host a, has these limits."""
    facts = builders.run().host.model_copy(update={"limits": Limits.model_validate(server)})
    return with_ports_of(facts, "a", generators, 1).limits
