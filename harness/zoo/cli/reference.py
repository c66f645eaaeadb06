"""The `zoo reference` commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer

from zoo.cli import checkout, child_process
from zoo.cli.command import ZooCommand, group
from zoo.cli.screen import console
from zoo.model.option import split_values
from zoo.reference import rerun, runs
from zoo.reference.rerun import REFRESHED, Chosen, Found
from zoo.report.formatting import format_duration
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal

app = group("The committed runs that documents quote: results/reference/runs.toml.")


Names = Annotated[
    list[str] | None,
    typer.Argument(envvar="ZOO_NAME", help="runs of the table, such as aa or 'java-liberty/*'; by default the oldest"),
]
Budget = Annotated[int, typer.Option("--budget", min=1, help="minutes for all runs together, if none is named")]


@app.command("status", cls=ZooCommand)
def show_status() -> None:
    """Show which committed runs are current.

    Those that are not are listed in the order in which `zoo reference run` refreshes them.

    Example: zoo reference status
    """
    terminal.show([status_section(_found())], console)


@app.command("plan", cls=ZooCommand)
def show_plan(name: Names = None, budget: Budget = 150) -> None:
    """Show what `zoo reference run` would measure.

    Example: zoo reference plan 'java-liberty/*'
    """
    _planned(name, budget)


@app.command("run", cls=ZooCommand)
def refresh(
    name: Names = None,
    budget: Budget = 150,
    replace: Annotated[
        bool, typer.Option("--replace/--no-replace", help="put the new runs in the place of the committed ones")
    ] = True,
) -> None:
    """Measure committed runs again, the oldest first.

    A new run replaces the committed one once it is complete. Ctrl-C loses at most the run that is being measured.
    With --no-replace, the new runs stay in results/refreshed.

    Example: zoo reference run --budget 60

    Example: zoo reference run aa slowdown
    """
    chosen = _planned(name, budget)
    incomplete = [run.name for number, (run, _) in enumerate(chosen) if not _refresh(chosen, number, replace)]
    if incomplete:
        console.print(f"not refreshed: {', '.join(incomplete)}")
        raise typer.Exit(1)
    if chosen and replace:
        console.print("bring the documents up to date with: zoo docs")


def _found() -> list[Found]:
    """Every run of the table, in the order in which they are refreshed."""
    root = checkout.ROOT
    return rerun.ordered((rerun.build_of(run, root), rerun.time_of(run, root)) for run in runs.load(root).runs)


def _planned(names: list[str] | None, budget: int) -> list[Chosen]:
    """Return the runs to refresh, after showing them with their commands."""
    if names:
        table = runs.load(checkout.ROOT)
        matching = {run.name: run for name in split_values(names) for run in table.matching(name)}
        chosen = rerun.possible((run, rerun.time_of(run, checkout.ROOT)) for run in matching.values())
    else:
        chosen = rerun.oldest(_found(), 60.0 * budget)
    if not chosen:
        console.print(f"nothing to refresh within {budget} minutes; zoo reference status shows the time of each run")
        return []
    for run, each in chosen:
        env = "".join(f"{key}={value} " for key, value in run.env.items())
        console.print(f"{run.name}, {format_duration(each.seconds)}: {env}zoo {shlex.join(run.words)}", highlight=False)
    seconds = sum(each.seconds for _, each in chosen)
    console.print(f"{len(chosen)} runs, about {format_duration(seconds)}; the machine should be idle", highlight=False)
    return chosen


def _refresh(chosen: Sequence[Chosen], number: int, replace: bool) -> bool:
    """Whether the run was complete."""
    run, root = chosen[number][0], checkout.ROOT
    made = root / REFRESHED / run.name
    code, new = child_process.run_listed(chosen, number, made), checkout.shown(made)
    if code:
        console.print(
            f"{run.name}: exit code {code}; the committed run stays, the new one is in {new}", highlight=False
        )
        return False
    if not replace:
        console.print(f"measured: {new}", highlight=False)
        return True
    rerun.adopt(run, root)
    console.print(f"refreshed: {run.path}", highlight=False)
    return True


def status_section(found: Sequence[Found]) -> Section:
    """A row for each run, and below the table why some cannot be refreshed here."""
    rows = []
    reasons: dict[str, list[str]] = {}
    for build, expected in found:
        if expected.impossible:
            reasons.setdefault(expected.impossible, []).append(build.run.name)
        measured = "not yet" if build.started_at is None else build.started_at[:10] or NONE
        changed = ", ".join(build.changed) or ("nothing" if build.is_current else NONE)
        minutes = NONE if expected.impossible else f"{expected.seconds / 60:.0f}"
        rows.append([build.run.name, changed, measured, minutes])
    current = sum(build.is_current for build, _ in found)
    summary = f"{current} of {len(found)} runs are current."
    if seconds := sum(expected.seconds for build, expected in found if not build.is_current):
        summary += f" Refreshing the others takes about {format_duration(seconds)}."
    if reasons:
        summary += " Runs without minutes cannot be refreshed by their command here; the reasons are below the table."
    table = Table("", ["run", "changed since", "measured", "minutes"], rows, text=3)
    bullets = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return Section("Committed runs", [summary], [table], bullets)
