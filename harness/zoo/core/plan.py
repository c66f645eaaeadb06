"""The plan of a run, made from a person's options. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from zoo.core import capacity
from zoo.core.blocks import Design
from zoo.core.capacity import PlanError, parse_percent
from zoo.core.condition import Condition
from zoo.core.defaults import BUDGET_MIN, EMULATED, FIRST_ROUNDS, FULL, QUICK, TIERS, Profile
from zoo.core.manifest import Catalog, Entry
from zoo.core.option import Option
from zoo.core.run import PlanFacts, Program, Target
from zoo.core.scenario import DEFAULT, SCENARIOS, ProgramOptions, bench_scenarios

NEXT_SETTING = r",(?=(?:runtime|heap|jdk|jvm|flags|cpus|cores|liberty|[A-Z][A-Z0-9_]*)=)"
"""The comma between two settings of --vary; other commas belong to the value of `flags`."""


def _scenario_help() -> str:
    return f"scenarios, from {', '.join(bench_scenarios())}; by default {' and '.join(DEFAULT)}"


@dataclass(frozen=True)
class BenchOptions:
    """The options given on the command line, one per field.

    Empty means all; for `tiers` it means each scenario's own connection counts. `targets` are built from URLs and
    processes.
    """

    servers: Annotated[
        Sequence[str],
        Option(
            "--server", "servers by their folder name, such as java-tomcat,rust-axum, or all; by default the usual ones"
        ),
    ] = ()
    variants: Annotated[
        Sequence[str], Option("--variant", "variants, such as virtual or rust-axum:hyper; by default all")
    ] = ()
    scenarios: Annotated[Sequence[str], Option("--scenario", _scenario_help)] = ()
    cases: Annotated[
        Sequence[str], Option("--case", "cases of a scenario that has several, such as 5ms+2ms of cpu; by default all")
    ] = ()
    tiers: Annotated[
        Sequence[str],
        Option(
            "--connections",
            "numbers of connections, such as 100,1k,25k; by default those of each scenario",
            empty="--connections is empty; give numbers such as 100,1k,25k",
        ),
    ] = ()
    rounds: Annotated[
        int | None,
        Option("--rounds", "number of rounds; each measures every cell in fresh processes", minimum=1, maximum=1000),
    ] = None
    duration_s: Annotated[
        int | None, Option("--duration", "seconds of load per cell in scenarios without a wait", minimum=1)
    ] = None
    warmup_s: Annotated[
        int | None,
        Option(
            "--warmup",
            "maximum warm-up in seconds, in scenarios without a wait; its windows shrink in proportion",
            minimum=6,
        ),
    ] = None
    turn_s: Annotated[
        int | None,
        Option(
            "--turn",
            "minimum length of an alternating window in seconds; use tens of seconds for a pool that sizes itself",
            minimum=1,
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            "--precision",
            "add rounds until virtual and platform threads can be compared to within this margin, such as 5%",
        ),
    ] = None
    budget_min: Annotated[
        int, Option("--budget", "maximum duration of a run with --precision, in minutes", minimum=1)
    ] = BUDGET_MIN
    quick: Annotated[bool, Option("--quick", "check that everything works in one short round, without statistics")] = (
        False
    )
    seed: Annotated[
        int | None, Option("--seed", "seed for the order of the variants; by default random, and stored in the run")
    ] = None
    aa: Annotated[
        bool | None,
        Option(
            "--aa/--no-aa",
            "measure some variants twice to check the method (A/A); by default only if all servers are measured",
        ),
    ] = None
    design: Annotated[
        Design | None,
        Option(
            "--design",
            "how a server's variants are loaded in throughput scenarios: turns (in alternating windows, the default), "
            "rounds (one after the other, the default with --quick) or parallel (at the same time)",
        ),
    ] = None
    vary: Annotated[
        Sequence[str],
        Option(
            "--vary",
            "conditions to compare with the default: runtime=container, heap=50m, jvm=compact, jdk=21, "
            "flags=-XX:+UseSerialGC, cpus=1, cores=split, MAX_THREADS=400, liberty=23.0.0.10",
            separator=NEXT_SETTING,
        ),
    ] = ()
    runtime: Annotated[
        str,
        Option(
            "--runtime",
            "where servers run: process, container, vm or swarm (docs/guides/swarm.md); auto chooses containers if an "
            "engine is running, fit chooses vm if processes cannot hold the connections",
            variable="RUNTIME",
        ),
    ] = "auto"
    urls: Annotated[
        Sequence[str],
        Option("--target", "URLs of servers that already run", separator=",(?=https?://)"),
    ] = ()
    pids: Annotated[
        Sequence[int],
        Option("--pid", "process IDs of the targets, one per target, to measure memory, CPU and threads"),
    ] = ()
    remote: Annotated[bool, Option("--remote", "allow targets on other machines")] = False
    targets: Mapping[str, Target] = field(default_factory=dict)

    def aa_scenarios(self, scenarios: Sequence[str]) -> list[str]:
        """Return the scenarios with A/A pairs.

        By default these are the scenarios that measure throughput, if a run covers the whole zoo in several rounds.
        """
        if self.aa is not None:
            return list(scenarios) if self.aa else []
        if self.servers or self.variants or self.targets or self.profile().rounds == 1:
            return []
        return [name for name in scenarios if SCENARIOS[name].measures_throughput]

    def comparison_design(self) -> Design:
        """Return the design of the comparison.

        The default is alternating windows. In a quick run each entry runs alone, because one round has no intervals to
        narrow.
        """
        return self.design or (Design.ROUNDS if self.quick else Design.TURNS)

    def profile(self, *, emulated: bool = False) -> Profile:
        """Return the times of the run.

        A given duration replaces the window of scenarios without a wait, and a given warm-up replaces theirs.
        """
        profile = EMULATED if emulated else QUICK if self.quick else FULL
        usual = profile.rounds if self.precision is None else FIRST_ROUNDS
        own = [SCENARIOS[name].rounds or usual for name in self.scenarios if name in SCENARIOS]
        profile = replace(profile, rounds=max(own, default=usual) if self.rounds is None else self.rounds)
        if self.duration_s is not None:
            profile = replace(profile, window_s=self.duration_s, few_times=1)
        if self.turn_s is not None:
            profile = replace(profile, turn_s=self.turn_s, few_times=1)
        if self.warmup_s is not None:
            window_s = max(1, self.warmup_s // profile.warmup_windows_jvm)
            profile = replace(profile, warmup_cap_s=self.warmup_s, warmup_window_s=window_s)
        return profile


def make_plan(
    options: BenchOptions, catalog: Catalog, condition: Condition, variations: Mapping[str, Condition] | None = None
) -> PlanFacts:
    """Return the plan of a new run; `PlanError` or `CatalogError` for unknown names."""
    for name in options.scenarios:
        if name not in bench_scenarios():
            raise PlanError(f'no scenario "{name}"; known: {", ".join(bench_scenarios())}')
    tiers = {t.connections: t.name for t in map(capacity.parse_tier, options.tiers)}
    profile = options.profile(emulated=condition.emulated)
    entries = select_entries(options, catalog)
    scenarios = _select_scenarios(options, condition)
    aa_scenarios = options.aa_scenarios(scenarios)
    program_options = ProgramOptions(
        entries,
        quick=options.quick,
        duration_s=options.duration_s,
        tiers=[tiers[connections] for connections in sorted(tiers)],
        runtime=condition.runtime,
        jdk=condition.jdk,
    )
    programs = make_programs(scenarios, program_options, options.cases)
    if options.targets and programs:
        raise PlanError(f"{', '.join(programs)}: only of servers that the zoo starts, not of a target")
    plan = PlanFacts(
        entries=[*(e.id for e in entries), *options.targets],
        scenarios=scenarios,
        tiers=list(program_options.tiers) or list(TIERS),
        rounds=profile.rounds,
        rounds_of=_single_round_scenarios(scenarios) if options.rounds is None else {},
        precision=None if options.precision is None else parse_percent(options.precision),
        budget_s=None if options.precision is None else 60.0 * options.budget_min,
        seed=secrets.randbelow(2**31) if options.seed is None else options.seed,
        profile=profile.numbers(),
        condition=condition,
        variations=dict(variations or {}),
        natives=[e.id for e in entries if e.native],
        settings={e.id: e.settings for e in entries} if variations else {},
        twins=[e.id for e in catalog.aa_entries(entries)] or [*options.targets][:1] if aa_scenarios else [],
        twin_scenarios=aa_scenarios,
        design=options.comparison_design(),
        targets=dict(options.targets),
        guests=[*(e.id for e in entries if e.server.guest), *options.targets],
        programs=programs,
    )
    for name in plan.variations:
        _check_effect(plan, name)
    return plan


def _check_effect(plan: PlanFacts, name: str) -> None:
    """Raise `PlanError` for a condition that changes nothing for any entry."""
    if any(plan.affects(entry, name) for entry in plan.entries):
        return
    unlike = plan.variations[name].settings_unlike(plan.condition)
    if not unlike:
        raise PlanError(f"{name} changes nothing: no selected server variant has a JVM")
    raise PlanError(f"{name} changes nothing: {explain_unread(unlike[0], plan.settings.values())}")


def explain_unread(setting: str, read: Iterable[Sequence[str]]) -> str:
    """Return why a setting affects no entry; `read` has the settings of each entry."""
    known = ", ".join(dict.fromkeys(name for names in read for name in names)) or "none"
    return f"no selected server variant reads {setting} (those selected read: {known})"


def _single_round_scenarios(scenarios: Sequence[str]) -> dict[str, int]:
    """Return the scenarios that need only one round; a scenario that is measured alone has the run's rounds."""
    return {name: 1 for name in scenarios if SCENARIOS[name].once} if len(scenarios) > 1 else {}


