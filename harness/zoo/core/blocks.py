"""The blocks of a plan: which cells are measured together, in which order, and which ones a resumed run lacks. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from zoo.core.capacity import PlanError, Tier, parse_tier
from zoo.core.defaults import BEFORE, FULL, Profile
from zoo.core.entry_id import aa_id, base_id, is_aa, server_name
from zoo.core.errors import BenchError
from zoo.core.record import Record, RecordKey, newest_records, workload_name
from zoo.core.run import Case, LaterRounds, PlanFacts, Program
from zoo.core.scenario import SCENARIOS

PLAIN = Case()
"""The case of a scenario that has no cases."""


@dataclass(frozen=True)
class Block:
    """One lifetime of servers that run side by side, with a scenario and its connection counts in rising order.

    The load goes to all of these servers at once (`parallel`) or to one after the other in alternating windows. A
    scenario with its own `program` is measured in one of its cases.
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
    def workload(self) -> str:
        """Return the name of the scenario with its case."""
        return workload_name(self.scenario, self.case.name)

    def describe(self, entry_id: str) -> str:
        return f"round {self.round}  {entry_id}  {self.workload}"

    @property
    def start_order(self) -> list[str]:
        """Return the entries in the order in which they start and warm up. The order changes from round to round."""
        coin = random.Random(f"{self.seed}/{self.workload}/{self.entries[0]}")
        return round_order(self.entries, self.round, coin.randrange(2**32))

    @property
    def is_single(self) -> bool:
        return len(self.entries) == 1

    def keys(self, at: Tier) -> list[RecordKey]:
        """Return the keys of the records that the block produces at one connection count."""
        return [(entry, self.workload, at.name, self.round) for entry in self.entries]

    def delay(self, profile: Profile) -> float:
        """Return how long each request waits under this profile, in seconds."""
        if self.program:
            return self.case.wait_s
        return profile.sleep_delay_s if SCENARIOS[self.scenario].delay_s else 0.0

    def path(self, delay_s: float, home: str = "/") -> str:
        """Return the request target.

        A scenario with a program that holds no connections uses the path of its case. Any other scenario requests this
        wait, or the page at `home` if it has no wait.
        """
        scenario = SCENARIOS[self.scenario]
        return self.case.path if self.program and not scenario.holds else scenario.path(delay_s, home)

    def rest(self, profile: Profile) -> float:
        """Return the pause after the last connection count, in seconds, before the servers are sampled once more."""
        own = self.program.rest_s if self.program else None
        return profile.rest_s if own is None else own

    def warm_path(self, home: str = "/") -> str:
        return self.case.warm_path if self.program else SCENARIOS[self.scenario].warm_path(home)


T = TypeVar("T")


def round_order(units: Sequence[T], round_number: int, seed: int) -> list[T]:
    """Return the order within a round: a random permutation in odd rounds, its reverse in the even round after it."""
    pair = (round_number + 1) // 2
    shuffled = random.Random(f"{seed}/{pair}").sample(list(units), len(units))
    return shuffled if round_number % 2 else shuffled[::-1]


class Design(StrEnum):
    """How the entries of one server are compared in scenarios that measure throughput.

    - `rounds`: each entry runs alone, so minutes lie between the measurements.
    - `turns`: the entries run side by side and are loaded alternately, in short windows.
    - `parallel`: the entries run side by side and are loaded at the same time.
    """

    ROUNDS = "rounds"
    TURNS = "turns"
    PARALLEL = "parallel"


def blocks_of(planned: PlanFacts) -> list[Block]:
    """Return the blocks of a plan in the order in which they are measured. Each round contains every cell once.

    Entries under additional conditions and A/A duplicates take part like any other entry.
    """
    entries = planned.entries
    everyone = [*entries, *planned.varied_entries, *map(aa_id, planned.twins)]
    units: list[Block] = []
    for scenario in planned.scenarios:
        again = scenario in planned.twin_scenarios
        units += _round_blocks([e for e in everyone if again or not is_aa(e)], scenario, planned)
    return [
        replace(limited, round=number, position=position)
        for number in range(1, max(map(planned.rounds_in, planned.scenarios)) + 1)
        for position, unit in enumerate(round_order(units, number, planned.seed))
        if number <= planned.rounds_in(unit.scenario) and (limited := _limit(unit, planned.limits_of(number)))
    ]


