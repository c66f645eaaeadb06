"""The tables of a page: cells, records, failures, and facts about the run, its host and its servers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from zoo.analysis.stats.interval import Interval
from zoo.analysis.summary import Row
from zoo.model.entry_id import original, server_of
from zoo.model.flag import Flag
from zoo.model.record import Record, stem
from zoo.model.run import Run
from zoo.plan import blocks
from zoo.report.cells import Cells, Level, variant
from zoo.report.charts.looks import KINDS
from zoo.report.columns import COLUMNS, RECORD_COLUMNS, Column, record_figures, title_of
from zoo.report.formatting import format_interval, format_memory, format_ratio, spread_parts
from zoo.report.raw_files import RawFiles
from zoo.report.section import NONE
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
            marks = [FlagMark(f, "" if n == row.measured else f"{n} of {row.measured}") for f, n in row.flags]
            line_cells = list(chain(*figures))
            made.append(Line(row.entry, row.model, level, line_cells, marks, row.outliers, row.failures, lines_of))
    return made


def choices(cells: Cells) -> dict[str, list[str]]:
    """By what a page can be filtered, and the words for each."""
    variants = [variant(original(entry)) for entry in cells.entries]
    return {
        "server": cells.servers,
        "variant": list(dict.fromkeys(variants)),
        "tier": list(dict.fromkeys(level.tier for level in cells.levels)),
        "scenario": cells.scenarios,
    }


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
    return [
        name
        for tier, name in found.get((stem(record.entry, record.asked), record.round), [])
        if tier in (None, record.tier)
    ]


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


def _pattern(name: str, record: Record) -> str:
    for place, part in enumerate(
        (stem(record.entry, record.asked), f"-{record.tier}-r{record.round}", f"-r{record.round}")
    ):
        name = name.replace(part, f"{{{place}}}", 1)
    return name


def host_line(run: Run) -> str:
    """The machine in one line."""
    host = run.host
    return " · ".join(
        [
            host.cpu_model or "unknown CPU",
            run.cores,
            format_memory(host.memory_kb),
            host.virtualization or "no virtualisation seen",
            host.distribution or host.system,
            f"kernel {host.kernel}",
            f"JDK {run.plan.condition.jdk or 'none'}",
            f"wrk {host.tools.wrk or 'none'}",
        ]
    )


def run_facts(run: Run) -> dict[str, Mapping[str, Any]]:
    """Name and value, by heading: what the run was and where."""
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
    """What each entry said of itself when it was probed."""
    made = []
    for entry in cells.entries:
        seen = next((m for key, cell in cells.found.items() if key[0] == entry for m in cell.seen.values()), None)
        facts = seen.server if seen is not None else None
        if facts is not None:
            told = {
                "framework": f"{facts.framework} {facts.framework_version}",
                "runtime": f"{facts.runtime} {facts.runtime_version}",
                "GC": ", ".join(facts.gc) or None,
                "thread of the handler": facts.thread,
                "virtual": facts.virtual,
                "ready after s": None if facts.ready_s is None else round(facts.ready_s, 2),
                **facts.limits,
            }
            made.append((entry, told))
    return made


def orders(run: Run) -> list[tuple[int, list[str]]]:
    """What each round measures, in its order; entries that are alive at once stand together."""
    rounds: dict[int, list[str]] = {}
    for block in blocks.blocks_of(run.plan):
        rounds.setdefault(block.round, []).append(f"{' with '.join(block.entries)} {block.asked}")
    return list(rounds.items())


def legend(cells: Cells) -> Iterator[tuple[str, str, str, str]]:
    """Kind, colour, shape and the variants of it, for the legend."""
    for kind, (hue, shape) in KINDS.items():
        names = [entry for entry in cells.entries if cells.kinds[entry] == kind]
        if names:
            yield kind, hue, shape, ", ".join(sorted({variant(n) for n in names}))
