"""Turns a person's options into the plan of a run. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from zoo.catalog.manifest import Catalog, Entry
from zoo.model.condition import Condition
from zoo.model.option import NEVER, Option
from zoo.model.run import PlanFacts, Program, Target
from zoo.plan import capacity
from zoo.plan.blocks import Design
from zoo.plan.capacity import PlanError, percent
from zoo.plan.defaults import EMULATED, FULL, QUICK, TIERS, Profile
from zoo.plan.scenario import DEFAULT, SCENARIOS, Asked


def _scenario_names() -> str:
    return f"{', '.join(SCENARIOS)}; {' and '.join(DEFAULT)} without it"


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line, an option a field.

    Empty means all, of tiers those that a scenario has of its own. `targets` are made of URLs and processes.
    """

    servers: Annotated[Sequence[str], Option("--server", "a server's folder name; repeat for more")] = ()
    variants: Annotated[Sequence[str], Option("--variant", "a variant's name; repeat for more")] = ()
    scenarios: Annotated[Sequence[str], Option("--scenario", _scenario_names)] = ()
    cases: Annotated[
        Sequence[str], Option("--case", "of a scenario that has several, such as 5ms+2ms of cpu; repeat")
    ] = ()
    tiers: Annotated[
        Sequence[str],
        Option(
            "--tiers",
            "connection counts, with commas between; without it each scenario's own",
            empty="no tier; name connection counts such as 100,1k,25k",
        ),
    ] = ()
    rounds: Annotated[
        int | None, Option("--rounds", "how often every cell is measured, in fresh processes", least=1, most=1000)
    ] = None
    duration_s: Annotated[int | None, Option("--duration", "seconds of load in a cell that does not wait", least=1)] = (
        None
    )
    warmup_s: Annotated[
        int | None,
        Option(
            "--warmup",
            "seconds of warm-up at most, before load without a wait; windows are as short in proportion",
            least=6,
        ),
    ] = None
    turn_s: Annotated[
        int | None,
        Option(
            "--turn",
            "seconds of a turn, at least: tens for a pool that sizes itself; each variant has two turns or more",
            least=1,
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            "--precision",
            "after these rounds as many more as bring virtual against platform threads to this half-width, such as 5%",
        ),
    ] = None
    budget_min: Annotated[
        int, Option("--budget", "minutes that the run may take with the rounds that a precision adds", least=1)
    ] = 90
    quick: Annotated[bool, Option("--quick", "one short round: a smoke run, no statistics")] = False
    seed: Annotated[int | None, Option("--seed", "of the order of entries; random and stored without it")] = None
    aa: Annotated[
        bool | None, Option("--aa/--no-aa", "measure an entry of each kind twice: A/A; on for the whole zoo")
    ] = None
    design: Annotated[
        Design | None,
        Option(
            "--design",
            "a server's variants in throughput: in turns (the default), each alone (rounds, the default of a "
            "quick run), or loaded at once (parallel)",
        ),
    ] = None
    vary: Annotated[
        Sequence[str],
        Option(
            "--vary",
            "measure each entry under a further condition too: runtime=container, heap=50m, jdk=21, "
            "flags=-XX:+UseSerialGC, cpus=1, cores=split, MAX_THREADS=400, liberty=23.0.0.10; repeat",
            separator=NEVER,
        ),
    ] = ()
    runtime: Annotated[
        str,
        Option(
            "--runtime",
            "process, container, vm or swarm (docs/scale-out.md); auto: containers where an engine answers; "
            "fit: vm where processes cannot do it",
            variable="RUNTIME",
        ),
    ] = "auto"
    urls: Annotated[
        Sequence[str],
        Option("--target", "the URL of a server that already runs; repeat for more", separator=",(?=https?://)"),
    ] = ()
    pids: Annotated[
        Sequence[int],
        Option("--pid", "the target's process, whose memory, CPU and threads are then measured; one a target"),
    ] = ()
    remote: Annotated[bool, Option("--remote", "also a target that is not on this machine")] = False
    targets: Mapping[str, Target] = field(default_factory=dict)

    def doubled(self, scenarios: Sequence[str]) -> list[str]:
        """Scenarios with A/A pairs. Unasked: of a whole zoo in several rounds, where throughput is measured."""
        if self.aa is not None:
            return list(scenarios) if self.aa else []
        if self.servers or self.variants or self.targets or self.profile().rounds == 1:
            return []
        return [name for name in scenarios if SCENARIOS[name].settle]

    def arranged(self) -> Design:
        """Unasked in turns; in a quick run each alone, as one round has no intervals to narrow."""
        return self.design or (Design.ROUNDS if self.quick else Design.TURNS)

    def profile(self, *, emulated: bool = False) -> Profile:
        """Times of the run; a duration replaces the window of scenarios without a wait, a warm-up theirs."""
        made = EMULATED if emulated else QUICK if self.quick else FULL
        own = [SCENARIOS[name].rounds or made.rounds for name in self.scenarios if name in SCENARIOS]
        made = replace(made, rounds=max(own, default=made.rounds) if self.rounds is None else self.rounds)
        if self.duration_s is not None:
            made = replace(made, window_s=self.duration_s, few_times=1)
        if self.turn_s is not None:
            made = replace(made, turn_s=self.turn_s, few_times=1)
        if self.warmup_s is not None:
            window_s = max(1, self.warmup_s // made.warmup_windows_jvm)
            made = replace(made, warmup_cap_s=self.warmup_s, warmup_window_s=window_s)
        return made


def plan_of(
    wish: Wish, catalog: Catalog, condition: Condition, variations: Mapping[str, Condition] | None = None
) -> PlanFacts:
    """The plan of a new run; `PlanError` or `CatalogError` for words that name nothing."""
    for name in wish.scenarios:
        if name not in SCENARIOS:
            raise PlanError(f'no scenario "{name}"; known: {", ".join(SCENARIOS)}')
    tiers = {t.connections: t.name for t in map(capacity.tier, wish.tiers)}
    profile = wish.profile(emulated=condition.emulated)
    entries = chosen(wish, catalog)
    scenarios = _scenarios(wish, condition)
    doubled = wish.doubled(scenarios)
    asked = Asked(
        entries,
        quick=wish.quick,
        duration_s=wish.duration_s,
        tiers=[tiers[connections] for connections in sorted(tiers)],
        runtime=condition.runtime,
        jdk=condition.jdk,
    )
    programs = programs_of(scenarios, asked, wish.cases)
    if wish.targets and programs:
        raise PlanError(f"{', '.join(programs)}: only of servers that the zoo starts, not of a target")
    planned = PlanFacts(
        entries=[*(e.id for e in entries), *wish.targets],
        scenarios=scenarios,
        tiers=list(asked.tiers) or list(TIERS),
        rounds=profile.rounds,
        rounds_of=_once(scenarios) if wish.rounds is None else {},
        precision=None if wish.precision is None else percent(wish.precision),
        budget_s=None if wish.precision is None else 60.0 * wish.budget_min,
        seed=secrets.randbelow(2**31) if wish.seed is None else wish.seed,
        profile=profile.numbers(),
        condition=condition,
        variations=dict(variations or {}),
        natives=[e.id for e in entries if e.native],
        settings={e.id: e.settings for e in entries} if variations else {},
        twins=[e.id for e in catalog.twice(entries)] or [*wish.targets][:1] if doubled else [],
        twin_scenarios=doubled,
        design=wish.arranged(),
        targets=dict(wish.targets),
        guests=[*(e.id for e in entries if e.server.guest), *wish.targets],
        programs=programs,
    )
    for name in planned.variations:
        _check_effect(planned, name)
    return planned


def _check_effect(planned: PlanFacts, name: str) -> None:
    """`PlanError` for a condition that changes nothing of any entry."""
    if any(planned.concerns(entry, name) for entry in planned.entries):
        return
    unlike = planned.variations[name].settings_unlike(planned.condition)
    if not unlike:
        raise PlanError(f"{name} changes nothing: no selected server variant has a JVM")
    raise PlanError(f"{name} changes nothing: {unread(unlike[0], planned.settings.values())}")


def unread(setting: str, read: Iterable[Sequence[str]]) -> str:
    """Return why a setting concerns no entry; `read` are the settings of each."""
    known = ", ".join(dict.fromkeys(name for names in read for name in names)) or "none"
    return f"no selected server variant reads {setting} (those selected read: {known})"


def _once(scenarios: Sequence[str]) -> dict[str, int]:
    """Of scenarios that one round answers; one that is alone has the rounds of a run."""
    return {name: 1 for name in scenarios if SCENARIOS[name].once} if len(scenarios) > 1 else {}


def _scenarios(wish: Wish, condition: Condition) -> list[str]:
    """Those asked for, else all that say something under this condition."""
    asked = list(dict.fromkeys(wish.scenarios))
    able = [name for name, scenario in SCENARIOS.items() if not (condition.emulated and scenario.speed)]
    if refused := [name for name in asked if name not in able]:
        raise PlanError(
            f"{', '.join(refused)}: measures speed, and the guest's processor would be emulated, as KVM does not work "
            f"here; RUNTIME=vm can run {', '.join(able)}"
        )
    return asked or ([DEFAULT[0]] if wish.targets else [name for name in DEFAULT if name in able])


def chosen(wish: Wish, catalog: Catalog) -> list[Entry]:
    """The entries asked for; beside a target only those that are named."""
    if wish.targets and not (wish.servers or wish.variants):
        return []
    return catalog.select(wish.servers, wish.variants)


def entries_of(planned: PlanFacts, catalog: Catalog) -> list[Entry]:
    """Those that the zoo starts itself."""
    return [catalog.entry(name) for name in planned.entries if name not in planned.targets]


def programs_of(scenarios: Sequence[str], asked: Asked, wanted: Sequence[str]) -> dict[str, Program]:
    """Of the scenarios with cases of their own; with `wanted` only these cases.

    `PlanError` where nothing is left of a scenario, or a case is none of any.
    """
    made = {name: make(asked) for name in scenarios if (make := SCENARIOS[name].program)}
    programs: dict[str, Program] = {}
    for name, program in made.items():
        if not program.cases:
            raise PlanError(f"scenario {name} applies to none of these entries")
        cases = [case for case in program.cases if not wanted or case.name in wanted]
        if not cases:
            known = ", ".join(case.name for case in program.cases)
            raise PlanError(f'scenario {name} has no case "{", ".join(wanted)}"; known: {known or "none"}')
        programs[name] = program.model_copy(update={"cases": cases})
    # without a name is the case of a scenario that has but one
    every = {"", *(case.name for program in programs.values() for case in program.cases)}
    if strange := [case for case in wanted if case not in every]:
        raise PlanError(f'{", ".join(scenarios)}: no case "{", ".join(strange)}"')
    return programs
