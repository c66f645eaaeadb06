"""The command that shows what the CPU time or the memory of two servers is spent on, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

from zoo.bench.soak import running_servers
from zoo.cli import checkout, prepare
from zoo.cli.answer import compared
from zoo.cli.checkout import acquire_run_lock, warn_of_environment
from zoo.cli.display import console, display
from zoo.cli.options import Results, from_models
from zoo.core import capacity
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.entry_id import with_condition
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.interrupts import interruptible
from zoo.core.manifest import Entry
from zoo.core.run import Target
from zoo.core.scenario import SCENARIOS
from zoo.explain import memory_trial, trial
from zoo.explain.data import Explanation, MemoryExplanation, MemoryRound, MemorySide
from zoo.explain.files import read_groups, write_explanation, write_memory
from zoo.explain.memory import memory_paragraph, with_large_parts
from zoo.explain.options import EXPLAINED, ExplainOptions
from zoo.explain.paragraph import paragraph
from zoo.explain.profilers import find_async_profiler, find_inferno, perf, require_attachable
from zoo.explain.trial import Subject, profiler_for
from zoo.host import facts
from zoo.host.build import servers_to_build, source_hash
from zoo.host.run_metadata import new_run_metadata, now
from zoo.report.formatting import format_duration
from zoo.runtime import conditions
from zoo.runtime import target as targeting
from zoo.runtime.base import HostedServer, Runtime
from zoo.runtime.environment import recorded_variables
from zoo.runtime.runtimes import open_runtimes
from zoo.runtime.target import HostedTarget
from zoo.scenarios.held import HELD

TOOLS = checkout.ROOT / ".tools" / "bin"


@dataclass(frozen=True)
class Compared:
    """One side of the comparison: an entry under a condition, or a target that already runs."""

    name: str
    entry: Entry | None = None
    condition: Condition | None = None
    target: Target | None = None


@from_models
def explain_command(
    options: ExplainOptions,
    results: Results = None,
) -> None:
    """Show what two servers spend CPU time or memory on: measure both alternately, and write one page.

    With one server, its pool of platform threads is compared with its other thread model.

    Examples:
        zoo explain --server java-tomcat
        zoo explain --server java-tomcat --scenario held
        zoo explain --variant java-tomcat:virtual --vary BUFFERS=lean
        zoo explain --target http://127.0.0.1:9000/,http://127.0.0.1:9001/ --pid 4711,4712
    """
    if options.scenario not in (*EXPLAINED, HELD.name):
        known = ", ".join((*EXPLAINED, HELD.name))
        raise BenchError(f'explain knows the scenarios {known}, not "{options.scenario}"')
    targets = _targets(options)
    if len(options.vary) > 1 or len(targets) > 2:
        raise PlanError("explain compares two servers: name one --vary, or at most two --target")
    entries = entries_of(options.servers, options.variants, 1 if options.vary else 2 - len(targets))
    host = facts.gather(conditions.jdk_for(entries))
    held = capacity.feasible_connections(host.limits, capacity.parse_tier(options.connections).connections).actual
    pair = _pair(options, entries, targets, held)
    if not options.is_memory:
        _check_tools(entries)
    runs = results or checkout.ROOT / "results"
    acquire_run_lock(runs)
    warn_of_environment(name for entry in entries for name in entry.settings)
    used = {side.name: side.condition for side in pair if side.condition}
    prepare.build_all(servers_to_build(entries, list(used.values())), conditions.jdk_for(entries), display)
    metadata = new_run_metadata(checkout.ROOT, "explain")
    folder = runs / "explain" / metadata["id"]
    folder.mkdir(parents=True)
    names = " and ".join(side.name for side in pair)
    took = format_duration(options.seconds)
    console.print(f"{names}, {options.scenario} at {held:,} connections: about {took}")
    known_facts = {
        **metadata,
        "host": host,
        "builds": {entry.server.name: source_hash(entry.server) for entry in entries},
        "environment": {
            side.name: recorded_variables(side.entry, side.condition) for side in pair if side.entry and side.condition
        },
        "scenario": options.scenario,
    }
    try:
        with (
            interruptible(),
            _open_runtimes(used, entries) as runtimes,
            display.progress(options.seconds),
        ):
            run = ExplainRun(pair, runtimes, options, held, folder)
            written = (_explain_memory if options.is_memory else _explain_cpu)(run, known_facts)
    except RuntimeFailure as error:
        raise BenchError(f"{error.message}\n{error.log_tail}") from None
    except KeyboardInterrupt:
        console.print("\ninterrupted; nothing was written, because a pair needs all its windows")
        raise typer.Exit(130) from None
    console.print(f"\npage: {checkout.format_path(written)}")


@contextmanager
def _open_runtimes(used: Mapping[str, Condition], entries: Sequence[Entry]) -> Iterator[Mapping[str, Runtime]]:
    """Yield a runtime for each side that the harness starts."""
    if not used:
        yield {}
        return
    with open_runtimes(checkout.ROOT, used, entries) as (runtimes, _):
        yield runtimes


@dataclass(frozen=True)
class ExplainRun:
    """The measurement of one explanation: both sides, their runtimes by name, and the folder of the result."""

    pair: Sequence[Compared]
    runtimes: Mapping[str, Runtime]
    options: ExplainOptions
    connections: int
    folder: Path

    @contextmanager
    def hosted(self, side: Compared, logs: str) -> Iterator[HostedServer]:
        """Start a side's server, or use the one that already runs, and stop what was started at the end."""
        if side.target is not None:
            yield HostedTarget(side.target)
            return
        assert side.entry is not None
        assert side.condition is not None
        folder = self.folder / "logs" / logs
        with running_servers(self.runtimes[side.name], [side.entry], side.condition, folder) as servers:
            yield servers[side.entry.id]


