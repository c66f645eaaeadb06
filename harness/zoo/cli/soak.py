"""Loads servers for a long time and says whether any of them grew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from zoo.analysis.growth import lasted
from zoo.catalog.build import built_here, source_hash
from zoo.catalog.manifest import Entry
from zoo.cli import build, checkout
from zoo.cli.checkout import be_alone, warn_of_environment
from zoo.cli.options import Results, Servers
from zoo.cli.screen import console
from zoo.host import facts
from zoo.host.interrupts import interruptible
from zoo.host.run_metadata import NewRunMetadata, new_run_metadata, now
from zoo.measure import soak as measuring
from zoo.model.condition import Condition
from zoo.model.errors import BenchError, RuntimeFailure
from zoo.model.option import split_values
from zoo.model.run import Mark, Soak
from zoo.report.formatting import format_duration
from zoo.report.text import soak_and_jvm, terminal
from zoo.runtime import conditions
from zoo.runtime.environment import recorded
from zoo.runtime.runtimes import hosting
from zoo.store.run_folder import write_data


def command(
    minutes: Annotated[float, typer.Option(min=measuring.LEAST_MINUTES, help="of load, in twelve parts")] = 10,
    server: Servers = None,
    results: Results = None,
) -> None:
    """Load all servers at once for minutes, and look at each in between: heap, RSS, threads, descriptors, errors.

    Exit code 1 when one grew beyond its bound, failed a request or ended.

    Example: zoo soak --minutes 60 --server java-vertx
    """
    entries = list(checkout.catalog().select(split_values(server or ())))
    condition = conditions.condition_of("process", entries, checkout.ROOT)
    runs = results or checkout.ROOT / "results"
    be_alone(runs)
    warn_of_environment(name for entry in entries for name in entry.settings)
    build.build_all(built_here(entries, [condition]), conditions.jdk_for(entries), console)
    named = new_run_metadata(checkout.ROOT, "soak")
    path = runs / "soak" / named["id"]
    path.mkdir(parents=True)
    console.print(
        f"{len(entries)} servers, about {format_duration(measuring.seconds(minutes))} (Ctrl-C keeps what is done)"
    )
    soak = _new(named, minutes, entries, condition)
    try:
        with (
            interruptible(),
            hosting(checkout.ROOT, {"": condition}, entries) as (runtimes, _),
            measuring.started(runtimes[""], entries, condition, path / "logs") as servers,
        ):
            measuring.soak(servers, minutes, _keeper(path, soak))
    except RuntimeFailure as error:
        raise BenchError(f"{error.message}\n{error.log_tail}") from None
    except KeyboardInterrupt:
        console.print(f"\ninterrupted; what was seen is in {checkout.shown(path)}")
        raise typer.Exit(130) from None
    _end(path)


def _new(named: NewRunMetadata, minutes: float, entries: list[Entry], condition: Condition) -> Soak:
    return Soak(
        **named,
        jdk=condition.jdk,
        minutes=minutes,
        host=facts.gather(conditions.jdk_for(entries)),
        builds={e.server.name: source_hash(e.server) for e in entries},
        environment={e.id: recorded(e, condition) for e in entries},
        marks={e.id: [] for e in entries},
    )


def _keeper(path: Path, soak: Soak) -> measuring.OnLook:
    """Writes each look as soon as it is known, and tells a person."""
    marks = {entry: list(found) for entry, found in soak.marks.items()}

    def told(number: int, seen: Mapping[str, Mark], ended: Mapping[str, str]) -> None:
        for entry, mark in seen.items():
            marks[entry].append(mark)
        done = number == measuring.PHASES
        seen_so_far = {"marks": marks, "ended": dict(ended), "finished_at": now() if done else None}
        write_data(path / "run.json", soak.model_copy(update=seen_so_far), indent=1)
        left = measuring.seconds(soak.minutes) * (1 - number / measuring.PHASES) / 60
        requests = sum(mark.requests for found in marks.values() for mark in found)
        errors = sum(mark.errors for found in marks.values() for mark in found)
        console.print(
            f"look {number} of {measuring.PHASES}: {requests:,} requests, {errors:,} errors; {left:.0f} min left",
            highlight=False,
        )

    return told


def _end(path: Path) -> None:
    soak = Soak.model_validate_json((path / "run.json").read_text(encoding="utf-8"))
    terminal.show([soak_and_jvm.soaked(soak)], console)
    console.print(f"\nsoak: {checkout.shown(path)}")
    if soak.ended or not all(map(lasted, soak.marks.values())):
        raise typer.Exit(1)
