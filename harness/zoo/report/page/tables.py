"""The tables of a page: cells, records, failures, and facts about the run, its host and its servers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from zoo.core import blocks
from zoo.core.entry_id import server_name, without_aa
from zoo.core.flag import Flag
from zoo.core.record import Record, file_stem
from zoo.core.run import Run
from zoo.report.cells import Cells, Level, variant_of
from zoo.report.charts.looks import MODEL_STYLES
from zoo.report.columns import COLUMNS, RECORD_COLUMNS, Column, record_figures, title_of
from zoo.report.formatting import format_interval, format_memory, format_ratio, format_spread_parts
from zoo.report.raw_files import RawFiles
from zoo.report.section import NONE, Table
from zoo.report.wording import format_flag
from zoo.stats.interval import Interval
from zoo.stats.summary import Row


@dataclass(frozen=True)
class TableCell:
    """A cell of a table. Columns sort by `order`, with None last; `range` is the range over the rounds."""

    text: str
    order: float | None = None
    range: str = ""


@dataclass(frozen=True)
class FlagMark:
    """A flag of a row, with the number of rounds that had it."""

    flag: Flag
    count: str

    @property
    def words(self) -> str:
        return format_flag(self.flag)


@dataclass(frozen=True)
class CellLine:
    """A row that can be filtered by server, variant, scenario and connections.

    `lines` holds pairs of a round and the number of its line in records.ndjson.
    """

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
        return server_name(self.entry)

    @property
    def variant(self) -> str:
        """Return the variant without the suffix of a condition or of a second measurement (A/A)."""
        return variant_of(without_aa(self.entry))


RELATIVE_CPU = "CPU, least = 1"
CPU_KEY = "cpu_us_per_request"

SPEED_KEYS = ("rps", "answers", "p50_ms", "p99_ms", CPU_KEY, "wrk_cpu_us_per_request")
CELL_KEYS = (*SPEED_KEYS, "rss_peak_mb", "kb_per_request", "socket_mb", "threads_peak", "errors")
RECORD_KEYS = ("rps", CPU_KEY, "rss_peak_mb", *RECORD_COLUMNS)


def filled_columns(cells: Cells) -> dict[str, Column]:
    """Return the columns that at least one cell fills.

    An emulated host has no figures of speed, and a run without waiting requests has no memory per waiting request.
    """
    chosen = {key: COLUMNS[key] for key in CELL_KEYS}
    return {key: column for key, column in chosen.items() if any(column.read(row) for row in cells.rows.values())}


def cell_titles(cells: Cells) -> list[str]:
    titles = [
        (column.title, *([RELATIVE_CPU] if key == CPU_KEY else [])) for key, column in filled_columns(cells).items()
    ]
    return list(chain(*titles))


def cell_lines(cells: Cells, records: Sequence[Record]) -> list[CellLine]:
    """Return a row for each cell of the run, by load and entry."""
    filled = filled_columns(cells)
    numbers: dict[tuple[str, str, str], dict[int, int]] = {}
    for line, record in enumerate(records, start=1):
        numbers.setdefault((record.workload, record.tier, record.entry), {})[record.round] = line
    lines = []
    for level in cells.levels:
        rows = cells.rows_at(level, with_twins=True)
        least = min((row.cpu_s_per_million.median for row in rows if row.cpu_s_per_million), default=None)
        for row in rows:
            lines_of = sorted(numbers[level.scenario, level.tier, row.entry].items())
            figures = [
                (_table_cell(column, row), *([_relative_cpu(row, least)] if key == CPU_KEY else []))
                for key, column in filled.items()
            ]
            marks = [FlagMark(f, "" if n == row.measured else f"{n} of {row.measured}") for f, n in row.flags]
            line_cells = list(chain(*figures))
            lines.append(CellLine(row.entry, row.model, level, line_cells, marks, row.outliers, row.failures, lines_of))
    return lines


RANKED = (CPU_KEY, "kb_per_request")
"""The columns by which entries are ranked: CPU per request, and memory per waiting request."""


def ranking(cells: Cells) -> list[Table]:
    """Return the entries of each load by CPU per request and by memory per waiting request, the lowest first.

    A table has at least two entries.
    """
    tables = []
    for column in (COLUMNS[key] for key in RANKED):
        for level in cells.levels:
            values = [(column.value(row), row) for row in cells.rows_at(level)]
            ranked = sorted(((value, row) for value, row in values if value), key=lambda one: one[0])
            if len(ranked) > 1:
                least = ranked[0][0]
                body = [[row.entry, f"{value / least:.2f}", column.text(row)] for value, row in ranked]
                columns = ["entry", "relative", column.title]
                tables.append(Table(f"{column.title}, {level.short_name}", columns, body))
    return tables


def filter_choices(cells: Cells) -> dict[str, list[str]]:
    """Return the filters of a page, each with its options."""
    variants = [variant_of(without_aa(entry)) for entry in cells.entries]
    return {
        "server": cells.servers,
        "variant": list(dict.fromkeys(variants)),
        "tier": list(dict.fromkeys(level.tier for level in cells.levels)),
        "scenario": cells.scenarios,
    }


def _relative_cpu(row: Row, least: float | None) -> TableCell:
    """Return CPU per request ÷ the lowest at this load: a ratio of medians, for ranking; pairs have the intervals."""
    if not least or row.cpu_s_per_million is None:
        return TableCell(NONE)
    ratio = row.cpu_s_per_million.median / least
    return TableCell(format_ratio(ratio), ratio)


def _table_cell(column: Column, row: Row) -> TableCell:
    value = column.read(row)
    if value is None:
        return TableCell(NONE)
    if isinstance(value, Interval):
        text, _, ends = format_interval(value).partition(" ")
    else:
        text, ends = format_spread_parts(value, column.scale, bound=column.bounded and row.lower_bound)
    return TableCell(text, column.value(row), ends)


def record_data(records: Sequence[Record], evidence: RawFiles) -> dict[str, Any]:
    """Return the data from which the page's script builds a table of all records, in the order they were written.

    As HTML, these rows would be half of the page of a long run. `files` holds patterns for the names of raw files. A
    row ends with the indexes of the patterns whose files exist; the script replaces the numbers in a pattern with
    texts from the row.
    """
    figures = [record_figures(record) for record in records]
    filled = [key for key in RECORD_KEYS if any(key in own for own in figures)]
    patterns: dict[str, int] = {}
    by_cell = _index_logs(evidence.files)
    rows = []
    for record, own in zip(records, figures, strict=True):
        names = [name for name in _raw_names(record) if name in evidence.files] + logs_of(record, by_cell)
        places = [patterns.setdefault(_name_pattern(name, record), len(patterns)) for name in names]
        values = [float(f"{own[key]:.4g}") if key in own else None for key in filled]
        rows.append([record.entry, record.workload, record.tier, record.round, *values, places])
    return {
        "columns": ["entry", "scenario", "tier", "round", *map(title_of, filled)],
        "rows": rows,
        "files": list(patterns),
    }


def failed_records(records: Sequence[Record], evidence: RawFiles) -> list[tuple[int, Record, list[str]]]:
    """Return the line number, record and logs of each failed cell."""
    index = _index_logs(evidence.files)
    return [(line, r, logs_of(r, index)) for line, r in enumerate(records, start=1) if r.failure is not None]


Logs = dict[tuple[str, int], list[tuple[str | None, str]]]
"""Log files by stem and round: each file's name, with its connection count if it belongs to only one."""


