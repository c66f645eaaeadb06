"""What a plan means before it runs: its cells and time, the rounds that a precision takes, the hosts' sizes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from zoo.analysis.extra_rounds import PLANNED, Need
from zoo.analysis.held import Cost
from zoo.model.entry_id import plain
from zoo.model.run import PlanFacts, Program, Run
from zoo.plan.capacity import ALL_PORTS, USUAL_PORTS, generator_need, server_need
from zoo.report.columns import title_of
from zoo.report.formatting import format_duration, format_number
from zoo.report.section import NONE, Section, Table


def announcement(planned: PlanFacts, seconds: float, settings: Mapping[str, str], cores: str | None = None) -> str:
    """The cells and their time; who is measured, how, and on which cores."""
    plain = planned.cells - planned.twin_cells
    twice = f", and {planned.twin_cells} of A/A ({', '.join(planned.twins)})" if planned.twin_cells else ""
    setting = ", ".join(f"{name} {value}" for name, value in settings.items())
    if planned.variations:
        setting += f"; and {', '.join(planned.variations)}"
    asked = {entry for entries, _ in _loads(planned) for entry in entries}
    machine = f"\nmachine: {cores}" if cores else ""
    other = "".join(f", of {name} {rounds}" for name, rounds in planned.rounds_of.items())
    return (
        f"{plain} cells = {_groups(planned)} × {planned.rounds} round(s){other}{twice}, "
        f"about {format_duration(seconds)}{_added(planned)}\n"
        f"entries: {', '.join(entry for entry in planned.entries if entry in asked)}\n"
        f"condition: {setting}; order seed {planned.seed}{_left_out(planned)}"
        f"{machine}"
    )


def _left_out(planned: PlanFacts) -> str:
    """The conditions that some entries are not measured under, and which."""
    lines = {
        name: [entry for entry in planned.entries if not planned.concerns(entry, name)] for name in planned.variations
    }
    return "".join(f"\n{name} does not concern {', '.join(entries)}" for name, entries in lines.items() if entries)


def _added(planned: PlanFacts) -> str:
    """What may follow."""
    if planned.precision is None or planned.budget_s is None:
        return ""
    return f"; then rounds until ±{100 * planned.precision:g} %, at most {format_duration(planned.budget_s)} in all"


def _groups(planned: PlanFacts) -> str:
    """`13 entries × hello × 100, 1k connections; 3 entries × service × 5s × 200 connections`"""
    groups: dict[tuple[str, ...], list[str]] = {}
    for entries, load in _loads(planned):
        groups.setdefault(entries, []).append(load)
    told = [f"{_who(planned, entries)} × {'; '.join(loads)}" for entries, loads in groups.items()]
    return told[0] if len(told) == 1 else f"({'; '.join(told)})"


def _who(planned: PlanFacts, entries: Sequence[str]) -> str:
    """`3 entries`, `2 entries under 2 conditions, 1 under 1`; a condition of the JVM alone leaves out the others."""
    if not planned.variations:
        return f"{len(entries)} entries"
    under = Counter(1 + sum(plain(one) == entry for one in planned.further) for entry in entries)
    (most, many), *fewer = sorted(under.items(), reverse=True)
    return ", ".join([f"{many} entries under {most} conditions", *(f"{n} under {count}" for count, n in fewer)])


def _loads(planned: PlanFacts) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each load with the entries that it applies to."""
    plain = [name for name in planned.scenarios if name not in planned.programs]
    if plain:
        yield tuple(planned.entries), f"{', '.join(plain)} × {', '.join(planned.tiers)} connections"
    for scenario, program in planned.programs.items():
        for entries, cases in _cases(planned, program).items():
            words = [scenario, ", ".join(filter(None, cases)), f"{', '.join(program.tiers)} connections"]
            yield entries, " × ".join(filter(None, words))


def _cases(planned: PlanFacts, program: Program) -> dict[tuple[str, ...], list[str]]:
    """Cases by the entries that they apply to, without those that apply to none."""
    found: dict[tuple[str, ...], list[str]] = {}
    for case in program.cases:
        entries = tuple(entry for entry in planned.entries if case.applies(entry))
        if entries:
            found.setdefault(entries, []).append(case.name)
    return found


