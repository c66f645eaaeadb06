"""Estimates before a run: its cells and time, the rounds needed for a precision, the size of the hosts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from zoo.core.capacity import ALL_PORTS, USUAL_PORTS, generator_need, server_need
from zoo.core.entry_id import base_id
from zoo.core.run import PlanFacts, Program, Run
from zoo.report.columns import title_of
from zoo.report.formatting import format_count, format_duration, format_number
from zoo.report.section import NONE, Section, Table
from zoo.stats.extra_rounds import PLANNED, Need
from zoo.stats.memory_per_request import Cost


def format_announcement(
    planned: PlanFacts, seconds: float, settings: Mapping[str, str], cores: str | None = None
) -> str:
    """Return the announcement of a run: its cells, their time, the entries, the condition and the cores."""
    plain = planned.cells - planned.aa_cells
    again = f", and {planned.aa_cells} of A/A ({', '.join(planned.twins)})" if planned.aa_cells else ""
    setting = ", ".join(f"{name} {value}" for name, value in settings.items())
    if planned.variations:
        setting += f"; and {', '.join(planned.variations)}"
    measured = {entry for entries, _ in _list_loads(planned) for entry in entries}
    machine = f"\nmachine: {cores}" if cores else ""
    rounds = format_count(planned.rounds, "round")
    other = "".join(f", of {name} {count}" for name, count in planned.rounds_of.items())
    return (
        f"{format_count(plain, 'cell')} = {_format_loads(planned)} × {rounds}{other}{again}, "
        f"about {format_duration(seconds)}{_format_extra_rounds(planned)}\n"
        f"entries: {', '.join(entry for entry in planned.entries if entry in measured)}\n"
        f"condition: {setting}; order seed {planned.seed}{_format_unaffected(planned)}"
        f"{machine}"
    )


def _format_unaffected(planned: PlanFacts) -> str:
    """Return the conditions that do not apply to some entries, with these entries."""
    lines = {
        name: [entry for entry in planned.entries if not planned.affects(entry, name)] for name in planned.variations
    }
    return "".join(f"\n{name} does not affect {', '.join(entries)}" for name, entries in lines.items() if entries)


def _format_extra_rounds(planned: PlanFacts) -> str:
    """Return the rounds that may be added to reach the precision, within the budget."""
    if planned.precision is None or planned.budget_s is None:
        return ""
    return (
        f"; then more rounds until ±{100 * planned.precision:g}%, at most {format_duration(planned.budget_s)} in total"
    )


def _format_loads(planned: PlanFacts) -> str:
    """Return the planned loads, grouped by the entries that they apply to.

    `13 entries × hello × 100, 1k connections; 3 entries × service × 5s × 200 connections`
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for entries, load in _list_loads(planned):
        groups.setdefault(entries, []).append(load)
    texts = [f"{_format_entries(planned, entries)} × {'; '.join(loads)}" for entries, loads in groups.items()]
    return texts[0] if len(texts) == 1 else f"({'; '.join(texts)})"


def _format_entries(planned: PlanFacts, entries: Sequence[str]) -> str:
    """Return the number of entries: `3 entries` or `2 entries under 2 conditions, 1 under 1`.

    Numbers of conditions differ because a JVM condition does not apply to native servers.
    """
    if not planned.variations:
        return _count_entries(len(entries))
    under = Counter(1 + sum(base_id(one) == entry for one in planned.varied_entries) for entry in entries)
    (most, many), *fewer = sorted(under.items(), reverse=True)
    return ", ".join([f"{_count_entries(many)} under {most} conditions", *(f"{n} under {count}" for count, n in fewer)])


def _count_entries(count: int) -> str:
    return format_count(count, "entry", "entries")


def _count_connections(tiers: Sequence[str]) -> str:
    return f"{', '.join(tiers)} connection{'' if tiers == ['1'] else 's'}"


