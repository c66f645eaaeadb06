"""The `zoo reference` commands."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from zoo.cli import checkout
from zoo.cli.mistakes import plainly
from zoo.cli.screen import console
from zoo.reference import estimate, runs, status
from zoo.reference.estimate import Estimate
from zoo.reference.status import Build
from zoo.report.section import NONE, Section, Table
from zoo.report.text import terminal
from zoo.report.text.wording import duration

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
        f"{current} of {len(builds)} runs are current. To refresh the others takes about {duration(seconds[False])}, "
        f"and all about {duration(sum(seconds.values()))}."
    )
    if reasons:
        summary += f" {len(reasons)} runs cannot be refreshed by their command here; the reasons are below the table."
    table = Table("", ["run", "build", "measured", "minutes"], rows, text=3)
    return Section("Committed runs", [summary], [table], reasons)


def _state(build: Build) -> str:
    if build.started_at is None:
        return "not measured"
    return f"earlier: {', '.join(build.changed)} changed since" if build.changed else "current"
