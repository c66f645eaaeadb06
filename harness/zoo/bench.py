"""Puts a run together from what a person asked for, and carries it out."""

from __future__ import annotations

import fcntl
import math
import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from zoo import __version__, plan
from zoo.build import build, is_built
from zoo.catalog import Catalog, Entry, Language, Model
from zoo.clock import RealClock
from zoo.host import facts, namespace
from zoo.host.engine import Engine, EngineError
from zoo.host.facts import HostFacts
from zoo.host.jdk import Jdk, find_jdk
from zoo.host.limits import Limits
from zoo.plan import FULL, QUICK, Block, Design, PlanError, Profile
from zoo.progress import Live
from zoo.records import Condition, PlanFacts, Record, Run
from zoo.runtime.base import Runtime
from zoo.runtime.container import ContainerRuntime, resources_of
from zoo.runtime.process import ProcessRuntime
from zoo.scenario import SCENARIOS
from zoo.session import Session
from zoo.store import Store

RUNTIMES = ("auto", "process", "container")
IMAGE_JDK = "25"
"""The compose file's own default."""

PASSED_ON = ("MAX_THREADS", "BACKLOG", "CONNECTOR")
"""Settings of the servers that a person may put in front of a command; they become part of the condition."""


class BenchError(Exception):
    """Something a person can mend before a run; the message says how."""


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line; empty means all."""

    servers: Sequence[str] = ()
    variants: Sequence[str] = ()
    scenarios: Sequence[str] = ()
    tiers: Sequence[str] = ("100", "1k", "25k")
    rounds: int | None = None
    duration_s: int | None = None
    quick: bool = False
    seed: int | None = None
    aa: bool | None = None
    design: Design | None = None

    def doubled(self, scenarios: Sequence[str]) -> list[str]:
        """Scenarios with A/A pairs. Unasked: of a whole zoo in several rounds, where throughput is measured."""
        if self.aa is not None:
            return list(scenarios) if self.aa else []
        if self.servers or self.variants or self.profile().rounds == 1:
            return []
        return [name for name in scenarios if SCENARIOS[name].settle]

    def arranged(self) -> Design:
        """Unasked in turns; in a quick run each alone, as one round has no intervals to narrow."""
        return self.design or (Design.ROUNDS if self.quick else Design.TURNS)

    def profile(self) -> Profile:
        """Times of the run; a duration replaces the window of scenarios without a wait."""
        base = QUICK if self.quick else FULL
        rounds = base.rounds if self.rounds is None else self.rounds
        return replace(base, rounds=rounds, window_s=base.window_s if self.duration_s is None else self.duration_s)


def plan_of(
    wish: Wish, catalog: Catalog, condition: Condition, variations: Mapping[str, Condition] | None = None
) -> PlanFacts:
    """The plan of a new run; `PlanError` or `CatalogError` for words that name nothing."""
    for name in wish.scenarios:
        if name not in SCENARIOS:
            raise PlanError(f'no scenario "{name}"; known: {", ".join(SCENARIOS)}')
    tiers = {t.connections: t.name for t in map(plan.tier, wish.tiers)}
    if not tiers:
        raise PlanError("no tier; name connection counts such as 100,1k,25k")
    profile = wish.profile()
    entries = catalog.select(wish.servers, wish.variants)
    scenarios = list(dict.fromkeys(wish.scenarios)) or list(SCENARIOS)
    doubled = wish.doubled(scenarios)
    return PlanFacts(
        entries=[e.id for e in entries],
        scenarios=scenarios,
        tiers=[tiers[connections] for connections in sorted(tiers)],
        rounds=profile.rounds,
        seed=secrets.randbelow(2**31) if wish.seed is None else wish.seed,
        profile=profile.numbers(),
        condition=condition,
        variations=dict(variations or {}),
        twins=[e.id for e in catalog.twice(entries)] if doubled else [],
        twin_scenarios=doubled,
        design=wish.arranged(),
    )


def seconds(blocks: Sequence[Block], profile: Profile, catalog: Catalog) -> float:
    """Estimated wall time of all blocks."""
    total = 0.0
    for block in blocks:
        entries = [catalog.entry(name) for name in block.entries]
        bounded = [e.variant.model is Model.PLATFORM_THREAD for e in entries]
        total += plan.seconds(block, profile, [e.native for e in entries], bounded)
    return total


def runtime_named(wanted: str) -> str:
    """`process` or `container`; `auto` takes containers where an engine answers."""
    if wanted not in RUNTIMES:
        raise BenchError(f'RUNTIME must be one of {", ".join(RUNTIMES)}, got "{wanted}"')
    if wanted == "auto":
        return "container" if Engine().answers() else "process"
    if wanted == "container":
        try:
            Engine().facts()
        except EngineError as error:
            raise BenchError(f"RUNTIME=container needs a container engine: {error}") from None
    return wanted


def jdk_for(entries: Sequence[Entry], version: str | None = None) -> Jdk | None:
    """The JDK that Java entries need, of this version; None when there are none. `JdkError` when it is missing."""
    wanted = version or os.environ.get("JDK")
    needed = any(e.server.manifest.language is Language.JAVA for e in entries)
    return find_jdk(wanted=wanted) if needed else None


def condition_of(runtime: str, entries: Sequence[Entry]) -> Condition:
    """The condition that this environment sets. `JdkError` when Java entries lack a JDK."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if runtime == "container":
        try:
            resources = resources_of(os.environ)
        except ValueError as error:
            raise BenchError(str(error)) from None
        java = any(e.server.manifest.language is Language.JAVA for e in entries)
        jdk = os.environ.get("JDK", IMAGE_JDK) if java else None
        return Condition(
            runtime=runtime, network=runtime, jdk=jdk, env=env, cpus=resources.cpus, memory=resources.memory
        )
    found = jdk_for(entries)
    network = "private" if namespace.wrapper() else "host"
    return Condition(runtime=runtime, network=network, jdk=found.version if found else None, env=env)