def _explain_cpu(run: ExplainRun, known_facts: Mapping[str, Any]) -> Path:
    """Profile both servers side by side, print the paragraph and write the page."""
    groups, scenario = read_groups(), SCENARIOS[run.options.scenario]
    load = run.options.load(run.connections, scenario.path(scenario.delay_s) if scenario.delay_s else None)
    with ExitStack() as stack:
        servers = [stack.enter_context(run.hosted(side, number)) for side, number in zip(run.pair, "ab", strict=True)]
        first, second = (
            Subject(side.name, hosted, profiler_for(hosted, TOOLS))
            for side, hosted in zip(run.pair, servers, strict=True)
        )
        missing = trial.measure(first, second, load, groups, lambda what: display.phase("explain", what))
    stacks = first.mean(), second.mean()
    found = Explanation(
        **known_facts,
        finished_at=now(),
        path=load.path or first.hosted.home,
        connections=load.connections,
        window_s=load.window_s,
        a=first.side(stacks[1], groups),
        b=second.side(stacks[0], groups),
        missing=missing,
    )
    written = write_explanation(run.folder, found, *stacks)
    _print_result(paragraph(found, groups), missing)
    return written


def _explain_memory(run: ExplainRun, known_facts: Mapping[str, Any]) -> Path:
    """Read the memory of fresh processes of both sides, print the paragraph and write the page."""
    counts, options = memory_trial.counts_of(run.connections), run.options
    rounds: dict[str, list[MemoryRound]] = {side.name: [] for side in run.pair}
    for number in range(options.rounds):
        for side in run.pair if number % 2 == 0 else reversed(run.pair):
            with run.hosted(side, f"{number + 1}{'ab'[run.pair.index(side)]}") as hosted:
                say = partial(display.phase, f"round {number + 1} of {options.rounds}, {side.name}")
                rounds[side.name].append(memory_trial.measure_round(hosted, counts, options.start_warmup_s, say))
    a, b = (MemorySide(entry=side.name, rounds=rounds[side.name]) for side in run.pair)
    found = with_large_parts(
        MemoryExplanation(**known_facts, finished_at=now(), path=memory_trial.PATH, connections=counts, a=a, b=b)
    )
    written = write_memory(run.folder, found)
    _print_result(memory_paragraph(found), found.missing)
    return written


