"""Which cells in which order, and how long they take. Pure."""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TypeVar

from zoo.records import PlanFacts, asked
from zoo.results import Case, Program
from zoo.scenario import SCENARIOS
from zoo.scenario.base import sleeping_window
from zoo.twins import is_twin, twin
from zoo.variations import plain, varied

STEADY_WINDOWS = 4
TREND_MATTERS = 0.02
TREND = {4: 6, 5: 8, 6: 11}
"""Windows: the least |S| of Mann and Kendall whose two-sided probability without a trend is below 10 %."""

BACKLOG_GRACE_S = 3.0

ONE_WAIT, TWO_WAITS = 1.1, 2.5
"""Lengths of a window, in waits: each connection is answered once, or twice and with half a wait to spare, so that
answers which come in bursts do not fall on its end and count for one server only."""

BURST = 1_000
"""So many connections are opened and read within a tenth of a wait."""

MANY = 5_000

HOLDING_S = 0.1
"""A shorter wait holds no connection: throughput is still what is measured."""


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


@dataclass(frozen=True)
class Profile:
    """The times of a run, in seconds, and how often it is repeated.

    `cycles`: how often, at most, each of several servers alive at once has its two turns in a tier; a turn takes a
    second or more.

    `connect_s` is added to windows with over `MANY` connections: past half of the ephemeral ports each connect()
    searches them all. `burst_waits` is the length of a sleeping window with over `BURST` of them, in waits: the first
    answers of some take 1.8 waits.
    """

    rounds: int
    cycles: int
    window_s: float
    brief_warmup_s: float
    warmup_window_s: float
    warmup_windows_native: int
    warmup_windows_jvm: int
    warmup_cap_s: float
    sleep_warmup_s: float
    sleep_delay_s: float
    connect_s: float
    burst_waits: float
    idle_s: float
    rest_s: float

    def numbers(self) -> dict[str, float]:
        """The profile as it is stored in a run."""
        return {name: float(value) for name, value in asdict(self).items()}

    def warmup_windows(self, *, native: bool) -> int:
        """At least so many windows before warm-up may end."""
        return self.warmup_windows_native if native else self.warmup_windows_jvm

    def gentle_windows(self, *, native: bool) -> int:
        """Of these, how many a JVM is given with few connections, so that its compiler gets a core."""
        return 0 if native else max(1, self.warmup_windows_jvm // 3)


FULL = Profile(
    rounds=3,
    cycles=12,
    window_s=8,
    brief_warmup_s=2,
    warmup_window_s=4,
    warmup_windows_native=4,
    warmup_windows_jvm=6,
    warmup_cap_s=24,
    sleep_warmup_s=3,
    sleep_delay_s=10,
    connect_s=2,
    burst_waits=3.5,
    idle_s=1,
    rest_s=3,
)
QUICK = Profile(
    rounds=1,
    cycles=1,
    window_s=1,
    brief_warmup_s=1,
    warmup_window_s=1,
    warmup_windows_native=2,
    warmup_windows_jvm=2,
    warmup_cap_s=3,
    sleep_warmup_s=1,
    sleep_delay_s=0.5,
    connect_s=4,
    burst_waits=3.5,
    idle_s=0.5,
    rest_s=0.5,
)


EMULATED = replace(
    FULL,
    rounds=1,
    warmup_windows_native=2,
    warmup_windows_jvm=8,
    sleep_warmup_s=15,
    sleep_delay_s=60,
    connect_s=90,
    idle_s=3,
)
"""For a host some twenty times slower than this one: the longest times; each cell's own are in `pacing`."""


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


def window(block: Block, at: Tier, profile: Profile) -> float:
    """Seconds of one window of load, the time to open many connections included."""
    wait = block.delay(profile)
    load = _load_s(block, profile)
    if SCENARIOS[block.scenario].holds:
        if block.program is None:  # of a program one for all counts, as a slope needs
            load = sleeping_window(wait, _waits(block, at, profile))
    else:
        if not block.alone and not block.parallel:
            load = math.ceil(load / (2 * _cycles(block, at, profile)))
        if wait >= HOLDING_S:
            load = max(load, sleeping_window(wait, TWO_WAITS))
    return load + (profile.connect_s if at.connections > MANY else 0.0)


def _waits(block: Block, at: Tier, profile: Profile) -> float:
    if at.connections > BURST:
        return profile.burst_waits
    return TWO_WAITS if at == block.tiers[-1] else ONE_WAIT


def _load_s(block: Block, profile: Profile) -> float:
    return block.program.duration_s if block.program else profile.window_s


def slots(block: Block, at: Tier, profile: Profile) -> list[tuple[int, ...]]:
    """Who is loaded in each window, by place in the block's entries.

    In turns: a random permutation, then its reverse (A B B A), so that a steady drift of the machine is the same for
    all; anew as often as the profile says.
    """
    everyone = tuple(range(len(block.entries)))
    if block.parallel or block.alone:
        return [everyone] * (block.program.windows if block.program else 1)
    coin = random.Random(f"{block.seed}/{block.round}/{block.asked}/{at.name}/{block.entries[0]}")
    made: list[tuple[int, ...]] = []
    for _ in range(_cycles(block, at, profile)):
        turn = coin.sample(everyone, len(everyone))
        made += [(index,) for index in [*turn, *turn[::-1]]]
    return made


def fewer(made: list[tuple[int, ...]], block: Block, times_longer: float) -> list[tuple[int, ...]]:
    """As many of the turns as take no longer than all of them did, whole cycles and one at least, where each became so
    much longer."""
    if block.parallel or block.alone:
        return made
    cycle = 2 * len(block.entries)
    return made[: cycle * max(1, int(len(made) / cycle / times_longer))]


def _cycles(block: Block, at: Tier, profile: Profile) -> int:
    """Opening many connections, or a long wait, takes as long as a window: as few of them as can be. wrk counts in
    whole seconds."""
    if at.connections > MANY or block.delay(profile) >= HOLDING_S:
        return 1
    return min(profile.cycles, math.ceil(_load_s(block, profile) / 2))


def seconds(block: Block, profile: Profile, natives: Sequence[bool], bounded_pools: Sequence[bool]) -> float:
    """Estimated wall time of a block; the flags are those of its entries."""
    alone = replace(block, entries=block.entries[:1])
    if SCENARIOS[block.scenario].trial:
        return block_seconds(block, profile, native=natives[0], bounded_pool=bounded_pools[0])
    each = [
        block_seconds(alone, profile, native=native, bounded_pool=bounded) - _windows(alone, profile)
        for native, bounded in zip(natives, bounded_pools, strict=True)
    ]
    rests = (len(each) - 1) * profile.rest_s
    return sum(each) - rests + _windows(block, profile)


def _windows(block: Block, profile: Profile) -> float:
    return sum(len(slots(block, t, profile)) * (window(block, t, profile) + 0.8) for t in block.tiers)


def block_seconds(block: Block, profile: Profile, *, native: bool, bounded_pool: bool) -> float:
    """Estimated wall time of a block; a bounded pool is restarted after tiers that it cannot work off."""
    scenario = SCENARIOS[block.scenario]
    start = (0.5 if native else 2.0) + profile.idle_s
    if scenario.trial and block.program:
        return start + profile.sleep_warmup_s + scenario.trial_s(block.program) + profile.rest_s
    if scenario.settle:
        least = profile.warmup_windows(native=native) * profile.warmup_window_s
        warm = least if native else max(least, profile.warmup_cap_s)
    else:
        warm = profile.sleep_warmup_s
    brief = profile.brief_warmup_s * (len(block.tiers) - 1) if scenario.settle else 0
    total = start + warm + brief + _windows(block, profile) + block.rest(profile)
    if bounded_pool and scenario.holds:
        backlogged = sum(t.connections > 200 for t in block.tiers)
        total += backlogged * BACKLOG_GRACE_S + max(backlogged - 1, 0) * (start + warm)
    return total


def steady(rates: Sequence[float]) -> bool:
    """True when the last windows show no trend that matters: more of them would not bring another throughput.

    A trend that matters: the least-squares line over the last four windows rises or falls by 2 % of their mean, and the
    windows (up to six) follow their order so closely that noise does so in less than one case of ten (Mann 1945,
    Kendall 1970: S = Σ sign(later - earlier)). A bound on the variation is no part of it: where windows of
    a warm server vary by 8 % it would never be met (docs/method.md).
    """
    last = rates[-STEADY_WINDOWS:]
    if len(last) < STEADY_WINDOWS or min(last) <= 0:
        return False
    rise = statistics.linear_regression(range(STEADY_WINDOWS), last).slope * (STEADY_WINDOWS - 1)
    if abs(rise) < TREND_MATTERS * statistics.fmean(last):
        return True
    recent = rates[-max(TREND) :]
    s = sum((late > early) - (late < early) for early, late in itertools.combinations(recent, 2))
    return abs(s) < TREND[len(recent)]
