"""The columns of all tables of cells, each declared once: its title with the unit, and how to read it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from zoo.core.flag import Flag
from zoo.core.measurement import Measurement
from zoo.core.record import Record
from zoo.report.formatting import format_count, format_interval, format_number, format_spread
from zoo.report.section import NONE, Table
from zoo.stats.interval import Interval
from zoo.stats.summary import Cell, Row, Spread, cells, make_row


@dataclass(frozen=True)
class Column:
    """A figure of a row. `scale` converts the value to the unit in the title; `bounded` marks lower bounds."""

    title: str
    read: Callable[[Row], Spread | Interval | None]
    scale: float = 1.0
    bounded: bool = False

    def value(self, row: Row) -> float | None:
        """Return the median of a spread or the mean of an interval; None if there is neither."""
        figure = self.read(row)
        if figure is None:
            return None
        return figure.value if isinstance(figure, Interval) else figure.median * self.scale

    def text(self, row: Row) -> str:
        figure = self.read(row)
        if isinstance(figure, Interval):
            return format_interval(figure)
        return format_spread(figure, self.scale, bound=self.bounded and row.lower_bound)


@dataclass(frozen=True)
class TextColumn:
    """A text about a row, or a figure that has no range over rounds."""

    title: str
    text: Callable[[Row], str]


@dataclass(frozen=True)
class RecordColumn:
    """A figure of a single record that shows whether the measurement was disturbed; rows do not have it."""

    title: str
    read: Callable[[Measurement], float | None]
    scale: float = 1.0

    def value(self, measurement: Measurement) -> float | None:
        figure = self.read(measurement)
        return None if figure is None else figure * self.scale


def flag_letter(flag: Flag) -> str:
    """Return the letter that stands for a flag in tables."""
    return chr(ord("A") + list(Flag).index(flag))


def _format_flags(row: Row) -> str:
    marks = [f"{flag_letter(flag)}×{count}" if count < row.measured else flag_letter(flag) for flag, count in row.flags]
    if row.failures:
        marks.append(f"failed in {format_count(len(row.failures), 'round')}: {row.failures[-1]}")
    marks += [f"{metric}: round {place} outlying" for metric, place in row.outliers]
    return " ".join(marks) or NONE


def _format_held(row: Row) -> str:
    """Return whether all connections were held or, for a pool of threads, how many it served at a time."""
    if row.held or row.ceiling_rps is None:
        return "yes" if row.held else "no"
    return f"{row.ceiling_rps * row.delay_s:,.0f} at a time"


def _count_errors(row: Row) -> Spread | None:
    """Return the number of errors over all rounds."""
    return Spread(row.errors, row.errors, row.errors, row.measured) if row.measured else None


COLUMNS = {
    "rps": Column("req/s", lambda r: r.rps, bounded=True),
    "answers": Column("answers", lambda r: r.answers),
    "p50_ms": Column("p50 ms", lambda r: r.p50_us, 1e-3),
    "p99_ms": Column("p99 ms", lambda r: r.p99_us, 1e-3),
    "cpu_us_per_request": Column("server CPU µs per request", lambda r: r.cpu_s_per_million),
    "wrk_cpu_us_per_request": Column("wrk CPU µs per request", lambda r: r.generator_cpu_s_per_million),
    "rss_peak_mb": Column("peak RSS MB", lambda r: r.rss_peak_mb),
    "kb_per_request": Column("memory per waiting request kB", lambda r: r.kb_per_connection),
    "socket_mb": Column("sockets MB", lambda r: r.socket_mb),
    "threads_peak": Column("peak threads", lambda r: r.threads_peak),
    "errors": Column("errors", _count_errors),
}
"""The columns of figures by key."""

TEXT_COLUMNS = {
    "entry": TextColumn("entry", lambda r: r.entry),
    "held": TextColumn("all held", _format_held),
    "ceiling": TextColumn("ceiling", lambda r: NONE if r.ceiling_rps is None else f"{format_number(r.ceiling_rps)}/s"),
    "wait_s": TextColumn("wait s", lambda r: format_number(r.delay_s)),
    "flags": TextColumn("flags", _format_flags),
}

RECORD_COLUMNS = {
    "little": RecordColumn("Little", lambda m: m.load.little),
    "busiest_thread": RecordColumn("busiest wrk thread %", lambda m: m.load.busiest_thread, 100),
    "other_cpu": RecordColumn("other CPU %", lambda m: m.noise.foreign_share, 100),
    "steal": RecordColumn("steal %", lambda m: m.noise.steal_share, 100),
    "pressure_cpu": RecordColumn("CPU pressure %", lambda m: m.noise.pressure_cpu, 1e-4),
    "pressure_memory": RecordColumn("memory pressure %", lambda m: m.noise.pressure_memory, 1e-4),
    "pressure_io": RecordColumn("I/O pressure %", lambda m: m.noise.pressure_io, 1e-4),
    "canary_ms": RecordColumn("canary ms", lambda m: m.canary_s, 1000),
}


def title_of(key: str) -> str:
    """Return the title of a column of figures."""
    return (COLUMNS.get(key) or RECORD_COLUMNS[key]).title


def cell_table(title: str, rows: Sequence[Row], keys: Sequence[str]) -> Table:
    """Return a table from the entry to the flags; a row without a measurement gives the reason."""
    chosen = [COLUMNS.get(key) or TEXT_COLUMNS[key] for key in ("entry", *keys, "flags")]
    body = [
        [column.text(row) for column in chosen]
        if row.measured
        else [row.entry, f"failed: {row.failures[-1]}", *[NONE] * (len(chosen) - 2)]
        for row in rows
    ]
    text = len(list(takewhile(lambda column: isinstance(column, TextColumn), chosen)))
    return Table(title, [column.title for column in chosen], body, text)


def round_figures(records: Iterable[Record]) -> dict[Hashable, dict[str, float]]:
    """Return the figures of each record's own round, by the record's key."""
    return {
        record.key: _row_figures(cell.in_round(record.round))
        for cell in cells(records).values()
        for record in cell.records
    }


def _row_figures(cell: Cell) -> dict[str, float]:
    row = make_row(cell)
    return {key: value for key, column in COLUMNS.items() if (value := column.value(row)) is not None}


def record_figures(record: Record) -> dict[str, float]:
    """Return the figures of the record's own round, and those that only single records have."""
    measurement = record.measurement
    own = {} if measurement is None else {key: column.value(measurement) for key, column in RECORD_COLUMNS.items()}
    return round_figures([record]).get(record.key, {}) | {k: value for k, value in own.items() if value is not None}
