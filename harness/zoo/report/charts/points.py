"""What the charts of a run draw, as plain rows, from its records. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from zoo.analysis.metrics import cpu_per_million, held_points, held_slopes
from zoo.analysis.stats import paired_ratio
from zoo.analysis.summary import Row
from zoo.model.flag import FOREIGN_LIMIT
from zoo.model.measurement import Measurement
from zoo.model.record import Record, newest_records
from zoo.report.cells import Cells, Level, server, variant
from zoo.report.text.wording import number, shown, words

Datum = dict[str, Any]
Read = Callable[[Measurement], float | None]

READINGS: dict[str, Read] = {
    "requests": lambda m: m.load.goodput_rps,
    "cpu": cpu_per_million,
    "memory": lambda m: m.rss_peak_mb,
    "threads": lambda m: m.threads_peak,
}

QUANTILES: dict[str, Read] = {
    "p50": lambda m: m.load.latency.p50_us,
    "p99": lambda m: m.load.latency.p99_us,
    "p99.9": lambda m: m.load.latency.p999_us,
}


def short(value: float) -> float:
    """Four digits that count are more than any screen shows, and keep the page small."""
    return float(f"{value:.4g}")


def estimates(cells: Cells, level: Level, read: Read, *, bounds: bool = False) -> list[Datum]:
    """An entry a row: its rounds, their median, the interval of their mean; or why there is none.

    With `bounds`, lower bounds are marked.
    """
    made: list[Datum] = []
    for row in cells.at(level):
        seen = [m for _, m in cells.measured.get((level.scenario, level.tier, row.entry), [])]
        values = [v for v in map(read, seen) if v is not None]
        made.append(
            {
                "entry": row.entry,
                "place": len(made),
                "kind": cells.kinds[row.entry],
                **_estimate(values),
                "bound": bounds and row.lower_bound,
                "note": _note(row, values, bounds=bounds),
                "flags": ", ".join(words(flag) for flag, _ in row.flags) or "none",
            }
        )
    return made if any(d["value"] is not None for d in made) else []


def costs(cells: Cells, records: Sequence[Record], scenario: str) -> list[Datum]:
    """An entry a row: kB of resident memory per held connection, a slope a round; or why there is none."""
    found = held_slopes(newest_records(records))
    made: list[Datum] = []
    for entry in cells.entries:
        rows = [row for (s, _, e), row in cells.rows.items() if (s, e) == (scenario, entry)]
        if rows:
            held = any(row.kb_per_connection for row in rows)
            values = [v for v in found.get((entry, scenario), {}).values() if held and v > 0]
            made.append(
                {
                    "entry": entry,
                    "place": len(made),
                    "kind": cells.kinds[entry],
                    **_estimate(values),
                    "bound": False,
                    "note": "" if values else "no rise" if held else _unheld(rows),
                    "flags": "none",
                }
            )
    return made if any(d["value"] is not None for d in made) else []


def _estimate(values: Sequence[float]) -> Datum:
    """The interval is that of the geometric mean: a paired ratio to 1."""
    low = high = None
    if len(values) > 1 and min(values) > 0:
        mean = paired_ratio(values, [1.0] * len(values))
        low, high = mean.low, mean.high
    return {
        "value": short(statistics.median(values)) if values else None,
        "low": _short(low),
        "high": _short(high),
        "rounds": [short(v) for v in values],
        "text": " · ".join(number(v) for v in values) or "none",
    }


def _unheld(rows: Sequence[Row]) -> str:
    pool = any(row.ceiling_rps is not None for row in rows)
    return "not held (pool)" if pool else "no slope (not every tier held)"


def _note(row: Row, values: Sequence[float], *, bounds: bool) -> str:
    if not row.measured:
        return "failed"
    if not values:
        return "not measurable"
    if bounds and row.ceiling_rps is not None:
        return f"pool: at most {number(row.ceiling_rps)}/s"
    return ""


def quantiles(cells: Cells, level: Level) -> list[Datum]:
    """A round and quantile a row, in milliseconds; only quantiles with enough samples beyond them."""
    made = []
    for place, row in enumerate(cells.at(level)):
        for number_, seen in cells.measured.get((level.scenario, level.tier, row.entry), []):
            for name, read in QUANTILES.items():
                value = read(seen)
                if value is not None:
                    made.append(
                        {
                            "entry": row.entry,
                            "place": place,
                            "kind": cells.kinds[row.entry],
                            "round": number_,
                            "quantile": name,
                            "ms": short(value / 1000),
                        }
                    )
    return made


def held(cells: Cells, records: Sequence[Record], of_server: str, scenario: str) -> list[Datum]:
    """Peak resident memory against held connections, a point a tier and round, with the line fitted to each round."""
    made = []
    for (entry, of_scenario), lives in held_points(newest_records(records)).items():
        if server(entry) != of_server or of_scenario != scenario:
            continue
        for life, points in lives.items():
            fit = statistics.linear_regression([x for x, _ in points], [y for _, y in points])
            for connections, kb in sorted(points):
                made.append(
                    {
                        "entry": entry,
                        "kind": cells.kinds[entry],
                        "round": life,
                        "connections": connections,
                        "mb": short(kb / 1024),
                        "fit": short((fit.intercept + fit.slope * connections) / 1024),
                    }
                )
    return made


def slopes(cells: Cells, of_server: str, scenario: str) -> list[tuple[str, str]]:
    """What a held connection costs, in words, for each entry of a server."""
    found = []
    for entry in cells.entries:
        if server(entry) != of_server:
            continue
        at = [row for (s, _, e), row in cells.rows.items() if s == scenario and e == entry]
        if not at:
            continue
        known = next((row.kb_per_connection for row in at if row.kb_per_connection), None)
        if known is not None:
            found.append((variant(entry), f"{shown(known)} kB"))
        else:
            found.append((variant(entry), _unheld(at)))
    return found


def warmups(records: Iterable[Record], entry: str) -> list[Datum]:
    """The windows of load before the first measured cell of each round, where warm-up waits until it is steady."""
    made: dict[tuple[int, int], Datum] = {}
    for record in records:
        seen = record.measurement
        if record.entry != entry or seen is None or seen.warmup.reached is None or record.case:
            continue
        for window, rps in enumerate(seen.warmup.window_rps, start=1):
            made.setdefault(
                (record.round, window),
                {
                    "round": record.round,
                    "window": window,
                    "rps": short(rps),
                    "settled": seen.warmup.reached,
                },
            )
    return list(made.values())


NOISE: dict[str, tuple[str, Read, float | None]] = {
    "foreign": (
        "CPU of other programs, % of the machine",
        lambda m: _times(m.noise.foreign_share, 100),
        100 * FOREIGN_LIMIT,
    ),
    "steal": ("Stolen by the hypervisor, % of the machine", lambda m: _times(m.noise.steal_share, 100), None),
    "pressure": ("Some task waited for a CPU, % of the time", lambda m: _per_second(m.noise.pressure_cpu), None),
    "canary": ("Fixed work before the block, ms", lambda m: _times(m.canary_s, 1e3), None),
}
"""Name: title, reader, and the value from which a cell is flagged."""


def course(records: Sequence[Record]) -> list[Datum]:
    """What else the machine did, a cell a row, by the minutes of the run."""
    seen = [(r, r.measurement) for r in records if r.measurement is not None]
    if not seen:
        return []
    began = min(datetime.fromisoformat(r.started_at) for r, _ in seen)
    return [
        {
            "minute": round((datetime.fromisoformat(record.started_at) - began).total_seconds() / 60, 1),
            "cell": f"{record.entry} · {record.asked} {record.tier} · round {record.round}",
            **{name: _short(read(measurement)) for name, (_, read, _) in NOISE.items()},
        }
        for record, measurement in seen
    ]


def _short(value: float | None) -> float | None:
    return None if value is None else short(value)


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _per_second(microseconds: float | None) -> float | None:
    """Microseconds a second as percent."""
    return None if microseconds is None else microseconds / 1e4
