"""Which cells in which order. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from zoo.profile import FULL, Profile
from zoo.records import PlanFacts, asked
from zoo.results import Case, Program
from zoo.scenario import SCENARIOS
from zoo.twins import is_twin, twin
from zoo.variations import plain, varied


class PlanError(Exception):
    """A plan that cannot be made from the words given; the message says what was expected."""


@dataclass(frozen=True)
class Tier:
    """A connection count by the name a person types: `100`, `1k`, `25k`."""

    name: str
    connections: int


def tier(name: str) -> Tier:
    """Parse a tier's name; `PlanError` for anything that is not a whole number of connections."""
    found = re.fullmatch(r"([1-9]\d{0,6})(k?)", name.strip().lower())
    if not found:
        raise PlanError(f'tier must be a connection count such as 100, 1k or 25k, got "{name}"')
    return Tier(found.group(0), int(found.group(1)) * (1000 if found.group(2) else 1))


PLAIN = Case()
"""That of a scenario without cases."""


@dataclass(frozen=True)
class Block:
    """One life of the servers that are alive at once: their entries, a scenario, its tiers in rising order.

    Servers alive at once are loaded in `parallel` or, window by window, in turns. A scenario with a `program` of its
    own is asked in one of its cases.
    """

    entries: tuple[str, ...]
    scenario: str
    tiers: tuple[Tier, ...]
    round: int
    position: int
    seed: int = 0
    parallel: bool = False
    program: Program | None = None
    case: Case = PLAIN

    @property
    def asked(self) -> str:
        """The scenario with its case."""
        return asked(self.scenario, self.case.name)

    @property
    def alone(self) -> bool:
        return len(self.entries) == 1

    def keys(self, at: Tier) -> list[tuple[str, str, str, int]]:
        """Of the records that a tier of the block gives."""
        return [(entry, self.asked, at.name, self.round) for entry in self.entries]

    def delay(self, profile: Profile) -> float:
        """Seconds that each request waits under this profile."""
        if self.program:
            return self.case.wait_s
        return profile.sleep_delay_s if SCENARIOS[self.scenario].delay_s else 0.0

    def path(self, delay_s: float, home: str = "/") -> str:
        """The request target; one that holds, or has no program, is asked for this wait or a server's plain answer."""
        scenario = SCENARIOS[self.scenario]
        return self.case.path if self.program and not scenario.holds else scenario.path(delay_s, home)

    def rest(self, profile: Profile) -> float:
        """Seconds after the last tier, before the servers are looked at once more."""
        own = self.program.rest_s if self.program else None
        return profile.rest_s if own is None else own

    def warm_path(self, home: str = "/") -> str:
        """The request target of warm-up."""
        return self.case.warm_path if self.program else SCENARIOS[self.scenario].warm_path(home)


T = TypeVar("T")


def order(units: Sequence[T], round_number: int, seed: int) -> list[T]:
    """What a round consists of: a random permutation in odd rounds, its reverse in the even round after it."""
    pair = (round_number + 1) // 2
    shuffled = random.Random(f"{seed}/{pair}").sample(list(units), len(units))
    return shuffled if round_number % 2 else shuffled[::-1]


@dataclass(frozen=True)
class Twins:
    """A/A: entries measured a second time a round, under ids of their own, and in which scenarios."""

    entries: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()


class Design(StrEnum):
    """How entries of one server are set against each other where throughput is measured.

    `rounds`: each alone, so that minutes lie between them. `turns`: alive at once, loaded in turns, in short windows.
    `parallel`: alive and loaded at once.
    """

    ROUNDS = "rounds"
    TURNS = "turns"
    PARALLEL = "parallel"


def blocks(
    entries: Sequence[str],
    scenarios: Sequence[str],
    tiers: Sequence[Tier],
    rounds: int,
    seed: int,
    twins: Twins = Twins(),
    design: Design = Design.ROUNDS,
    variations: Sequence[str] = (),
    guests: Sequence[str] = (),
    programs: Mapping[str, Program] = {},
) -> list[Block]:
    """Every cell once a round, in the order they are measured.

    Entries under further conditions, and twins, take part in it like any other entry.
    """
    rising = tuple(sorted(set(tiers), key=lambda t: t.connections))
    everyone = [*entries, *(varied(e, name) for e in entries for name in variations), *map(twin, twins.entries)]
    chosen = {s: [e for e in everyone if not is_twin(e) or s in twins.scenarios] for s in scenarios}
    units = [unit for s in scenarios for unit in _units(chosen[s], s, rising, seed, design, guests, programs.get(s))]
    return [
        replace(unit, round=number, position=position)
        for number in range(1, rounds + 1)
        for position, unit in enumerate(order(units, number, seed))
    ]


def _units(
    entries: Sequence[str],
    scenario: str,
    tiers: tuple[Tier, ...],
    seed: int,
    design: Design,
    guests: Sequence[str],
    program: Program | None,
) -> list[Block]:
    """What a round asks of these entries in a scenario, its round and position left open.

    A trial begins on a fresh server, so each of its tiers is a block.
    """
    if program is None:
        return [
            Block(group, scenario, tiers, 0, 0, seed, design is Design.PARALLEL and len(group) > 1)
            for group in groups(entries, scenario, design, guests)
        ]
    own = tuple(sorted((tier(name) for name in program.tiers), key=lambda t: t.connections))
    steps = [(t,) for t in own] if SCENARIOS[scenario].trial else [own]
    return [
        Block(group, scenario, step, 0, 0, seed, design is Design.PARALLEL and len(group) > 1, program, case)
        for case in program.cases
        for group in groups([e for e in entries if case.applies(e)], scenario, design, guests)
        for step in steps
    ]


def blocks_of(stored: PlanFacts) -> list[Block]:
    """The blocks of a stored plan, in the order they are measured."""
    tiers = [tier(name) for name in stored.tiers]
    twins = Twins(tuple(stored.twins), tuple(stored.twin_scenarios))
    design = Design(stored.design)
    return blocks(
        stored.entries,
        stored.scenarios,
        tiers,
        stored.rounds,
        stored.seed,
        twins,
        design,
        list(stored.variations),
        stored.guests,
        stored.programs,
    )


def profile_of(stored: PlanFacts) -> Profile:
    """The profile of a stored plan; `PlanError` when another version of the harness stored it."""
    numbers = stored.profile
    if set(numbers) != set(FULL.numbers()):
        raise PlanError("the run was made by another version of the harness, which had other times; start a new run")
    whole = {"rounds", "cycles", "warmup_windows_native", "warmup_windows_jvm"}
    return Profile(**{name: int(value) if name in whole else value for name, value in numbers.items()})  # type: ignore[arg-type]


def groups(entries: Sequence[str], scenario: str, design: Design, guests: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The entries that are alive at once: those of one server where throughput is measured, else each alone.

    Where there are guests and others all are, for each guest is compared with each of them.
    """
    if design is Design.ROUNDS or not SCENARIOS[scenario].settle:
        return [(entry,) for entry in entries]
    if len({plain(entry) in guests for entry in entries}) > 1:
        return [tuple(entries)]
    servers = dict.fromkeys(e.partition(":")[0] for e in entries)
    return [tuple(e for e in entries if e.startswith(f"{server}:")) for server in servers]
