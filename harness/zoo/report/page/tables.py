"""The tables of a page as texts, what they sort by, and the records behind them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from zoo.analysis.stats.interval import Interval
from zoo.analysis.summary import Row, spread
from zoo.analysis.turns import first_share
from zoo.model.entry_id import original, server_of
from zoo.model.flag import Flag
from zoo.model.record import Record, stem
from zoo.report.cells import Cells, Level, variant
from zoo.report.columns import COLUMNS, RECORD_COLUMNS, Column, record_figures, title_of
from zoo.report.formatting import format_interval, format_ratio, format_spread, spread_parts
from zoo.report.raw_files import RawFiles
from zoo.report.section import NONE, Table
from zoo.report.text.wording import words


@dataclass(frozen=True)
class TableCell:
    """`order` is what a column sorts by, None stands last; `over` is the range over the rounds."""

    text: str
    order: float | None = None
    over: str = ""


@dataclass(frozen=True)
class FlagMark:
    """A flag of a row, with the rounds that had it."""

    flag: Flag
    count: str

    @property
    def words(self) -> str:
        return words(self.flag)


@dataclass(frozen=True)
class Line:
    """A row that can be filtered by server, scenario and tier; `lines` are those of records.ndjson, by round."""

    entry: str
    model: str
    level: Level
    cells: list[TableCell]
    marks: list[FlagMark]
    outliers: list[tuple[str, int]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lines: list[tuple[int, int]] = field(default_factory=list)

    @property
    def server(self) -> str:
        return server_of(self.entry)

    @property
    def variant(self) -> str:
        """Without the condition or the second measurement that its name may end in."""
        return variant(original(self.entry))


LEAST = "CPU, least = 1"
RANKED = "cpu_us_per_request"

SPEED_KEYS = ("rps", "answers", "p50_ms", "p99_ms", RANKED, "wrk_cpu_us_per_request")
CELL_KEYS = (*SPEED_KEYS, "rss_peak_mb", "kb_per_request", "socket_mb", "threads_peak", "errors")
RECORD_KEYS = ("rps", RANKED, "rss_peak_mb", *RECORD_COLUMNS)


def columns(cells: Cells) -> dict[str, Column]:
    """Those that any cell fills: an emulated host has no figures of speed, a run without waits no held connections."""
    chosen = {key: COLUMNS[key] for key in CELL_KEYS}
    return {key: column for key, column in chosen.items() if any(column.read(row) for row in cells.rows.values())}


def heads(cells: Cells) -> list[str]:
    titles = [(column.title, *([LEAST] if key == RANKED else [])) for key, column in columns(cells).items()]
    return list(chain(*titles))


def lines(cells: Cells, records: Sequence[Record]) -> list[Line]:
    """All cells of the run, by load and entry."""
    filled = columns(cells)
    behind: dict[tuple[str, str, str], dict[int, int]] = {}
    for line, record in enumerate(records, start=1):
        behind.setdefault((record.asked, record.tier, record.entry), {})[record.round] = line
    made = []
    for level in cells.levels:
        at = cells.at(level, again=True)
        least = min((row.cpu_s_per_million.median for row in at if row.cpu_s_per_million), default=None)
        for row in at:
            lines_of = sorted(behind[level.scenario, level.tier, row.entry].items())
            figures = [
                (_cell(column, row), *([_relative(row, least)] if key == RANKED else []))
                for key, column in filled.items()
            ]
            made.append(_line(level, row, list(chain(*figures)), lines_of))
    return made


def first_turns(cells: Cells) -> list[Table]:
    """A row a server variant, a column a load: whether the first turn was as fast as the others."""
    found = {key: spread(map(first_share, cell.seen.values())) for key, cell in cells.found.items()}
    levels = [
        level for level in cells.levels if any(s and k[1:] == (level.scenario, level.tier) for k, s in found.items())
    ]
    body = [
        [entry, *(format_spread(found.get((entry, level.scenario, level.tier))) for level in levels)]
        for entry in cells.entries
    ]
    table = Table(
        "First turn ÷ mean of the others, requests a second", ["entry", *(level.short for level in levels)], body
    )
    return [table] if levels else []


def choices(cells: Cells) -> dict[str, list[str]]:
    """By what a page can be filtered, and the words for each."""
    variants = [variant(original(entry)) for entry in cells.entries]
    return {
        "server": cells.servers,
        "variant": list(dict.fromkeys(variants)),
        "tier": list(dict.fromkeys(level.tier for level in cells.levels)),
        "scenario": cells.scenarios,
    }


def _line(level: Level, row: Row, cells: list[TableCell], behind: list[tuple[int, int]]) -> Line:
    marks = [FlagMark(flag, "" if count == row.measured else f"{count} of {row.measured}") for flag, count in row.flags]
    return Line(row.entry, row.model, level, cells, marks, row.outliers, row.failures, behind)


def _relative(row: Row, least: float | None) -> TableCell:
    """CPU per request over the least of the load: a ratio of medians, to rank by; pairs have the intervals."""
    if not least or row.cpu_s_per_million is None:
        return TableCell(NONE)
    ratio = row.cpu_s_per_million.median / least
    return TableCell(format_ratio(ratio), ratio)


def _cell(column: Column, row: Row) -> TableCell:
    value = column.read(row)
    if value is None:
        return TableCell(NONE)
    if isinstance(value, Interval):
        text, _, over = format_interval(value).partition(" ")
    else:
        text, over = spread_parts(value, column.scale, bound=column.bounded and row.lower_bound)
    return TableCell(text, column.value(row), over)


def sources(records: Sequence[Record], evidence: RawFiles) -> dict[str, Any]:
    """Every record of the run in the order it was written, for the page's script, which makes a table of them.

    As HTML they would be half of the page of a long run. `files` are the patterns of the names of raw files: a row has
    the places of those that there are, and its own words take the places of the numbers in them.
    """
    figures = [record_figures(record) for record in records]
    filled = [key for key in RECORD_KEYS if any(key in of for of in figures)]
    patterns: dict[str, int] = {}
    by_cell = _logs(evidence.files)
    rows = []
    for record, of in zip(records, figures, strict=True):
        names = [name for name in _names(record) if name in evidence.files] + logs(record, by_cell)
        places = [patterns.setdefault(_pattern(name, record), len(patterns)) for name in names]
        values = [float(f"{of[key]:.4g}") if key in of else None for key in filled]
        rows.append([record.entry, record.asked, record.tier, record.round, *values, places])
    return {
        "columns": ["entry", "scenario", "tier", "round", *map(title_of, filled)],
        "rows": rows,
        "files": list(patterns),
    }


def failures(records: Sequence[Record], evidence: RawFiles) -> list[tuple[int, Record, list[str]]]:
    """Line, record and logs of each cell without figures."""
    found = _logs(evidence.files)
    return [(line, r, logs(r, found)) for line, r in enumerate(records, start=1) if r.failure is not None]


Logs = dict[tuple[str, int], list[tuple[str | None, str]]]
"""By stem and round: the tier where a file is of one tier alone, and its name."""


def logs(record: Record, found: Logs) -> list[str]:
    """Logs and thread dumps of the processes that served a record."""
    return [name for tier, name in found.get((_stem(record), record.round), []) if tier in (None, record.tier)]


def _logs(files: Iterable[str]) -> Logs:
    found: Logs = {}
    for name in sorted(files):
        log = re.fullmatch(r"raw/(.+?)-r(\d+)(?:-\d+)?\.log", name)
        dump = re.fullmatch(r"raw/(.+)-([^-]+)-r(\d+)-threads\.json", name)
        if log:
            found.setdefault((log[1], int(log[2])), []).append((None, name))
        elif dump:
            found.setdefault((dump[1], int(dump[3])), []).append((dump[2], name))
    return found


def _names(record: Record) -> list[str]:
    seen = record.measurement
    return [] if seen is None else [name for name in (seen.load.histogram, seen.sampling.samples) if name]


def _stem(record: Record) -> str:
    return stem(record.entry, record.asked)


def _pattern(name: str, record: Record) -> str:
    for place, part in enumerate((_stem(record), f"-{record.tier}-r{record.round}", f"-r{record.round}")):
        name = name.replace(part, f"{{{place}}}", 1)
    return name
