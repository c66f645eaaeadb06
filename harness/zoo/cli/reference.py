"""The `zoo reference` commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer

from zoo.cli import checkout, child_process, options
from zoo.cli.command import ZooCommand, group
from zoo.cli.display import console, display
from zoo.core.defaults import REFERENCE_BUDGET_MIN
from zoo.reference import rerun, runs
from zoo.reference.rerun import REFRESHED, TimedBuild, TimedRun
from zoo.reference.runs import READERS
from zoo.report.formatting import format_count, format_duration
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal
from zoo.report.wording import join_names

app = group("Show and refresh the committed runs that documents quote (results/reference/runs.toml).")


Names = Annotated[
    list[str] | None,
    typer.Argument(
        envvar="ZOO_NAME",
        callback=options.split(),
        help="committed runs by name, such as aa or 'java-liberty/*', or by a document that quotes them, such as "
        "README.md; by default the oldest",
    ),
]
Budget = Annotated[
    int, typer.Option("--budget", min=1, help="maximum duration of all runs together, in minutes, if no run is named")
]


@app.command("status", cls=ZooCommand)
def show_status() -> None:
    """Show which committed runs are current.

    The others are listed in the order in which `zoo reference run` refreshes them.

    Examples:
        zoo reference status
    """
    terminal.print_sections([status_section(_list_runs())], console)


@app.command("plan", cls=ZooCommand)
def show_plan(name: Names = None, budget: Budget = REFERENCE_BUDGET_MIN) -> None:
    """Print what `zoo reference run` would measure, and how long that takes.

    Examples:
        zoo reference plan 'java-liberty/*'
        zoo reference plan README.md docs/explanation/findings.md
    """
    _choose_runs(name, budget)


@app.command("run", cls=ZooCommand)
def refresh(
    name: Names = None,
    budget: Budget = REFERENCE_BUDGET_MIN,
    replace: Annotated[
        bool, typer.Option("--replace/--no-replace", help="replace the committed runs with the new ones")
    ] = True,
) -> None:
    """Measure committed runs again, the oldest first.

    A new run replaces the committed one once it is complete. Ctrl-C loses at most the run that is being measured.
    With --no-replace, the new runs stay in results/refreshed.

    Examples:
        zoo reference run --budget 60
        zoo reference run aa slowdown
    """
    chosen = _choose_runs(name, budget)
    incomplete = [run.name for number, (run, _) in enumerate(chosen) if not _refresh(chosen, number, replace)]
    if incomplete:
        console.print(f"not refreshed: {', '.join(incomplete)}")
        raise typer.Exit(1)
    if chosen and replace:
        console.print("update the documents with: ./zoo docs")


def _list_runs() -> list[TimedBuild]:
    """Return every run of the table, in the order in which they are refreshed."""
    root = checkout.ROOT
    return rerun.sort_runs((rerun.build_of(run, root), rerun.time_of(run, root)) for run in runs.load(root).runs)


def _choose_runs(names: list[str] | None, budget: int) -> list[TimedRun]:
    """Return the runs to refresh, after showing them with their commands."""
    if names:
        table = runs.load(checkout.ROOT)
        matching = {run.name: run for name in names for run in table.matching(name)}
        timed = [(run, rerun.time_of(run, checkout.ROOT)) for run in matching.values()]
        omitted = [(run, time) for run, time in timed if time.impossible and run.name not in names]
        if len(omitted) == len(timed):
            omitted = []
        for run, time in omitted:
            display.line(f"left out: {run.name}: {time.impossible}")
        chosen = rerun.require_possible(each for each in timed if each not in omitted)
    else:
        chosen = rerun.choose_oldest(_list_runs(), 60.0 * budget)
    if not chosen:
        console.print(
            f"nothing to refresh within {budget} minutes; ./zoo reference status shows how long each run takes"
        )
        return []
    for run, each in chosen:
        env = "".join(f"{key}={value} " for key, value in run.env.items())
        display.line(f"{run.name}, {format_duration(each.seconds)}: {env}zoo {shlex.join(run.words)}")
    seconds = sum(each.seconds for _, each in chosen)
    display.line(f"{format_count(len(chosen), 'run')}, about {format_duration(seconds)}; the machine should be idle")
    return chosen


def _refresh(chosen: Sequence[TimedRun], number: int, replace: bool) -> bool:
    """Measure a run, and return whether it is complete; with `replace`, a complete run replaces the committed one."""
    run, root = chosen[number][0], checkout.ROOT
    folder = root / REFRESHED / run.name
    code, new = child_process.run_listed(chosen, number, folder), checkout.format_path(folder)
    if code:
        display.line(f"{run.name}: exit code {code}; the committed run stays, the new one is in {new}")
        return False
    if not replace:
        display.line(f"measured: {new}")
        return True
    rerun.replace_committed(run, root)
    display.line(f"refreshed: {run.path}")
    return True


def status_section(found: Sequence[TimedBuild]) -> Section:
    """Return a table with a row for each run and, below it, why some runs cannot be refreshed here."""
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
        summary += " Runs without minutes cannot be refreshed here; the reasons are below the table."
    table = Table("", ["run", "changed since", "measured", "minutes"], rows, text=3)
    bullets = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return Section("Committed runs", [summary, *_describe_durations(found)], [table], bullets)


def _describe_durations(found: Sequence[TimedBuild]) -> list[str]:
    """Return a sentence with the recorded time of all runs; a run counts for the first group of documents it is in."""
    took = dict.fromkeys(READERS, 0.0)
    for build, _ in found:
        took[build.run.readers] += build.took_s
    if not (total := sum(took.values())):
        return []
    parts = [f"{format_duration(seconds)} for {name}" for name, seconds in took.items() if seconds]
    return [f"Measuring them took {format_duration(total)}: {join_names(parts)}."]