def _select_scenarios(options: BenchOptions, condition: Condition) -> list[str]:
    """Return the requested scenarios; by default, those that give a result under this condition."""
    requested = list(dict.fromkeys(options.scenarios))
    measurable = [name for name in bench_scenarios() if not (condition.emulated and SCENARIOS[name].speed)]
    if unmeasurable := [name for name in requested if name not in measurable]:
        raise PlanError(
            f"{', '.join(unmeasurable)}: measures speed, and the guest's processor would be emulated, as KVM does not "
            f"work here; RUNTIME=vm can run {', '.join(measurable)}"
        )
    return requested or ([DEFAULT[0]] if options.targets else [name for name in DEFAULT if name in measurable])


def select_entries(options: BenchOptions, catalog: Catalog) -> list[Entry]:
    """Return the selected entries; with a target, only those that are named."""
    if options.targets and not (options.servers or options.variants):
        return []
    return catalog.select(options.servers, options.variants)


def started_entries(plan: PlanFacts, catalog: Catalog) -> list[Entry]:
    """Return the entries that the zoo starts itself."""
    return [catalog.entry(name) for name in plan.entries if name not in plan.targets]


def make_programs(scenarios: Sequence[str], options: ProgramOptions, wanted: Sequence[str]) -> dict[str, Program]:
    """Return the programs of the scenarios that have their own cases; `wanted` selects cases.

    `PlanError` if a scenario has no case left, or if no scenario has a wanted case.
    """
    all_programs = {name: make(options) for name in scenarios if (make := SCENARIOS[name].program)}
    programs: dict[str, Program] = {}
    for name, program in all_programs.items():
        if not program.cases:
            raise PlanError(f"scenario {name} applies to none of these entries")
        cases = [case for case in program.cases if not wanted or case.name in wanted]
        if not cases:
            known = ", ".join(case.name for case in program.cases)
            raise PlanError(f'scenario {name} has no case "{", ".join(wanted)}"; known: {known or "none"}')
        programs[name] = program.model_copy(update={"cases": cases})
    # A scenario with a single case leaves it unnamed.
    every = {"", *(case.name for program in programs.values() for case in program.cases)}
    if unknown := [case for case in wanted if case not in every]:
        raise PlanError(f'{", ".join(scenarios)}: no case "{", ".join(unknown)}"')
    return programs
