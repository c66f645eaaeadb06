"""The command that shows what the CPU time of two entries is spent on, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from zoo.bench.soak import running_servers
from zoo.cli import checkout, prepare
from zoo.cli.answer import compared
from zoo.cli.checkout import acquire_run_lock, warn_of_environment
from zoo.cli.display import console, display
from zoo.cli.options import Results, from_models
from zoo.core import capacity
from zoo.core.capacity import PlanError
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.interrupts import interruptible
from zoo.core.manifest import Entry
from zoo.core.option import Option
from zoo.core.scenario import SCENARIOS
from zoo.explain import trial
from zoo.explain.data import Explanation
from zoo.explain.files import read_groups, write_explanation
from zoo.explain.paragraph import paragraph
from zoo.explain.profilers import find_async_profiler, find_inferno, perf
from zoo.explain.trial import Load, Subject, profiler_for
from zoo.host import facts
from zoo.host.build import servers_to_build, source_hash
from zoo.host.run_metadata import new_run_metadata, now
from zoo.report.formatting import format_duration
from zoo.runtime import conditions
from zoo.runtime.environment import recorded_variables
from zoo.runtime.runtimes import open_runtimes

TOOLS = checkout.ROOT / ".tools" / "bin"
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
    scenario: Annotated[str, Option("--scenario", f"what each request does: {' or '.join(EXPLAINED)}")] = "hello"
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
    if options.scenario not in EXPLAINED:
        raise BenchError(f'explain knows the scenarios {" and ".join(EXPLAINED)}, not "{options.scenario}"')
    condition = conditions.condition_of("process", pair, checkout.ROOT)
    host = facts.gather(conditions.jdk_for(pair))
    chosen = SCENARIOS[options.scenario]
    path = chosen.path(chosen.delay_s)
    held = capacity.feasible_connections(host.limits, capacity.parse_tier(options.connections).connections).actual
    load = Load(path, held, options.duration_s, options.windows, options.warmup_s)
    _check_tools(pair)
    runs = results or checkout.ROOT / "results"
    acquire_run_lock(runs)
    warn_of_environment(name for entry in pair for name in entry.settings)
    prepare.build_all(servers_to_build(pair, [condition]), conditions.jdk_for(pair), display)
    metadata = new_run_metadata(checkout.ROOT, "explain")
    folder = runs / "explain" / metadata["id"]
    folder.mkdir(parents=True)
    took = trial.seconds(load)
    console.print(f"{a.id} and {b.id}, {options.scenario} at {held:,} connections: about {format_duration(took)}")
    groups = read_groups()
    try:
        with (
            interruptible(),
            open_runtimes(checkout.ROOT, {"": condition}, pair) as (runtimes, _),
            running_servers(runtimes[""], pair, condition, folder / "logs") as servers,
            display.progress(took),
        ):
            first, second = (Subject(name, hosted, profiler_for(hosted, TOOLS)) for name, hosted in servers.items())
            missing = trial.measure(first, second, load, groups, lambda what: display.phase("explain", what))
    except RuntimeFailure as error:
        raise BenchError(f"{error.message}\n{error.log_tail}") from None
    except KeyboardInterrupt:
        console.print("\ninterrupted; nothing was written, because a pair needs all its windows")
        raise typer.Exit(130) from None
    stacks = first.mean(), second.mean()
    found = Explanation(
        **metadata,
        finished_at=now(),
        host=host,
        builds={entry.server.name: source_hash(entry.server) for entry in pair},
        environment={entry.id: recorded_variables(entry, condition) for entry in pair},
        scenario=options.scenario,
        path=path,
        connections=held,
        window_s=options.duration_s,
        a=first.side(stacks[1], groups),
        b=second.side(stacks[0], groups),
        missing=missing,
    )
    written = write_explanation(folder, found, *stacks)
    display.line(f"\n{paragraph(found, groups)}")
    for sentence in missing:
        display.line(sentence)
    console.print(f"\npage: {checkout.format_path(written)}")


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