def logs_of(record: Record, index: Logs) -> list[str]:
    """Return the logs and thread dumps of the processes that served a record."""
    return [
        name
        for tier, name in index.get((file_stem(record.entry, record.workload), record.round), [])
        if tier in (None, record.tier)
    ]


def _index_logs(files: Iterable[str]) -> Logs:
    index: Logs = {}
    for name in sorted(files):
        log = re.fullmatch(r"raw/(.+?)-r(\d+)(?:-\d+)?\.log", name)
        dump = re.fullmatch(r"raw/(.+)-([^-]+)-r(\d+)-threads\.json", name)
        if log:
            index.setdefault((log[1], int(log[2])), []).append((None, name))
        elif dump:
            index.setdefault((dump[1], int(dump[3])), []).append((dump[2], name))
    return index


def _raw_names(record: Record) -> list[str]:
    if record.measurement is None:
        return []
    return list(filter(None, [record.measurement.load.histogram, record.measurement.sampling.samples]))


def _name_pattern(name: str, record: Record) -> str:
    for place, part in enumerate(
        (file_stem(record.entry, record.workload), f"-{record.tier}-r{record.round}", f"-r{record.round}")
    ):
        name = name.replace(part, f"{{{place}}}", 1)
    return name


def host_line(run: Run) -> str:
    """Describe the machine in one line."""
    host = run.host
    return " · ".join(
        [
            host.cpu_model or "unknown CPU",
            run.cores,
            format_memory(host.memory_kb),
            host.place,
            host.distribution or host.system,
            f"kernel {host.kernel}",
            f"JDK {run.plan.condition.jdk or 'none'}",
            f"wrk {host.tools.wrk or 'none'}",
        ]
    )