def rounds_needed(run: Run, needs: Sequence[Need], wanted: float, cost: Callable[[Sequence[str]], float]) -> Section:
    """`cost` gives the seconds of one round of these entries."""
    pairs = list(dict.fromkeys((n.a, n.b) for n in needs))
    cells = list(dict.fromkeys(_cell(n) for n in needs))
    table = Table(
        f"rounds for ± {100 * wanted:g} %",
        ["pair", "scenario", "tier", *(m.name for m in PLANNED)],
        [
            [
                f"{a} ÷ {b}",
                scenario,
                tier,
                *(_rounds([n for n in needs if _cell(n) == (a, b, scenario, tier) and n.metric == m]) for m in PLANNED),
            ]
            for a, b, scenario, tier in cells
        ],
        text=3,
    )
    bullets = [
        f"{a} ÷ {b}: {_rounds_and_hours([n for n in needs if (n.a, n.b) == (a, b)], cost([a, b]))}, these two alone"
        for a, b in pairs
    ]
    bullets.append(f"all pairs: {_rounds_and_hours(needs, cost(run.plan.entries))}, the pilot's whole plan")
    return Section(
        "Rounds that a precision costs",
        [
            f"Pilot: {run.id}. Rounds after which the 95 % interval of a pair's ratio is expected to be within "
            f"± {100 * wanted:g} %; in brackets the rounds that suffice with 80 % assurance, for few rounds of a pilot "
            "tell little about their own spread.",
        ],
        [table],
        bullets,
    )


def _cell(need: Need) -> tuple[str, str, str, str]:
    return need.a, need.b, need.scenario, need.tier


def _rounds(needs: Sequence[Need]) -> str:
    """The most that any of them needs: `14 (37)`."""
    if not needs:
        return NONE
    return f"{max(n.expected for n in needs):,} ({max(n.assured for n in needs):,})"


def _rounds_and_hours(needs: Sequence[Need], round_s: float) -> str:
    told = []
    for metric in PLANNED:
        mine = [n for n in needs if n.metric == metric]
        if mine:
            hours = max(n.expected for n in mine) * round_s / 3600
            told.append(f"{metric.name} {_rounds(mine)} rounds, about {hours:.1f} h")
    return "; ".join(told)


GB = 1 / 1024**2


def sizing(connections: int, hosts: int, costs: Mapping[tuple[str, str], Cost]) -> Section:
    """A row an entry whose held connections were measured; `costs` by entry and quantity (`rss`, `socket`)."""
    rows, sockets = [], []
    for entry in sorted({entry for entry, _ in costs}):
        rss, socket = costs.get((entry, "rss")), costs.get((entry, "socket"))
        if rss is None or socket is None:
            continue
        need = server_need(connections, rss.interval.value, socket.interval.value)
        sockets.append(socket.interval.value)
        rows.append([entry, *map(format_number, (rss.interval.value, need.memory_kb * GB, need.sockets_kb * GB))])
    if not rows:
        return Section("What each host needs", ["No held connection was measured: nothing to reckon with."])
    columns = ["entry", title_of("kb_per_request"), "process, GB", "kernel's sockets, GB"]
    descriptors = server_need(connections, 0, 0).descriptors
    usual, wide = (generator_need(connections, hosts, max(sockets), ports) for ports in (USUAL_PORTS, ALL_PORTS))
    return Section(
        "What each host needs",
        [
            f"For {connections:,} held connections the server's host needs {descriptors:,} descriptors (`ulimit -n`, "
            "`fs.nr_open`, `fs.file-max`) and the memory of the table, beyond what the server has at rest.",
        ],
        [Table("Memory of the server's host", columns, rows)],
        [
            f"Each of {hosts} generator hosts: {usual.connections:,} connections and as many descriptors, "
            f"{format_number(usual.sockets_kb * GB)} GB for sockets, besides wrk's own memory.",
            f"Addresses of the server (SERVER_ADDRESS=, with commas between): {usual.addresses} with the usual ports, "
            f"{wide.addresses} after `sysctl -w net.ipv4.ip_local_port_range='{ALL_PORTS[0]} {ALL_PORTS[1]}'` there.",
        ],
    )