def _print_result(text: str, missing: Sequence[str]) -> None:
    display.line(f"\n{text}")
    for sentence in missing:
        display.line(sentence)


def _targets(options: ExplainOptions) -> dict[str, Target]:
    """Return the targets by name; raise an error for one that cannot be loaded or profiled."""
    found = {name: targeting.resolve(one) for name, one in targeting.targets(options.urls, options.pids).items()}
    if not found:
        return {}
    if options.is_memory:
        raise BenchError(
            "held measures fresh processes, and --target names one that already runs: "
            "describe the server in a server.toml and set ZOO to its folder"
        )
    if options.vary:
        raise BenchError("--vary needs a server that the harness starts; remove --vary or --target")
    targeting.check(found, [options.scenario], remote=False)
    for name, target in found.items():
        if target.pid is None:
            known = ",".join(map(str, sorted(targeting.listening_pids(target)))) or "the server's process ID"
            raise BenchError(f"{name}: a profile needs the process; set PID={known}")
        require_attachable(target.pid)
    return found


def _pair(
    options: ExplainOptions, entries: Sequence[Entry], targets: Mapping[str, Target], held: int
) -> list[Compared]:
    """Return the two sides in the order in which they are compared: entries, then targets."""
    sides = [Compared(name, target=target) for name, target in targets.items()]
    if not entries:
        return sides
    condition = conditions.condition_of("process", entries, checkout.ROOT, targets=bool(targets))
    under = dict.fromkeys([""], condition) | conditions.variations_of(options.vary, condition, entries, checkout.ROOT)
    started = [
        Compared(
            with_condition(entry.id, name) if name else entry.id,
            entry,
            memory_condition(one, entry, held) if options.is_memory else one,
        )
        for entry in entries
        for name, one in under.items()
    ]
    return [*started, *sides]


def memory_condition(condition: Condition, entry: Entry, held: int) -> Condition:
    """Return the condition with statistics of memory and a pool for all requests, unless the user set its size."""
    known = {"MAX_THREADS": str(held), **memory_trial.ENVIRONMENT}
    env = {name: value for name, value in known.items() if name in entry.settings}
    flags = [] if entry.native else memory_trial.JVM_FLAGS
    changes = {"env": {**env, **condition.env}, "jvm_flags": [*condition.jvm_flags, *flags]}
    return condition.model_copy(update=changes)


def entries_of(servers: Sequence[str], variants: Sequence[str], wanted: int = 2) -> list[Entry]:
    """Return the entries to compare; raise `PlanError` if the options name another number of entries than `wanted`."""
    catalog = checkout.catalog()
    if len(servers) == 1 and not variants and wanted == 2:
        return [catalog.entry(f"{servers[0]}:{name}") for name in compared(servers[0], catalog)]
    chosen = catalog.select(servers, variants) if variants else []
    # in the order in which they were named: b is compared with a
    chosen.sort(key=lambda entry: next((n for n, name in enumerate(variants) if name == entry.id), len(variants)))
    if len(chosen) != wanted:
        raise PlanError(
            f"explain compares two servers and needs {wanted} entries here, got {len(chosen)}: name two, for example "
            "--variant java-tomcat:platform,java-tomcat:virtual, one server with --server, one entry with one --vary, "
            "or targets with --target and --pid"
        )
    return chosen


def _check_tools(entries: Sequence[Entry]) -> None:
    """Raise `ProfilerError` if a profiler is missing, before anything is built."""
    for entry in entries:
        if entry.native:
            perf()
            find_inferno(TOOLS)
        else:
            find_async_profiler(TOOLS)
