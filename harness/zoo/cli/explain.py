"""The command that shows what the CPU time of two entries is spent on, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

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
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.interrupts import interruptible
from zoo.core.manifest import Entry
from zoo.core.option import Option
from zoo.core.scenario import SCENARIOS
from zoo.explain import memory_trial, trial
from zoo.explain.data import Explanation, MemoryExplanation, MemoryRound, MemorySide
from zoo.explain.files import read_groups, write_explanation, write_memory
from zoo.explain.memory import memory_paragraph, with_large_parts
from zoo.explain.paragraph import paragraph
from zoo.explain.profilers import find_async_profiler, find_inferno, perf
from zoo.explain.trial import Load, Subject, profiler_for
from zoo.host import facts
from zoo.host.build import servers_to_build, source_hash
from zoo.host.run_metadata import new_run_metadata, now
from zoo.report.formatting import format_duration
from zoo.runtime import conditions
from zoo.runtime.base import Runtime
from zoo.runtime.environment import recorded_variables
from zoo.runtime.runtimes import open_runtimes
from zoo.scenarios.held import HELD

TOOLS = checkout.ROOT / ".tools" / "bin"
MEMORY_WARMUP_S = 10.0
EXPLAINED = ("hello", "sleep")
"""Scenarios with one kind of request, so that CPU time per request has a meaning."""


@dataclass(frozen=True)
class ExplainOptions:
    """The options of an explanation."""

    servers: Annotated[
        Sequence[str], Option("--server", "one server: its pool of threads is compared with its other thread model")
    ] = ()
    variants: Annotated[
        Sequence[str], Option("--variant", "two entries, such as java-tomcat:platform,java-tomcat:virtual")
    ] = ()
    scenario: Annotated[
        str, Option("--scenario", f"{', '.join(EXPLAINED)}, or held: the memory of waiting requests")
    ] = "hello"
    connections: Annotated[str, Option("--connections", "number of open connections, such as 100 or 1k")] = "1k"
    windows: Annotated[int, Option("--windows", "profiled windows per entry", minimum=2)] = 6
    duration_s: Annotated[int, Option("--duration", "length of a window in seconds", minimum=1)] = 5
    warmup_s: Annotated[int, Option("--warmup", "seconds of warm-up per entry", minimum=4)] = 40


@from_models
def explain_command(
    options: ExplainOptions,
    results: Results = None,
) -> None:
    """Show what two entries spend CPU time on: profile both in alternating windows, and write one page.

    With one server, its pool of platform threads is compared with its other thread model.

    Examples:
        zoo explain --server java-tomcat
        zoo explain --variant java-tomcat:platform,java-tomcat:virtual --connections 100
        zoo explain --variant rust-axum:async,rust-axum:hyper
    """
    a, b = pair = entries_of(options.servers, options.variants)
    if options.scenario not in (*EXPLAINED, HELD.name):
        known = ", ".join((*EXPLAINED, HELD.name))
        raise BenchError(f'explain knows the scenarios {known}, not "{options.scenario}"')
    condition = conditions.condition_of("process", pair, checkout.ROOT)
    host = facts.gather(conditions.jdk_for(pair))
    held = capacity.feasible_connections(host.limits, capacity.parse_tier(options.connections).connections).actual
    is_memory = options.scenario == HELD.name
    if is_memory:
        condition = _memory_condition(condition, pair, held)
    else:
        _check_tools(pair)
    runs = results or checkout.ROOT / "results"
    acquire_run_lock(runs)
    warn_of_environment(name for entry in pair for name in entry.settings)
    prepare.build_all(servers_to_build(pair, [condition]), conditions.jdk_for(pair), display)
    metadata = new_run_metadata(checkout.ROOT, "explain")
    folder = runs / "explain" / metadata["id"]
    folder.mkdir(parents=True)
    run = ExplainRun(pair, condition, options, held, folder)
    took = run.seconds
    console.print(f"{a.id} and {b.id}, {options.scenario} at {held:,} connections: about {format_duration(took)}")
    known_facts = {
        **metadata,
        "host": host,
        "builds": {entry.server.name: source_hash(entry.server) for entry in pair},
        "environment": {entry.id: recorded_variables(entry, condition) for entry in pair},
        "scenario": options.scenario,
    }
    try:
        with (
            interruptible(),
            open_runtimes(checkout.ROOT, {"": condition}, pair) as (runtimes, _),
            display.progress(took),
        ):
            written = (_explain_memory if is_memory else _explain_cpu)(run, runtimes[""], known_facts)
    except RuntimeFailure as error:
        raise BenchError(f"{error.message}\n{error.log_tail}") from None
    except KeyboardInterrupt:
        console.print("\ninterrupted; nothing was written, because a pair needs all its windows")
        raise typer.Exit(130) from None
    console.print(f"\npage: {checkout.format_path(written)}")


@dataclass(frozen=True)
class ExplainRun:
    """What one explanation measures, and the folder of its result."""

    pair: Sequence[Entry]
    condition: Condition
    options: ExplainOptions
    connections: int
    folder: Path

    @property
    def load(self) -> Load:
        """The load of windows in which CPU time is measured."""
        chosen, options = SCENARIOS[self.options.scenario], self.options
        path = chosen.path(chosen.delay_s)
        return Load(path, self.connections, options.duration_s, options.windows, options.warmup_s)

    @property
    def rounds(self) -> int:
        """The number of fresh processes per entry in which memory is measured."""
        return max(2, self.options.windows // 2)

    @property
    def start_warmup_s(self) -> float:
        """The warm-up of a process whose memory is measured, in seconds."""
        return min(self.options.warmup_s, MEMORY_WARMUP_S)

    @property
    def seconds(self) -> float:
        if self.options.scenario == HELD.name:
            return memory_trial.seconds(self.rounds, self.start_warmup_s)
        return trial.seconds(self.load)


def _explain_cpu(run: ExplainRun, runtime: Runtime, known_facts: Mapping[str, Any]) -> Path:
    """Profile both entries side by side, print the paragraph and write the page."""
    groups, load = read_groups(), run.load
    with running_servers(runtime, list(run.pair), run.condition, run.folder / "logs") as servers:
        first, second = (Subject(name, hosted, profiler_for(hosted, TOOLS)) for name, hosted in servers.items())
        missing = trial.measure(first, second, load, groups, lambda what: display.phase("explain", what))
    stacks = first.mean(), second.mean()
    found = Explanation(
        **known_facts,
        finished_at=now(),
        path=load.path,
        connections=load.connections,
        window_s=load.window_s,
        a=first.side(stacks[1], groups),
        b=second.side(stacks[0], groups),
        missing=missing,
    )
    written = write_explanation(run.folder, found, *stacks)
    _print_result(paragraph(found, groups), missing)
    return written


def _explain_memory(run: ExplainRun, runtime: Runtime, known_facts: Mapping[str, Any]) -> Path:
    """Read the memory of fresh processes of both entries, print the paragraph and write the page."""
    counts = memory_trial.counts_of(run.connections)
    rounds: dict[str, list[MemoryRound]] = {entry.id: [] for entry in run.pair}
    for number in range(run.rounds):
        for entry in run.pair if number % 2 == 0 else reversed(run.pair):
            logs = run.folder / "logs" / str(number + 1)
            with running_servers(runtime, [entry], run.condition, logs) as servers:
                say = partial(display.phase, f"round {number + 1} of {run.rounds}, {entry.id}")
                rounds[entry.id].append(memory_trial.measure_round(servers[entry.id], counts, run.start_warmup_s, say))
    a, b = (MemorySide(entry=entry.id, rounds=rounds[entry.id]) for entry in run.pair)
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


def _memory_condition(condition: Condition, pair: Sequence[Entry], held: int) -> Condition:
    """Return the condition with native memory tracking and, unless the user set its size, a pool for all requests."""
    reads_size = any("MAX_THREADS" in entry.settings for entry in pair)
    env = {"MAX_THREADS": str(held), **condition.env} if reads_size else condition.env
    return condition.model_copy(update={"env": env, "jvm_flags": [*condition.jvm_flags, *memory_trial.JVM_FLAGS]})


def entries_of(servers: Sequence[str], variants: Sequence[str]) -> list[Entry]:
    """Return the two entries to compare; raise `PlanError` if the options name another number of entries."""
    catalog = checkout.catalog()
    if len(servers) == 1 and not variants:
        return [catalog.entry(f"{servers[0]}:{name}") for name in compared(servers[0], catalog)]
    chosen = catalog.select(servers, variants) if variants else []
    # in the order in which they were named: b is compared with a
    chosen.sort(key=lambda entry: next((n for n, name in enumerate(variants) if name == entry.id), len(variants)))
    if len(chosen) != 2:
        raise PlanError(
            f"explain compares two entries, got {len(chosen)}: name them, for example "
            "--variant java-tomcat:platform,java-tomcat:virtual, or one server with --server"
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
