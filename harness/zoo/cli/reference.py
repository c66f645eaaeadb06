"""The `zoo reference` commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from zoo.cli import checkout, listed_runs
from zoo.cli.mistakes import plainly
from zoo.cli.screen import console
from zoo.reference import estimate, rerun, runs, status
from zoo.reference.estimate import Estimate
from zoo.reference.rerun import MADE, Chosen
from zoo.reference.status import Build
from zoo.report.formatting import format_duration
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="The committed runs that documents quote: results/reference/runs.toml.",
)


@app.command("status")
@plainly()
def show_status() -> None:
    """Show which committed runs are current, and how long it takes to refresh them.

    Example: zoo reference status
    """
    listed = runs.load(checkout.ROOT).runs
    builds = [status.build_of(run, checkout.ROOT) for run in listed]
    estimates = [estimate.of_run(run, checkout.ROOT) for run in listed]
    terminal.show([status_section(builds, estimates)], console)


@app.command("run")
@plainly()
def refresh(
    name: Annotated[
        list[str] | None, typer.Argument(help="runs of the table, such as aa or 'java-liberty/*'; the oldest without")
    ] = None,
    budget: Annotated[int, typer.Option("--budget", min=1, help="minutes for all runs, where none is named")] = 150,
) -> None:
    """Measure committed runs again, those of the earliest builds first.

    A run takes the place of the committed one once it is complete; Ctrl-C loses at most the run that is measured.

    Example: zoo reference run --budget 60

    Example: zoo reference run aa slowdown
    """
    table, root = runs.load(checkout.ROOT), checkout.ROOT
    if name:
        listed = dict.fromkeys(run.name for each in name for run in table.matching(each))
        chosen = rerun.named((run, estimate.of_run(run, root)) for run in table.runs if run.name in listed)
    else:
        builds = [status.build_of(run, root) for run in table.runs]
        chosen = rerun.oldest(builds, [estimate.of_run(run, root) for run in table.runs], 60.0 * budget)
    if not chosen:
        console.print(f"nothing to refresh within {budget} minutes; zoo reference status shows the time of each run")
        return
    seconds = sum(each.seconds for _, each in chosen)
    console.print(f"{len(chosen)} runs, about {format_duration(seconds)}; the machine should be idle", highlight=False)
    incomplete = [run.name for number, (run, _) in enumerate(chosen) if not _refresh(chosen, number)]
    if incomplete:
        console.print(f"not refreshed: {', '.join(incomplete)}")
        raise typer.Exit(1)
    console.print("bring the documents up to date with: zoo docs")


def _refresh(chosen: Sequence[Chosen], number: int) -> bool:
    """Whether the run was complete."""
    run, root = chosen[number][0], checkout.ROOT
    made = root / MADE / run.name
    if code := listed_runs.measure(chosen, number, made):
        new = checkout.shown(made)
        console.print(
            f"{run.name}: exit code {code}; the committed run stays, the new one is in {new}", highlight=False
        )
        return False
    rerun.adopt(run, root)
    console.print(f"refreshed: {run.path}", highlight=False)
    return True


def status_section(builds: Sequence[Build], estimates: Sequence[Estimate]) -> Section:
    """A row for each run, and below the table why some cannot be refreshed here."""
    rows, reasons, seconds = [], [], {True: 0.0, False: 0.0}
    for build, found in zip(builds, estimates, strict=True):
        if found.impossible:
            reasons.append(f"{build.run.name}: {found.impossible}")
        seconds[build.is_current] += found.seconds
        minutes = NONE if found.impossible else f"{found.seconds / 60:.0f}"
        rows.append([build.run.name, _state(build), (build.started_at or NONE)[:10], minutes])
    current = sum(build.is_current for build in builds)
    summary = (
        f"{current} of {len(builds)} runs are current. "
        f"To refresh the others takes about {format_duration(seconds[False])}, "
        f"and all about {format_duration(sum(seconds.values()))}."
    )
    if reasons:
        summary += f" {len(reasons)} runs cannot be refreshed by their command here; the reasons are below the table."
    table = Table("", ["run", "build", "measured", "minutes"], rows, text=3)
    return Section("Committed runs", [summary], [table], reasons)


def _state(build: Build) -> str:
    if build.started_at is None:
        return "not measured"
    return f"earlier: {', '.join(build.changed)} changed since" if build.changed else "current"