def _list_loads(planned: PlanFacts) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each load with the entries that it applies to."""
    plain = [name for name in planned.scenarios if name not in planned.programs]
    if plain:
        yield tuple(planned.entries), f"{', '.join(plain)} × {_count_connections(planned.tiers)}"
    for scenario, program in planned.programs.items():
        for entries, cases in _group_cases(planned, program).items():
            words = [scenario, ", ".join(filter(None, cases)), _count_connections(program.tiers)]
            yield entries, " × ".join(filter(None, words))


def _group_cases(planned: PlanFacts, program: Program) -> dict[tuple[str, ...], list[str]]:
    """Return the cases grouped by the entries that they apply to, without cases that apply to none."""
    by_entries: dict[tuple[str, ...], list[str]] = {}
    for case in program.cases:
        entries = tuple(entry for entry in planned.entries if case.applies(entry))
        if entries:
            by_entries.setdefault(entries, []).append(case.name)
    return by_entries


def rounds_section(
    run: Run, needs: Sequence[Need], precision: float, cost: Callable[[Sequence[str]], float]
) -> Section:
    """Return how many rounds a precision needs; `cost` returns the seconds that one round of some entries takes."""
    pairs = list(dict.fromkeys((n.a, n.b) for n in needs))
    cells = list(dict.fromkeys(_cell_key(n) for n in needs))
    table = Table(
        f"rounds for ±{100 * precision:g}%",
        ["pair", "scenario", "tier", *(m.name for m in PLANNED)],
        [
            [
                f"{a} ÷ {b}",
                scenario,
                tier,
                *(
                    _format_rounds([n for n in needs if _cell_key(n) == (a, b, scenario, tier) and n.metric == m])
                    for m in PLANNED
                ),
            ]
            for a, b, scenario, tier in cells
        ],
        text=3,
    )
    bullets = [
        (
            f"{a} ÷ {b}: {_format_rounds_and_hours([n for n in needs if (n.a, n.b) == (a, b)], cost([a, b]))}, "
            "if only these two are measured"
        )
        for a, b in pairs
    ]
    bullets.append(f"all pairs: {_format_rounds_and_hours(needs, cost(run.plan.entries))}, with the pilot's whole plan")
    return Section(
        "Rounds needed for a precision",
        [
            f"Pilot: {run.id}. Number of rounds after which the 95% interval of a pair's ratio is "
            f"expected to be within ±{100 * precision:g}%. Brackets: number of rounds that suffice with "
            "80% assurance, because a pilot with few rounds estimates its own spread poorly.",
        ],
        [table],
        bullets,
    )


def _cell_key(need: Need) -> tuple[str, str, str, str]:
    return need.a, need.b, need.scenario, need.tier


def _format_rounds(needs: Sequence[Need]) -> str:
    """Return the highest number of rounds among the needs, expected and with 80% assurance: `14 (37)`."""
    if not needs:
        return NONE
    return f"{max(n.expected for n in needs):,} ({max(n.assured for n in needs):,})"


def _format_rounds_and_hours(needs: Sequence[Need], round_s: float) -> str:
    texts = []
    for metric in PLANNED:
        own = [n for n in needs if n.metric == metric]
        if own:
            hours = max(n.expected for n in own) * round_s / 3600
            texts.append(f"{metric.name} {_format_rounds(own)} rounds, about {hours:.1f} h")
    return "; ".join(texts)


GB = 1 / 1024**2


def sizing_section(connections: int, hosts: int, costs: Mapping[tuple[str, str], Cost]) -> Section:
    """Return what the server's host and each generator host need for this many connections.

    The table has a row for each entry whose held connections were measured. The keys of `costs` are the entry and the
    quantity (`rss`, `socket`).
    """
    rows, sockets = [], []
    for entry in sorted({entry for entry, _ in costs}):
        rss, socket = costs.get((entry, "rss")), costs.get((entry, "socket"))
        if rss is None or socket is None:
            continue
        need = server_need(connections, rss.interval.value, socket.interval.value)
        sockets.append(socket.interval.value)
        rows.append([entry, *map(format_number, (rss.interval.value, need.memory_kb * GB, need.sockets_kb * GB))])
    if not rows:
        return Section(
            "Requirements of each host", ["No waiting request was measured, so there is nothing to extrapolate from."]
        )
    columns = ["entry", title_of("kb_per_request"), "process, GB", "kernel sockets, GB"]
    descriptors = server_need(connections, 0, 0).descriptors
    usual, wide = (generator_need(connections, hosts, max(sockets), ports) for ports in (USUAL_PORTS, ALL_PORTS))
    return Section(
        "Requirements of each host",
        [
            f"For {connections:,} connections with waiting requests, the server's host needs "
            f"{descriptors:,} descriptors (`ulimit -n`, `fs.nr_open`, `fs.file-max`) and the memory "
            "in the table, in addition to the server's memory at rest.",
        ],
        [Table("Memory of the server's host", columns, rows)],
        [
            f"Each of {hosts} generator hosts: {usual.connections:,} connections, as many "
            f"descriptors, {format_number(usual.sockets_kb * GB)} GB for sockets, and wrk's own "
            "memory.",
            f"Addresses of the server (SERVER_ADDRESS=, separated by commas): {usual.addresses} with "
            f"the usual ports, or {wide.addresses} after `sysctl -w "
            f"net.ipv4.ip_local_port_range='{ALL_PORTS[0]} {ALL_PORTS[1]}'` on the generator hosts.",
        ],
    )
