"""The columns of all tables of cells, each declared once: its title with the unit, and how a row gives it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from zoo.analysis.stats.interval import Interval
from zoo.analysis.summary import Cell, Row, Spread, cells, row_of
from zoo.model.flag import Flag
from zoo.model.measurement import Measurement
from zoo.model.record import Record
from zoo.report.formatting import format_interval, format_number, format_spread
from zoo.report.section import NONE, Table


@dataclass(frozen=True)
class Column:
    """A figure of a row; `scale` turns what is read into the unit of the title, `bounded` marks lower bounds."""

    title: str
    read: Callable[[Row], Spread | Interval | None]
    scale: float = 1.0
    bounded: bool = False

    def value(self, row: Row) -> float | None:
        """The median, or the mean of an interval."""
        found = self.read(row)
        if found is None:
            return None
        return found.value if isinstance(found, Interval) else found.median * self.scale

    def text(self, row: Row) -> str:
        found = self.read(row)
        if isinstance(found, Interval):
            return format_interval(found)
        return format_spread(found, self.scale, bound=self.bounded and row.lower_bound)


@dataclass(frozen=True)
class TextColumn:
    """Words about a row, or a figure that has no range over rounds."""

    title: str
    text: Callable[[Row], str]


@dataclass(frozen=True)
class RecordColumn:
    """A figure of a single record, which rows leave out: it shows whether the measurement was disturbed."""

    title: str
    read: Callable[[Measurement], float | None]
    scale: float = 1.0

    def value(self, seen: Measurement) -> float | None:
        found = self.read(seen)
        return None if found is None else found * self.scale


def flag_letter(flag: Flag) -> str:
    """A flag's letter in tables."""
    return chr(ord("A") + list(Flag).index(flag))


def _flags(row: Row) -> str:
    marks = [f"{flag_letter(flag)}×{count}" if count < row.measured else flag_letter(flag) for flag, count in row.flags]
    if row.failures:
        marks.append(f"failed in {len(row.failures)} round(s): {row.failures[-1]}")
    marks += [f"{metric}: round {place} outlying" for metric, place in row.outliers]
    return " ".join(marks) or NONE


def _held(row: Row) -> str:
    """Return whether all connections were held; for a pool of threads, how many it served at a time."""
    if row.held or row.ceiling_rps is None:
        return "yes" if row.held else "no"
    return f"{row.ceiling_rps * row.delay_s:,.0f} at a time"


def _errors(row: Row) -> Spread | None:
    """Return the sum over all rounds."""
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
    "errors": Column("errors", _errors),
}
"""By key."""

TEXT_COLUMNS = {
    "entry": TextColumn("entry", lambda r: r.entry),
    "held": TextColumn("all held", _held),
    "ceiling": TextColumn("ceiling", lambda r: NONE if r.ceiling_rps is None else f"{format_number(r.ceiling_rps)}/s"),
    "wait_s": TextColumn("wait s", lambda r: format_number(r.delay_s)),
    "flags": TextColumn("flags", _flags),
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
    """The title of a column of figures."""
    return (COLUMNS.get(key) or RECORD_COLUMNS[key]).title


def cell_table(title: str, found: Sequence[Row], keys: Sequence[str]) -> Table:
    """A line per row, from its entry to its flags; one without a measurement says why."""
    chosen = [COLUMNS.get(key) or TEXT_COLUMNS[key] for key in ("entry", *keys, "flags")]
    body = [
        [column.text(row) for column in chosen]
        if row.measured
        else [row.entry, f"failed: {row.failures[-1]}", *[NONE] * (len(chosen) - 2)]
        for row in found
    ]
    text = len(list(takewhile(lambda column: isinstance(column, TextColumn), chosen)))
    return Table(title, [column.title for column in chosen], body, text)


def round_figures(records: Iterable[Record]) -> dict[Hashable, dict[str, float]]:
    """Return the figures of each record's round alone, by the record's key."""
    return {
        record.key: _figures(cell.in_round(record.round)) for cell in cells(records).values() for record in cell.records
    }


def _figures(cell: Cell) -> dict[str, float]:
    row = row_of(cell)
    return {key: value for key, column in COLUMNS.items() if (value := column.value(row)) is not None}


def record_figures(record: Record) -> dict[str, float]:
    """Return the figures of a row of the record's round, and those that rows leave out."""
    seen = record.measurement
    alone = {} if seen is None else {key: column.value(seen) for key, column in RECORD_COLUMNS.items()}
    return round_figures([record]).get(record.key, {}) | {k: value for k, value in alone.items() if value is not None}
