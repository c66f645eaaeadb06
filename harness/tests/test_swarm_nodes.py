"""Tests of which nodes of a swarm get what, and of the errors if that is impossible."""

from __future__ import annotations

from collections.abc import Mapping

import builders
import pytest

from zoo.core.capacity import feasible_connections
from zoo.core.condition import Condition
from zoo.core.errors import BenchError
from zoo.core.host_facts import Limits
from zoo.host import doctor
from zoo.host.engine import Engine, EngineError, Node, Swarm
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.runtime.conditions import select_runtime
from zoo.runtime.swarm.generators import with_ports_of
from zoo.runtime.swarm.places import places_of


def node(name: str, *roles: str, ready: bool = True) -> Node:
    return Node(f"id-{name}", name, f"10.0.0.{ord(name)}", roles, ready)


A, B, C = node("a", "server"), node("b", "load"), node("c", "load")
REGISTRY = {"ZOO_IMAGES": "registry.example.org/zoo"}


class Nodes(Swarm):
    """A swarm with these nodes, of which the first is the manager."""

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
    assert (found.server, found.addresses, found.listen_address) == (A, (A.address,), A.address)
    assert found.loads == {"b": B, "c": C}
    assert found.has_separate_generators


def test_generators_are_dealt_out_in_turns() -> None:
    assert places_of(Nodes(A, B, C), {**REGISTRY, "GENERATORS": "1"}).loads == {"b": B}
    assert places_of(Nodes(A, B, C), {**REGISTRY, "GENERATORS": "3"}).loads == {"b": B, "c": C, "b (2)": B}


def test_several_addresses_of_the_server_are_listened_at_all() -> None:
    found = places_of(Nodes(A, B), {**REGISTRY, "SERVER_ADDRESS": "10.0.0.5, 10.0.0.6"})
    assert (found.addresses, found.listen_address) == (("10.0.0.5", "10.0.0.6"), "0.0.0.0")


def test_one_node_for_both_needs_no_registry_and_shares_its_cores() -> None:
    both = node("a", "server", "load")
    assert not places_of(Nodes(both), {}).has_separate_generators


@pytest.mark.parametrize(
    ("nodes", "environment", "told"),
    [
        ((), {}, "RUNTIME=swarm: this engine is in no swarm"),
        ((A, B), {}, "with ZOO_IMAGES=registry.example.org/zoo"),
        ((node("a"), B), REGISTRY, "docker node update --label-add zoo.role=server NODE. A node with"),
        ((A, node("b")), REGISTRY, "no node has the label zoo.role=load"),
        ((A, node("b", "load", ready=False)), REGISTRY, r"no node with zoo.role=load is ready and active \(b\)"),
        ((A, B), {**REGISTRY, "GENERATORS": "0"}, 'GENERATORS must be a whole number above 0, got "0"'),
    ],
)
def test_what_cannot_be_is_told(nodes: tuple[Node, ...], environment: Mapping[str, str], told: str) -> None:
    with pytest.raises(BenchError, match=told):
        places_of(Nodes(*nodes), environment)


def test_the_removed_runtime_names_its_successor() -> None:
    with pytest.raises(BenchError, match=r"RUNTIME=hosts no longer exists: .*RUNTIME=swarm"):
        select_runtime("hosts")


def test_records_of_the_removed_runtime_can_be_read() -> None:
    condition = Condition(runtime="hosts", network="hosts", jdk="25")
    assert Condition.model_validate_json(condition.model_dump_json()) == condition
    made = builders.run()
    run = made.model_copy(update={"plan": made.plan.model_copy(update={"condition": condition})})
    assert "JDK and rustc: those of the images" in render(report_sections(Summary.of(run, [])))


def test_a_limit_names_its_host_and_the_command_that_raises_it() -> None:
    ports = {"b": Limits(port_low=32_768, port_high=60_999), "c": Limits(port_low=50_000, port_high=60_999)}
    found = feasible_connections(between(ports, nofile_hard=1_048_576), 100_000)
    assert (found.actual, found.limited_by) == (20_000, "ip_local_port_range 50000-60999 on c")
    assert found.setting == "ports"
    assert doctor.host_limit_fix("ports", 100_000) == 'sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"'
    few = feasible_connections(between({"b": ports["b"]}, nofile_hard=20_000), 25_000)
    assert (few.limited_by, few.setting) == ("nofile hard limit 20,000 on a", "descriptors")
    assert doctor.host_limit_fix("descriptors", 25_000).startswith("dockerd --default-ulimit nofile=25500:25500")
    kernel = feasible_connections(between({"b": ports["b"]}, nofile_hard=None, file_max=30_000), 25_000)
    assert (kernel.limited_by, kernel.setting) == ("fs.file-max 30,000 on a", "files")
    assert doctor.host_limit_fix("files", 25_000) == "sudo sysctl -w fs.file-max=51000"


def between(generators: Mapping[str, Limits], **server: int | None) -> Limits:
    """Return the limits of a run whose server, on host a, has these limits."""
    facts = builders.run().host.model_copy(update={"limits": Limits.model_validate(server)})
    return with_ports_of(facts, "a", generators, 1).limits