def varied(texts: Sequence[str], base: Condition, entries: Sequence[Entry]) -> dict[str, Condition]:
    """Conditions that differ from the base in one thing: `runtime=container`, `heap=50m`, `jdk=21`, by that name."""
    made = {}
    for text in texts:
        key, _, value = text.partition("=")
        if key == "runtime" and value in RUNTIMES[1:] and value != base.runtime:
            made[text] = condition_of(runtime_named(value), entries)
        elif key == "heap" and re.fullmatch(r"[1-9]\d*[kmg]", value):
            made[text] = base.model_copy(update={"jvm_flags": [*base.jvm_flags, f"-Xmx{value}"]})
        elif key == "jdk" and value.isdecimal() and base.runtime == "process":
            made[text] = base.model_copy(update={"jdk": find_jdk(wanted=value).version})
        else:
            raise BenchError(f'vary takes runtime=container, heap=50m or (as a process) jdk=21, got "{text}"')
    return made


def build_all(entries: Sequence[Entry], jdk: Jdk | None, console: Console) -> None:
    """Build what is not built or stale, one server at a time."""
    for server in dict.fromkeys(e.server.name for e in entries):
        folder = next(e.server for e in entries if e.server.name == server)
        if is_built(folder):
            continue
        with console.status(f"building {server}"):
            build(folder, jdk)
        console.print(f"built {server}")


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
    """Commit of the checkout and whether tracked files were changed since; None outside a checkout."""
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit or None, None if status is None else bool(status)


def limits_for(root: Path, condition: Condition, host: HostFacts) -> Limits:
    """The limits that a run under this condition will meet."""
    if condition.runtime != "container":
        return namespace.widened(host.limits) if condition.network == "private" else host.limits
    with hosting(root, {"": condition}, []) as (_, seen):
        return seen.limits


@contextmanager
def hosting(
    root: Path, conditions: Mapping[str, Condition], entries: Sequence[Entry]
) -> Iterator[tuple[dict[str, Runtime], HostFacts]]:
    """A runtime for each condition, ready to start these entries, and what is known of the machine they start on.

    The facts are gathered anew: in a network namespace or a container some limits are others. Where there are both,
    the lower limit of descriptors is the run's.
    """
    runtimes: dict[str, Runtime] = {}
    found: list[HostFacts] = []
    with ExitStack() as stack:
        container = None
        for name, condition in conditions.items():
            if condition.runtime == "process":
                jdk = jdk_for(entries, condition.jdk)
                runtimes[name] = ProcessRuntime(jdk)
                found.append(facts.gather(jdk))
                continue
            if container is None:
                container, seen = stack.enter_context(_containers(root, entries))
                found.append(seen)
            runtimes[name] = container
        least = min(found, key=lambda f: f.limits.nofile_hard or math.inf)
        yield runtimes, found[0].model_copy(update={"limits": least.limits, "engine": found[-1].engine})


@contextmanager
def _containers(root: Path, entries: Sequence[Entry]) -> Iterator[tuple[ContainerRuntime, HostFacts]]:
    """All images built or found broken; afterwards no container is left."""
    runtime = ContainerRuntime(Engine(), resources_of(os.environ), os.environ.get("SAMPLER", "auto"))
    try:
        runtime.build(root, list({e.server.name: e.server for e in entries}.values()))
        yield runtime, runtime.facts()
    except EngineError as error:
        raise BenchError(f"container engine: {error}") from None
    finally:
        with suppress(EngineError):
            runtime.close()


def carry_out(root: Path, store: Store, catalog: Catalog, console: Console) -> list[Record]:
    """Measure what the stored run lacks; gives all its records. Ctrl-C leaves no child and keeps what is done."""
    run = store.run()
    entries = [catalog.entry(name) for name in run.plan.entries]
    done = frozenset(record.key for record in store.records())
    todo = [b for b in plan.blocks_of(run.plan) if any(key not in done for t in b.tiers for key in b.keys(t))]
    profile = plan.profile_of(run.plan)
    conditions = {"": run.plan.condition, **run.plan.variations}
    with _interruptible(), hosting(root, conditions, entries) as (runtimes, host):
        run = run.model_copy(update={"host": host})
        store.write_run(run)
        with Live(console, seconds(todo, profile, catalog)) as live:
            Session(
                catalog=catalog,
                runtimes=runtimes,
                limits=host.limits,
                clock=RealClock(),
                store=store,
                profile=profile,
                conditions=conditions,
                reporter=live,
                threads=min(host.cores or 2, 4),
            ).run(todo, done)
    store.write_run(run.model_copy(update={"finished_at": datetime.now(UTC).isoformat(timespec="seconds")}))
    return store.records()


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
def _interruptible() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does, and Ctrl-C does so even where a shell had it ignored."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def settings(condition: Condition) -> Mapping[str, str]:
    """The condition as name and value, for people."""
    limits = {"CPUs": condition.cpus and f"{condition.cpus:g}", "memory": condition.memory}
    return {
        "runtime": condition.runtime,
        "network": condition.network,
        "JDK": condition.jdk or "none",
        **{name: value for name, value in limits.items() if value},
        **condition.env,
    }
