"""Two entries compared within a run, round by round. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from zoo.analysis import cpu_per_million
from zoo.records import LOWER_BOUND, Measurement, Record
from zoo.stats import Ratio, paired_ratio

METRICS: dict[str, Callable[[Measurement], float | None]] = {
    "req/s": lambda m: m.load.goodput_rps,
    "p50": lambda m: m.load.latency.p50_us,
    "p99": lambda m: m.load.latency.p99_us,
    "peak RSS": lambda m: m.memory.rss_peak_kb,
    "CPU per request": cpu_per_million,
}


@dataclass(frozen=True)
class Pair:
    """A virtual-thread entry over the platform-thread entry of the same server, in one cell."""

    a: str
    b: str
    scenario: str
    tier: str
    requested: int
    ratios: dict[str, Ratio | None]
    lower_bound: bool


def model_pairs(records: Iterable[Record]) -> list[Pair]:
    """The named pairs: `virtual-thread` over `platform-thread` of each server, by scenario and tier."""
    by_cell: dict[tuple[str, str, str], dict[int, Measurement]] = {}
    models: dict[str, str] = {}
    for record in records:
        models[record.entry] = record.model
        if record.measurement is not None:
            by_cell.setdefault((record.entry, record.scenario, record.tier), {})[record.round] = record.measurement
    found = []
    for (entry, scenario, tier), a in by_cell.items():
        other = _platform_of(entry, models)
        b = by_cell.get((other, scenario, tier)) if other else None
        if other and b:
            found.append(_pair(entry, other, scenario, tier, a, b))
    return sorted(found, key=lambda p: (p.scenario, p.requested, p.a))


def _platform_of(entry: str, models: dict[str, str]) -> str | None:
    if models[entry] != "virtual-thread":
        return None
    server = entry.partition(":")[0]
    return next((e for e, m in models.items() if e.startswith(f"{server}:") and m == "platform-thread"), None)


def _pair(a_id: str, b_id: str, scenario: str, tier: str, a: dict[int, Measurement], b: dict[int, Measurement]) -> Pair:
    shared = sorted(set(a) & set(b))
    ratios: dict[str, Ratio | None] = {}
    for name, read in METRICS.items():
        values = [(read(a[n]), read(b[n])) for n in shared]
        known = [(x, y) for x, y in values if x is not None and y is not None and x > 0 and y > 0]
        ratios[name] = paired_ratio([x for x, _ in known], [y for _, y in known]) if known else None
    both = [*a.values(), *b.values()]
    return Pair(
        a=a_id,
        b=b_id,
        scenario=scenario,
        tier=tier,
        requested=both[0].connections.requested,
        ratios=ratios,
        lower_bound=any(LOWER_BOUND & set(m.flags) for m in both),
    )