def run_facts(run: Run) -> dict[str, Mapping[str, Any]]:
    """Return facts about the run and its host: names and values, by heading."""
    host = run.host.model_dump()
    limits, tools, jdk, engine = host.pop("limits"), host.pop("tools"), host.pop("jdk"), host.pop("engine")
    if limits["server_host"] is None:
        for name in ("generators", "server_host", "ports_host"):
            del limits[name]
    host["jdk"] = " ".join(str(v) for v in jdk.values()) if jdk else None
    host["jdks"] = ", ".join(f"{j['name']} {j['version']}" for j in host["jdks"])
    limits |= {f"cgroup {name}": value for name, value in limits.pop("cgroup").items()}
    condition = run.plan.condition.model_dump()
    condition["jvm_flags"] = " ".join(condition["jvm_flags"]) or None
    condition["cores"] = str(run.plan.condition.cores or "shared by server and generator")
    condition["env"] = ", ".join(f"{name}={value}" for name, value in condition["env"].items()) or None
    times = {"started": run.started_at, "finished": run.finished_at, "commit": run.commit, "changed": run.dirty}
    own = {
        "Run": times | {"harness": run.harness, "protocol": run.protocol, "order seed": run.plan.seed},
        "Condition": condition,
        "Profile, seconds and counts": run.plan.profile,
        "Host": host,
        "Limits": limits,
        "Tools": tools,
    }
    return own | ({"Container engine": engine} if engine else {})


def server_facts(cells: Cells) -> list[tuple[str, dict[str, Any]]]:
    """Return the facts that each server reported about itself when it was probed, by entry."""
    facts_of = []
    for entry in cells.entries:
        measurement = next(
            (m for key, cell in cells.by_key.items() if key[0] == entry for m in cell.measurements.values()), None
        )
        facts = measurement.server if measurement is not None else None
        if facts is not None:
            reported = {
                "framework": f"{facts.framework} {facts.framework_version}",
                "runtime": f"{facts.runtime} {facts.runtime_version}",
                "GC": ", ".join(facts.gc) or None,
                "thread of the handler": facts.thread,
                "virtual": facts.virtual,
                "ready after s": None if facts.ready_s is None else round(facts.ready_s, 2),
                **facts.limits,
            }
            facts_of.append((entry, reported))
    return facts_of


def round_orders(run: Run) -> list[tuple[int, list[str]]]:
    """Return what each round measures, in order; entries that run side by side are listed together."""
    rounds: dict[int, list[str]] = {}
    for block in blocks.blocks_of(run.plan):
        rounds.setdefault(block.round, []).append(f"{' with '.join(block.entries)} {block.workload}")
    return list(rounds.items())


def legend_rows(cells: Cells) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the legend: thread model, colour, shape and variants."""
    for kind, (hue, shape) in MODEL_STYLES.items():
        names = [entry for entry in cells.entries if cells.kinds[entry] == kind]
        if names:
            yield kind, hue, shape, ", ".join(sorted({variant_of(n) for n in names}))
