"""The display of the command line: lines and, on a terminal, the current cell, its live figures and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from zoo.bench.display import Display
from zoo.core.record import Record
from zoo.report.columns import record_figures
from zoo.report.formatting import format_duration, format_number
from zoo.report.section import NONE

UNBROKEN = 10_000
"""Width of output that is not a terminal, in columns: so large that no line is wrapped."""

ROOM_FOR_A_BAR = 140
"""Minimum width of a terminal for a progress bar, in columns: the other parts of the line need the rest."""

ECHO = 3
"""Columns left free at the end of the progress line, for the ^C that a terminal prints there.

Without them, ^C would start a new line, and the progress line would stay on the screen after an interrupt.
"""


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that wraps lines between words on a terminal, and prints plain unwrapped lines elsewhere.

    Elsewhere, FORCE_COLOR and similar variables are ignored; otherwise a pipe would receive control characters.
    """
    tty = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if tty else UNBROKEN, force_terminal=None if tty else False)


class TerminalDisplay(Display):
    """A display with a last line that shows the cell, its live figures and the time left, on a terminal only.

    `clock` returns monotonic time in seconds. The time left comes from the estimate, which `reached` corrects.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._total_s = self._done_s = self._done_at = 0.0
        self._cells = self._finished = 0
        self._where, self._what, self._figures = "starting", "", ""

    def line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, emoji=False)

    def status(self, what: str) -> AbstractContextManager[object]:
        return self._console.status(what)

    @contextmanager
    def progress(self, seconds: float, cells: int = 0) -> Iterator[None]:
        self._total_s, self._cells, self._finished = seconds, cells, 0
        self.reached(0)
        self.phase("starting", "")
        if not self._console.is_interactive:
            yield
            return
        with Live(get_renderable=self._frame, console=self._console, transient=True):
            yield

    def reached(self, seconds: float) -> None:
        self._done_s, self._done_at = seconds, self._clock()

    def phase(self, where: str, what: str) -> None:
        self._where, self._what, self._figures = where, what, ""

    def live(self, figures: str) -> None:
        self._figures = figures

    def record(self, record: Record) -> None:
        self.finished(format_record(record))

    def finished(self, text: str) -> None:
        """Print the line of a finished cell, with the time left."""
        self._finished += 1
        left_s = self._left_s()
        left = f"  (about {format_duration(left_s)} left)" if left_s > 0 else ""
        line = f"{escape(text)}[dim]{left}[/dim]"
        self._console.print(_align(line) if self._console.is_terminal else line, highlight=False)

    def _left_s(self) -> float:
        return self._total_s - self._done_s - (self._clock() - self._done_at)

    def _frame(self) -> RenderableType:
        left_s = max(0.0, self._left_s())
        done_s = self._total_s - left_s
        number = f"cell {min(self._finished + 1, self._cells)} of {self._cells}" if self._cells else ""
        parts = ((number, ""), (self._where, ""), (self._what, "dim"), (self._figures, ""))
        now = Text("  ").join(Text(text, style) for text, style in parts if text)
        bar = [ProgressBar(self._total_s, done_s, width=20)] if self._console.width >= ROOM_FOR_A_BAR else []
        grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        share = f"{done_s / self._total_s:4.0%}" if self._total_s else ""
        grid.add_row(now, *bar, share, f"about {format_duration(left_s)} left")
        return Constrain(grid, self._console.width - ECHO)


def _align(text: str) -> Table:
    """Wrap a finished cell's line between words, and indent continuation lines to the column after `round 1`."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    head, _, rest = text.partition("  ")
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(head, rest)
    return grid


def format_record(record: Record) -> str:
    """Format a finished cell as one line."""
    where = f"round {record.round}  {record.entry:<20} {record.workload:<6} {record.tier:>4}"
    if record.failure:
        return f"{where}  FAILED: {record.failure.text}"
    if record.trial:
        marks = " ".join(flag.value for flag in record.trial.flags)
        return f"{where}  {record.trial.result.summary}  {marks}"
    seen = record.measurement
    assert seen is not None
    marks = " ".join(flag.value for flag in seen.flags)
    figures = {key: format_number(value) for key, value in record_figures(record).items()}
    memory = f"{figures['rss_peak_mb']} MB" if "rss_peak_mb" in figures else NONE
    if "rps" not in figures or seen.held:  # requests per second of a window of two waits mean nothing
        served = f"{seen.load.goodput:>10,} answers to {seen.connections.actual:,} connections"
        return f"{where}  {served}  {memory:>10}  {marks}"
    median = f"{figures['p50_ms']} ms" if "p50_ms" in figures else NONE
    return f"{where}  {figures['rps']:>10} req/s  p50 {median:>12}  {memory:>10}  {marks}"


console = make_console()
display = TerminalDisplay(console)
