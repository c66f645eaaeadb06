"""What a run is going to measure, as text. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from zoo.model.entry_id import plain
from zoo.model.program import Program
from zoo.model.run import PlanFacts
from zoo.report.formatting import format_duration


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
