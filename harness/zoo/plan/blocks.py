"""The blocks of a plan: which cells are measured together, in which order, and which a resumed run lacks. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from zoo.model.entry_id import is_twin, plain, server_of, twin
from zoo.model.errors import BenchError
from zoo.model.record import Record, asked, newest_records
from zoo.model.run import Case, PlanFacts, Program
from zoo.plan.capacity import PlanError, Tier, tier
from zoo.plan.defaults import BEFORE, FULL, Profile
from zoo.plan.scenario import SCENARIOS

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

    def described(self, entry_id: str) -> str:
        return f"round {self.round}  {entry_id}  {self.asked}"

    @property
    def starting(self) -> list[str]:
        """The entries in the order in which they are started and warmed up: another one in each round."""
        coin = random.Random(f"{self.seed}/{self.asked}/{self.entries[0]}")
        return order(self.entries, self.round, coin.randrange(2**32))

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
        return self.case.warm_path if self.program else SCENARIOS[self.scenario].warm_path(home)


T = TypeVar("T")


def order(units: Sequence[T], round_number: int, seed: int) -> list[T]:
    """What a round consists of: a random permutation in odd rounds, its reverse in the even round after it."""
    pair = (round_number + 1) // 2
    shuffled = random.Random(f"{seed}/{pair}").sample(list(units), len(units))
    return shuffled if round_number % 2 else shuffled[::-1]


class Design(StrEnum):
    """How entries of one server are set against each other where throughput is measured.

    `rounds`: each alone, so that minutes lie between them. `turns`: alive at once, loaded in turns, in short windows.
    `parallel`: alive and loaded at once.
    """

    ROUNDS = "rounds"
    TURNS = "turns"
    PARALLEL = "parallel"


def blocks_of(planned: PlanFacts) -> list[Block]:
    """Every cell of a plan once a round, in the order they are measured.

    Entries under further conditions, and twins, take part in it like any other entry.
    """
    entries = planned.entries
    everyone = [*entries, *planned.further, *map(twin, planned.twins)]
    units: list[Block] = []
    for scenario in planned.scenarios:
        again = scenario in planned.twin_scenarios
        units += _units([e for e in everyone if again or not is_twin(e)], scenario, planned)
    return [
        replace(unit, round=number, position=position)
        for number in range(1, max(map(planned.rounds_in, planned.scenarios)) + 1)
        for position, unit in enumerate(order(units, number, planned.seed))
        if number <= planned.rounds_in(unit.scenario)
    ]


def _units(entries: Sequence[str], scenario: str, planned: PlanFacts) -> list[Block]:
    """What a round asks of these entries in a scenario, its round and position left open.

    A trial begins on a fresh server, so each of its tiers is a block.
    """
    program, design = planned.programs.get(scenario), Design(planned.design)
    rising = _rising(program.tiers if program else planned.tiers)
    steps = [(t,) for t in rising] if program and SCENARIOS[scenario].trial else [rising]
    return [
        Block(group, scenario, step, 0, 0, planned.seed, design is Design.PARALLEL and len(group) > 1, program, case)
        for case in (program.cases if program else [PLAIN])
        for group in groups([e for e in entries if case.applies(e)], scenario, design, planned.guests)
        for step in steps
    ]


def _rising(names: Sequence[str]) -> tuple[Tier, ...]:
    return tuple(sorted(dict.fromkeys(map(tier, names)), key=lambda t: t.connections))


def profile_of(stored: PlanFacts) -> Profile:
    """The profile of a stored plan; `PlanError` when another version of the harness stored it."""
    numbers = BEFORE | stored.profile
    if set(numbers) != set(FULL.numbers()):
        raise PlanError("the run was made by another version of the harness, which had other times; start a new run")
    whole = {"rounds", "cycles", "few_times", "warmup_windows_native", "warmup_windows_jvm"}
    return Profile(**{name: int(value) if name in whole else value for name, value in numbers.items()})  # type: ignore[arg-type]


def groups(entries: Sequence[str], scenario: str, design: Design, guests: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The entries that are alive at once: those of one server where throughput is measured, else each alone.

    Where there are guests and others all are, for each guest is compared with each of them.
    """
    if design is Design.ROUNDS or not SCENARIOS[scenario].settle:
        return [(entry,) for entry in entries]
    if len({plain(entry) in guests for entry in entries}) > 1:
        return [tuple(entries)]
    servers = dict.fromkeys(server_of(e) for e in entries)
    return [tuple(e for e in entries if e.startswith(f"{server}:")) for server in servers]


Done = frozenset[tuple[str, str, str, int]]
"""Keys of records: entry, scenario with case, tier, round."""


def measured(records: Iterable[Record]) -> Done:
    """Of the cells that have not failed."""
    return frozenset(record.key for record in newest_records(records) if record.failure is None)


def check_unchanged(protocol: int, newest: int, builds: Mapping[str, str], now: Mapping[str, str]) -> None:
    """`BenchError` when a run was begun with another protocol, or with other sources (`builds`) than those of now."""
    if protocol != newest:
        raise BenchError(
            f"this run was begun with protocol {protocol}, and this harness measures with {newest}; start a new run"
        )
    if changed := ", ".join(sorted(name for name in builds.keys() & now.keys() if builds[name] != now[name])):
        raise BenchError(f"{changed} changed since this run was begun; start a new run, or restore the sources")


def tiers_left(block: Block, done: Done) -> list[Tier]:
    """The tiers of a block of which an entry has no record; all of the block's entries are then measured again."""
    return [tier for tier in block.tiers if any(key not in done for key in block.keys(tier))]


def blocks_left(blocks: Sequence[Block], done: Done) -> list[Block]:
    """The blocks in which a tier is left, whole and in their order."""
    return [block for block in blocks if tiers_left(block, done)]
