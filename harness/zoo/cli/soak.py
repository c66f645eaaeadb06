"""The command that loads servers for a long time and reports whether their use of resources grew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from zoo.bench import soak as measuring
from zoo.cli import checkout, prepare
from zoo.cli.checkout import acquire_run_lock, warn_of_environment
from zoo.cli.display import console, display
from zoo.cli.options import Results, Servers
from zoo.core.condition import Condition
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.interrupts import interruptible
from zoo.core.manifest import Entry
from zoo.core.run import Soak, SoakSample
from zoo.core.run_folder import write_data
from zoo.host import facts
from zoo.host.build import servers_to_build, source_hash
from zoo.host.run_metadata import NewRunMetadata, new_run_metadata, now
from zoo.report.formatting import format_duration
from zoo.report.text import soak_and_jvm, terminal
from zoo.runtime import conditions
from zoo.runtime.environment import recorded_variables
from zoo.runtime.runtimes import open_runtimes
from zoo.stats.growth import is_stable


def soak_command(
    minutes: Annotated[float, typer.Option(min=measuring.LEAST_MINUTES, help="minutes of load")] = 10,
    server: Servers = None,
    results: Results = None,
) -> None:
    """Check for memory leaks: load all servers at once and watch their heap, RSS, threads, descriptors and errors.

    Exit with code 1 if one grew beyond its bound, failed a request or ended.

    Examples:
        zoo soak
        zoo soak --minutes 60 --server java-vertx
    """
    entries = list(checkout.catalog().select(server or ()))
    condition = conditions.condition_of("process", entries, checkout.ROOT)
    runs = results or checkout.ROOT / "results"
    acquire_run_lock(runs)
    warn_of_environment(name for entry in entries for name in entry.settings)
    prepare.build_all(servers_to_build(entries, [condition]), conditions.jdk_for(entries), display)
    metadata = new_run_metadata(checkout.ROOT, "soak")
    path = runs / "soak" / metadata["id"]
    path.mkdir(parents=True)
    console.print(
        f"{len(entries)} servers, about {format_duration(measuring.seconds(minutes))} (Ctrl-C keeps what was measured)"
    )
    soak = _new_soak(metadata, minutes, entries, condition)
    try:
        with (
            interruptible(),
            open_runtimes(checkout.ROOT, {"": condition}, entries) as (runtimes, _),
            measuring.running_servers(runtimes[""], entries, condition, path / "logs") as servers,
            display.progress(measuring.seconds(minutes)),
        ):
            display.phase(f"part 1 of {measuring.PHASES}", "all servers under load")
            measuring.soak(servers, minutes, _mark_keeper(path, soak))
    except RuntimeFailure as error:
        raise BenchError(f"{error.message}\n{error.log_tail}") from None
    except KeyboardInterrupt:
        console.print(f"\ninterrupted; the measurements so far are in {checkout.format_path(path)}")
        raise typer.Exit(130) from None
    _print_result(path)


def _new_soak(metadata: NewRunMetadata, minutes: float, entries: list[Entry], condition: Condition) -> Soak:
    return Soak(
        **metadata,
        jdk=condition.jdk,
        minutes=minutes,
        host=facts.gather(conditions.jdk_for(entries)),
        builds={e.server.name: source_hash(e.server) for e in entries},
        environment={e.id: recorded_variables(e, condition) for e in entries},
        marks={e.id: [] for e in entries},
    )


def _mark_keeper(path: Path, soak: Soak) -> measuring.OnReading:
    """Return a function that stores the servers' marks after each phase and prints a line about them."""
    marks = {entry: list(found) for entry, found in soak.marks.items()}

    def store_marks(number: int, seen: Mapping[str, SoakSample], ended: Mapping[str, str]) -> None:
        for entry, mark in seen.items():
            marks[entry].append(mark)
        done = number == measuring.PHASES
        seen_so_far = {"marks": marks, "ended": dict(ended), "finished_at": now() if done else None}
        write_data(path / "run.json", soak.model_copy(update=seen_so_far), indent=1)
        left = measuring.seconds(soak.minutes) * (1 - number / measuring.PHASES) / 60
        requests = sum(mark.requests for found in marks.values() for mark in found)
        errors = sum(mark.errors for found in marks.values() for mark in found)
        display.line(
            f"part {number} of {measuring.PHASES}: {requests:,} requests, {errors:,} errors; {left:.0f} min left"
        )
        display.phase(f"part {min(number + 1, measuring.PHASES)} of {measuring.PHASES}", "all servers under load")

    return store_marks


def _print_result(path: Path) -> None:
    soak = Soak.model_validate_json((path / "run.json").read_text(encoding="utf-8"))
    terminal.print_sections([soak_and_jvm.soak_section(soak)], console)
    console.print(f"\nsoak: {checkout.format_path(path)}")
    if soak.ended or not all(map(is_stable, soak.marks.values())):
        raise typer.Exit(1)