def _limit(block: Block, limits: LaterRounds | None) -> Block | None:
    """Return the part of a block that a limited round measures, or None if there is none."""
    if limits is None:
        return block
    entries = tuple(entry for entry in block.entries if entry in limits.entries)
    tiers = tuple(tier for tier in block.tiers if tier.name in limits.tiers)
    parallel = block.parallel and len(entries) > 1
    return replace(block, entries=entries, tiers=tiers, parallel=parallel) if entries and tiers else None


def _round_blocks(entries: Sequence[str], scenario: str, planned: PlanFacts) -> list[Block]:
    """Return the blocks of one round for these entries in a scenario; the caller sets round and position.

    A trial needs a fresh server, so each of its connection counts is a block.
    """
    program, design = planned.programs.get(scenario), Design(planned.design)
    apart = program is not None and SCENARIOS[scenario].trial is not None

    def steps(case: Case) -> list[tuple[Tier, ...]]:
        rising = _parse_tiers(case.tiers or (program.tiers if program else planned.tiers))
        return [(t,) for t in rising] if apart else [rising]

    return [
        Block(group, scenario, step, 0, 0, planned.seed, design is Design.PARALLEL and len(group) > 1, program, case)
        for case in (program.cases if program else [PLAIN])
        for group in group_entries([e for e in entries if case.applies(e)], scenario, design, planned.guests)
        for step in steps(case)
    ]


def _parse_tiers(names: Sequence[str]) -> tuple[Tier, ...]:
    return tuple(sorted(dict.fromkeys(map(parse_tier, names)), key=lambda t: t.connections))


def profile_of(stored: PlanFacts) -> Profile:
    """Return the profile of a stored plan; `PlanError` if another version of the harness stored it."""
    numbers = BEFORE | stored.profile
    if set(numbers) != set(FULL.numbers()):
        raise PlanError(
            "cannot resume: another version of the harness, with other times, started this run; start a new run"
        )
    whole = {"rounds", "cycles", "few_times", "warmup_windows_native", "warmup_windows_jvm"}
    return Profile(**{name: int(value) if name in whole else value for name, value in numbers.items()})  # type: ignore[arg-type]


def group_entries(
    entries: Sequence[str], scenario: str, design: Design, guests: Sequence[str] = ()
) -> list[tuple[str, ...]]:
    """Return the entries that run side by side.

    These are the entries of one server if the scenario measures throughput; otherwise each entry runs alone. If guests
    and other entries are measured, all of them run side by side, because each guest is compared with each other entry.
    """
    if design is Design.ROUNDS or not SCENARIOS[scenario].measures_throughput:
        return [(entry,) for entry in entries]
    if len({base_id(entry) in guests for entry in entries}) > 1:
        return [tuple(entries)]
    servers = dict.fromkeys(server_name(e) for e in entries)
    return [tuple(e for e in entries if e.startswith(f"{server}:")) for server in servers]


def measured_keys(records: Iterable[Record]) -> frozenset[RecordKey]:
    """Return the keys of the cells that have not failed."""
    return frozenset(record.key for record in newest_records(records) if record.failure is None)


def check_unchanged(protocol: int, newest: int, builds: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raise `BenchError` if a run started with another protocol or with other sources.

    `builds` are the hashes of the sources that the run started with, and `now` the current ones.
    """
    if protocol != newest:
        raise BenchError(
            f"cannot resume: this run was started with protocol {protocol}, and this harness uses "
            f"{newest}; start a new run"
        )
    if changed := ", ".join(sorted(name for name in builds.keys() & now.keys() if builds[name] != now[name])):
        raise BenchError(
            f"cannot resume: {changed} changed after this run was started; start a new run, or restore the sources"
        )


def remaining_tiers(block: Block, done: frozenset[RecordKey]) -> list[Tier]:
    """Return the connection counts of a block that lack a record of some entry.

    All entries of the block are measured again at these counts.
    """
    return [tier for tier in block.tiers if any(key not in done for key in block.keys(tier))]


def remaining_blocks(blocks: Sequence[Block], done: frozenset[RecordKey]) -> list[Block]:
    """Return the complete blocks that have a connection count left to measure, in their order."""
    return [block for block in blocks if remaining_tiers(block, done)]


def remaining_work(blocks: Sequence[Block], done: frozenset[RecordKey]) -> list[Block]:
    """Return the blocks of `remaining_blocks` without the connection counts that are measured."""
    return [replace(one, tiers=tuple(remaining_tiers(one, done))) for one in remaining_blocks(blocks, done)]
