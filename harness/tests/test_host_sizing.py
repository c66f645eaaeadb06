"""Tests of what hosts need for a number of connections."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from zoo.cli import app
from zoo.core import capacity
from zoo.core.capacity import ALL_PORTS, USUAL_PORTS, generator_need, server_need
from zoo.core.host_facts import Limits
from zoo.report.text.planning import sizing_section
from zoo.stats.interval import Interval
from zoo.stats.memory_per_request import Cost


@pytest.mark.parametrize("ports", [USUAL_PORTS, ALL_PORTS])
@pytest.mark.parametrize(("connections", "hosts"), [(100, 1), (250_000, 4), (1_000_000, 9), (1_000_000, 10)])
def test_what_is_said_to_be_needed_is_enough_and_no_more(connections: int, hosts: int, ports: tuple[int, int]) -> None:
    server, one = server_need(connections, 10, 4), generator_need(connections, hosts, 4, ports)
    assert one.connections * hosts >= connections > (one.connections - 1) * hosts

    def holds(addresses: int) -> bool:
        limits = Limits(port_low=ports[0], port_high=ports[1])
        return capacity.feasible_connections(limits, one.connections, addresses).limited_by is None

    assert holds(one.addresses)
    assert one.addresses == 1 or not holds(one.addresses - 1)
    assert capacity.feasible_connections(Limits(nofile_hard=server.descriptors), connections).actual == connections


def cost(kb: float) -> Cost:
    return Cost(Interval(kb, None, None, 1), 1.0)


def test_memory_is_the_measured_cost_times_the_connections() -> None:
    costs = {("a:x", "rss"): cost(14.0), ("a:x", "socket"): cost(8.0), ("b:y", "rss"): cost(100.0)}
    section = sizing_section(1_048_576, 8, costs)
    assert section.tables[0].rows == [["a:x", "14", "14", "4"]], "of b:y the sockets were not measured"
    assert "1,049,076 descriptors" in section.paragraphs[0]
    assert "131,072 connections" in section.bullets[0]
    assert ": 5 with the usual ports, or 3 after" in section.bullets[1]


def test_without_a_measured_cost_there_is_nothing_to_reckon_with() -> None:
    assert "nothing to extrapolate from" in sizing_section(1_000, 1, {}).paragraphs[0]


def test_the_plan_says_what_hosts_need() -> None:
    words = ["plan", "--server", "rust-axum", "--connections", "1M", "--generators", "9"]
    done = CliRunner().invoke(app.app_for(words), words, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "1,000,000 connections with waiting requests" in done.stdout
    assert "rust-axum:hyper" in done.stdout
    assert "java" not in done.stdout
