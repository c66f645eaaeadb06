"""What each host of a run needs for a count of connections, as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.analysis.held import Cost
from zoo.plan.sizing import ALL_PORTS, USUAL_PORTS, generator_need, server_need
from zoo.report.columns import title_of
from zoo.report.formatting import format_number
from zoo.report.section import Section, Table

GB = 1 / 1024**2


def section(connections: int, hosts: int, costs: Mapping[tuple[str, str], Cost]) -> Section:
    """A row an entry whose held connections were measured; `costs` by entry and quantity (`rss`, `socket`)."""
    rows, sockets = [], []
    for entry in sorted({entry for entry, _ in costs}):
        rss, socket = costs.get((entry, "rss")), costs.get((entry, "socket"))
        if rss is None or socket is None:
            continue
        need = server_need(connections, rss.interval.value, socket.interval.value)
        sockets.append(socket.interval.value)
        rows.append(
            [
                entry,
                format_number(rss.interval.value),
                format_number(need.memory_kb * GB),
                format_number(need.sockets_kb * GB),
            ]
        )
    if not rows:
        return Section("What each host needs", ["No held connection was measured: nothing to reckon with."])
    descriptors = server_need(connections, 0, 0).descriptors
    usual, wide = (generator_need(connections, hosts, max(sockets), ports) for ports in (USUAL_PORTS, ALL_PORTS))
    return Section(
        "What each host needs",
        [
            f"For {connections:,} held connections the server's host needs {descriptors:,} descriptors (`ulimit -n`, "
            "`fs.nr_open`, `fs.file-max`) and the memory of the table, beyond what the server has at rest.",
        ],
        [
            Table(
                "Memory of the server's host",
                ["entry", title_of("kb_per_request"), "process, GB", "kernel's sockets, GB"],
                rows,
            )
        ],
        [
            f"Each of {hosts} generator hosts: {usual.connections:,} connections and as many descriptors, "
            f"{format_number(usual.sockets_kb * GB)} GB for sockets, besides wrk's own memory.",
            f"Addresses of the server (SERVER_ADDRESS=, with commas between): {usual.addresses} with the usual ports, "
            f"{wide.addresses} after `sysctl -w net.ipv4.ip_local_port_range='{ALL_PORTS[0]} {ALL_PORTS[1]}'` there.",
        ],
    )
