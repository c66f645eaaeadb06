"""Puts a run together from what a person asked for, and carries it out."""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from zoo import __version__, plan, timing
from zoo.build import build, is_built
from zoo.calibration import calibrated
from zoo.catalog import Catalog, Entry, Model, Server
from zoo.clock import RealClock
from zoo.conditions import BenchError
from zoo.host.facts import HostFacts
from zoo.host.jdk import Jdk
from zoo.hosting import hosting
from zoo.plan import Block, Design, PlanError
from zoo.profile import EMULATED, FULL, QUICK, Profile
from zoo.progress import Live
from zoo.records import Condition, PlanFacts, Record, Run, Target
from zoo.results import Program
from zoo.runtime import target as targeting
from zoo.runtime.base import RuntimeFailure
from zoo.scenario import DEFAULT, SCENARIOS
from zoo.scenario.base import Asked
from zoo.scenario.hello import HELLO
from zoo.session import Running, Session
from zoo.store import Store
from zoo.targets import is_target

TIERS = ("100", "1k", "25k")
"""Of scenarios without connection counts of their own."""


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line; empty means all, of tiers those that a scenario has of its own."""

    servers: Sequence[str] = ()
    variants: Sequence[str] = ()
    scenarios: Sequence[str] = ()
    tiers: Sequence[str] = ()
    rounds: int | None = None
    duration_s: int | None = None
    warmup_s: int | None = None
    quick: bool = False
    seed: int | None = None
    aa: bool | None = None
    design: Design | None = None
    targets: Mapping[str, Target] = field(default_factory=dict)
    cases: Sequence[str] = ()

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
            made = replace(made, window_s=self.duration_s)
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
    tiers = {t.connections: t.name for t in map(plan.tier, wish.tiers)}
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
    return PlanFacts(
        entries=[*(e.id for e in entries), *wish.targets],
        scenarios=scenarios,
        tiers=list(asked.tiers) or list(TIERS),
        rounds=profile.rounds,
        seed=secrets.randbelow(2**31) if wish.seed is None else wish.seed,
        profile=profile.numbers(),
        condition=condition,
        variations=dict(variations or {}),
        twins=[e.id for e in catalog.twice(entries)] or [*wish.targets][:1] if doubled else [],
        twin_scenarios=doubled,
        design=wish.arranged(),
        targets=dict(wish.targets),
        guests=[*(e.id for e in entries if e.server.guest), *wish.targets],
        programs=programs,
    )


def _scenarios(wish: Wish, condition: Condition) -> list[str]:
    """Those asked for, else all that say something under this condition."""
    asked = list(dict.fromkeys(wish.scenarios))
    able = [name for name, scenario in SCENARIOS.items() if not (condition.emulated and scenario.speed)]
    if refused := [name for name in asked if name not in able]:
        raise PlanError(
            f"{', '.join(refused)}: measures speed, and the guest's processor would be emulated, as KVM does not work "
            f"here; RUNTIME=vm can run {', '.join(able)}"
        )
    return asked or ([HELLO.name] if wish.targets else [name for name in DEFAULT if name in able])


def chosen(wish: Wish, catalog: Catalog) -> list[Entry]:
    """The entries asked for; beside a target only those that are named."""
    if wish.targets and not (wish.servers or wish.variants):
        return []
    return catalog.select(wish.servers, wish.variants)


def entries_of(planned: PlanFacts, catalog: Catalog) -> list[Entry]:
    """Those that the zoo starts itself."""
    return [catalog.entry(name) for name in planned.entries if name not in planned.targets]


def programs_of(scenarios: Sequence[str], asked: Asked, wanted: Sequence[str]) -> dict[str, Program]:
    """Of the scenarios with cases of their own; with `wanted` only these cases. `PlanError` where nothing is left."""
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
    return programs


def seconds(blocks: Sequence[Block], profile: Profile, catalog: Catalog) -> float:
    """Estimated wall time of all blocks."""
    return sum(_seconds(block, profile, catalog) for block in blocks)


def _seconds(block: Block, profile: Profile, catalog: Catalog) -> float:
    entries = [None if is_target(name) else catalog.entry(name) for name in block.entries]
    bounded = [e is not None and e.variant.model is Model.PLATFORM_THREAD for e in entries]
    return timing.seconds(block, profile, [e is not None and e.native for e in entries], bounded)


def build_all(servers: Sequence[Server], jdk: Jdk | None, console: Console) -> None:
    """Build what is not built or stale, one server at a time."""
    for server in servers:
        if is_built(server):
            continue
        with console.status(f"building {server.label}"):
            build(server, jdk)
        console.print(f"built {server.label}")


def built_here(entries: Sequence[Entry], conditions: Iterable[Condition]) -> list[Server]:
    """The servers that these conditions start from what this host builds, at the releases that they name; each once."""
    found = (e.server.at(c.env) for c in conditions if c.runtime != "container" for e in entries)
    return list({server.label: server for server in found}.values())


def new_run(root: Path, wish: Wish, planned: PlanFacts, host: HostFacts) -> Run:
    """A run that has not begun."""
    now = datetime.now(UTC)
    commit, dirty = revision(root)
    return Run(
        id=f"{now:%Y%m%d-%H%M%S}-{'quick' if wish.quick else 'full'}",
        started_at=now.isoformat(timespec="seconds"),
        commit=commit,
        dirty=dirty,
        harness=__version__,
        plan=planned,
        host=host,
    )


def revision(root: Path) -> tuple[str | None, bool | None]:
    """Commit of the checkout and whether tracked files, results left out, differ from it; None outside a checkout."""
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)results")
    return commit or None, None if status is None else bool(status)


def carry_out(root: Path, store: Store, catalog: Catalog, console: Console) -> list[Record]:
    """Measure what the stored run lacks; gives all its records. Ctrl-C leaves no child and keeps what is done."""
    run = store.run()
    entries = entries_of(run.plan, catalog)
    done = frozenset(record.key for record in store.records())
    profile = plan.profile_of(run.plan)
    conditions = {"": run.plan.condition, **run.plan.variations}
    with interruptible(), hosting(root, conditions, entries) as (runtimes, host):
        try:
            planned = calibrated(run.plan, entries, runtimes[""], store, console)
        except RuntimeFailure as error:
            raise BenchError(f"not calibrated: {error.message}\n{error.log_tail}") from error
        run = run.model_copy(update={"host": host, "plan": planned})
        store.write_run(run)
        todo = [b for b in plan.blocks_of(run.plan) if any(key not in done for t in b.tiers for key in b.keys(t))]
        with Live(console, seconds(todo, profile, catalog)) as live:
            session = Session(
                catalog=catalog,
                runtimes=runtimes,
                limits=host.limits,
                clock=RealClock(),
                store=store,
                profile=profile,
                conditions=conditions,
                reporter=live,
                threads=min(host.cores or 2, 4),
                running=_running(run.plan.targets),
            )
            for number, block in enumerate(todo, start=1):
                session.run([block], done)
                live.reached(seconds(todo[:number], profile, catalog))
    store.write_run(run.model_copy(update={"finished_at": datetime.now(UTC).isoformat(timespec="seconds")}))
    return store.records()


def _running(targets: Mapping[str, Target]) -> dict[str, Running]:
    return {name: Running(targeting.HostedTarget(t), targeting.condition(t)) for name, t in targets.items()}


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def be_alone(root: Path) -> None:
    """Two runs at once would measure each other. The lock lasts as long as this process, also through exec."""
    folder = root / "results"
    folder.mkdir(exist_ok=True)
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BenchError("another run is being measured here; wait for it or stop it") from None
    os.set_inheritable(lock, True)


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does, and Ctrl-C does so even where a shell had it ignored."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
