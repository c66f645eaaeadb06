"""What a person sees while a run goes on: phase, live figures, time left; plain lines when not a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Column, Table

from zoo.measure.live_figures import Beat
from zoo.model.record import Record
from zoo.report.columns import record_figures
from zoo.report.formatting import format_duration, format_number
from zoo.report.section import NONE

ROOM_FOR_A_BAR = 120
"""Columns from which on the phase, its live figures and the time left leave room for a bar."""

ECHO = 3
"""Columns left free at the end of the bar's line: there a terminal writes ^C, which otherwise starts a line of its own,
so that the bar would stay when the run is interrupted."""


@dataclass(frozen=True)
class _Narrower:
    whole: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.whole, options.update(width=options.max_width - ECHO))


class _Bar(Progress):
    def get_renderable(self) -> RenderableType:
        return _Narrower(super().get_renderable())


class Live:
    """A bar with live figures and time left on a terminal; one line a cell elsewhere."""

    def __init__(self, console: Console, total_s: float) -> None:
        self._console = console
        self._total_s = total_s
        self._done_s = 0.0
        self._phase = "starting"
        self._bar = _Bar(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            *([BarColumn(bar_width=20)] if console.width >= ROOM_FOR_A_BAR else []),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not console.is_interactive,
            expand=True,
            transient=True,
        )
        self._task = self._bar.add_task(self._phase, total=total_s, left=f"about {format_duration(total_s)} left")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def phase(self, where: str, what: str) -> None:
        self._phase = f"{where}  [dim]{what}[/dim]"
        self._bar.update(self._task, description=self._phase)

    def live(self, beat: Beat) -> None:
        self._bar.update(self._task, description=f"{self._phase}  {beat.text}")

    def tick(self, seconds: float) -> None:
        self._done_s += seconds
        left_s = self._total_s - self._done_s
        self._bar.update(
            self._task, completed=min(self._done_s, self._total_s), left=f"about {format_duration(left_s)} left"
        )

    def reached(self, seconds: float) -> None:
        """So much of the estimate is behind, however long it took."""
        self.tick(seconds - self._done_s)

    def record(self, record: Record) -> None:
        left = time_left(self._total_s - self._done_s)
        told = f"{escape(line(record))}[dim]{left}[/dim]"
        self._console.print(_aligned(told) if self._console.is_terminal else told, highlight=False)


def time_left(seconds: float) -> str:
    """`  (about 40 s left)`; nothing at the end."""
    return f"  (about {format_duration(seconds)} left)" if seconds > 0 else ""


def _aligned(text: str) -> Table:
    """Break a finished cell's line between words, and continue it below what follows `round 1`."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    head, _, rest = text.partition("  ")
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(head, rest)
    return grid


def line(record: Record) -> str:
    """One finished cell in one line."""
    where = f"round {record.round}  {record.entry:<20} {record.asked:<6} {record.tier:>4}"
    if record.failure:
        return f"{where}  FAILED: {record.failure.text}"
    if record.trial:
        marks = " ".join(flag.value for flag in record.trial.flags)
        return f"{where}  {record.trial.result.told}  {marks}"
    seen = record.measurement
    assert seen is not None
    marks = " ".join(flag.value for flag in seen.flags)
    figures = {key: format_number(value) for key, value in record_figures(record).items()}
    memory = f"{figures['rss_peak_mb']} MB" if "rss_peak_mb" in figures else NONE
    if "rps" not in figures or seen.held:  # requests a second of a window of two waits mean nothing
        served = f"{seen.load.goodput:>10,} answers to {seen.connections.actual:,} connections"
        return f"{where}  {served}  {memory:>10}  {marks}"
    median = f"{figures['p50_ms']} ms" if "p50_ms" in figures else NONE
    return f"{where}  {figures['rps']:>10} req/s  p50 {median:>12}  {memory:>10}  {marks}"
