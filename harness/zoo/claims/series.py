"""What a point of a claim gave in each round of a run. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zoo.analysis.lower_bound import LIMITED, SHARED, limits
from zoo.analysis.metrics import Class
from zoo.analysis.samples import Side
from zoo.claims.evidence import Archive, Observation
from zoo.claims.points import ClaimPoint
from zoo.claims.quantities import Quantity, at
from zoo.model.entry_id import server_of


@dataclass(frozen=True)
class Series:
    """A quantity of one cell in one run: a figure a round, or a figure a start where `starts` has them.

    `at_least`: the true figures are these or more. `objection`: why it cannot be judged.
    """

    archive: Archive
    point: ClaimPoint
    values: dict[int, float]
    starts: list[float]
    at_least: bool
    cut: str | None
    actual: int | None
    shared: bool
    jvm: bool
    lines: tuple[int, ...]
    objection: str | None
    group: Hashable = None
    turns: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """The figures of each turn of a round, where it had several."""
    parts: tuple[Series, ...] = ()
    """Those of each run, where several are taken together."""

    @property
    def server(self) -> str:
        """The folder of what was measured."""
        return self.archive.program or server_of(self.point.entry)

    @property
    def older(self) -> bool:
        """True where its sources have changed since."""
        return self.server in self.archive.older

    @property
    def sources(self) -> tuple[Series, ...]:
        """A series a run."""
        return self.parts or (self,)

    @property
    def side(self) -> Side:
        """Return the series as one side of a pair."""
        return Side(self.values, self.group, self.turns)

    @property
    def rounds(self) -> int:
        return max(len(self.values), len(self.starts))

    @property
    def figures(self) -> list[float]:
        return self.starts or [self.values[number] for number in sorted(self.values)]


MANY_ROUNDS = 10_000
"""More than a run has: so a round of each run keeps a number of its own."""


def pooled(parts: Sequence[Series]) -> Series:
    """Return the runs of one cell taken together, each round an observation; a limit of one run is a limit of all.

    They have no group, because the variance between the rounds of a run leaves out how runs differ.
    """
    return replace(
        parts[0],
        values={MANY_ROUNDS * i + n: value for i, part in enumerate(parts) for n, value in part.values.items()},
        starts=[start for part in parts for start in part.starts],
        at_least=any(part.at_least for part in parts),
        shared=any(part.shared for part in parts),
        group=None,
        turns={},
        parts=tuple(parts),
    )


def series(
    archive: Archive, point: ClaimPoint, tiers: Sequence[Mapping[int, Observation]], quantity: Quantity
) -> Series:
    """From the observations of a cell's tiers by round; the figures are those of the highest tier."""
    top = tiers[-1]
    objections = [why for tier in tiers for seen in tier.values() if (why := _against(seen, quantity))]
    values: dict[int, float] = {}
    starts: list[float] = []
    bounds = limits([seen.limits for seen in top.values()])
    at_least = quantity.kind is Class.LOAD and bool(LIMITED & bounds)
    for number, seen in top.items():
        figure = quantity.read(seen.data)
        if figure is None and quantity.censored:
            figure = quantity.censored(seen.data)
            at_least = at_least or figure is not None
        if isinstance(figure, list):
            starts += figure
        elif figure is not None:
            values[number] = figure
    if not objections and not starts and len(values) < len(top):
        objections.append(f"{point.text}: a round has no such figure")
    return Series(
        archive=archive,
        point=point,
        values=values,
        starts=starts,
        at_least=at_least,
        cut=next((seen.cut for seen in top.values() if seen.cut), None),
        actual=max((seen.actual for seen in top.values() if seen.actual is not None), default=None),
        shared=quantity.kind in (Class.LOAD, Class.LATENCY) and bool(SHARED & bounds),
        jvm=any(at(seen.data, "measurement.memory.heap_used_kb") is not None for seen in top.values()),
        lines=tuple(seen.line for tier in tiers for seen in tier.values()),
        objection=next(iter(objections), None),
        group=next((seen.groups.get(quantity.metric) for seen in top.values()), None) if quantity.metric else None,
        turns={n: seen.turns.get(quantity.metric, ()) for n, seen in top.items()} if quantity.metric else {},
    )


def _against(seen: Observation, quantity: Quantity) -> str | None:
    """Why a quantity cannot be read off an observation."""
    if quantity.counts_faults:
        return None if quantity.read(seen.data) is not None else seen.failure
    if seen.failure:
        return f"{seen.entry} failed in round {seen.round}: {seen.failure}"
    if seen.emulated and quantity.kind is not Class.MEMORY:
        return "an emulated host tells nothing of speed"
    if quantity.kind is None:
        return next(iter(seen.objections.values()), None)
    return seen.objections.get(quantity.kind)
