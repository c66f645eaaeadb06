"""Whether a server answered all requests in time: the one rule behind every "all" in a generated sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.analysis.summary import Row
from zoo.model.trial_results import OpenResult

ALL = 0.99
"""The least share of good responses that counts as all of them."""

IN_TIME = 1.1
"""A response is in time within this multiple of the wait that the request asks for."""


@dataclass(frozen=True)
class Answered:
    """The share of requests with a good response, in the round that had fewest of them, and how late they came.

    `timed`: enough latencies are known to say so. `late`: what part of the requests took longer than `IN_TIME` allows,
    and the seconds that it took at least, e.g. `("half", 25.0)`.
    """

    share: float
    rounds: int
    timed: bool
    late: tuple[str, float] | None = None

    @property
    def complete(self) -> bool:
        """Whether all were answered in time in every round: at least `ALL`, half and 99 in 100 of them in time."""
        return self.share >= ALL and self.timed and self.late is None

    @property
    def text(self) -> str:
        """The share in words: `all`, `13%`, `all, but half of them only after 25 s`."""
        if self.complete:
            return "all"
        if self.share < ALL:
            return f"{self.share:.0%}"
        if self.late is None:
            return "all, but too few to say how soon"
        part, seconds = self.late
        return f"all, but {part} of them only after {format_seconds(seconds)}"

    def of(self, count: int) -> str:
        """The exception to "all" in words, of so many: `200 of 1,000`, `1 in 100 of 19,500 only after 12 s`."""
        if self.share < ALL or self.late is None:
            return f"{self.share * count:,.0f} of {count:,}"
        part, seconds = self.late
        return f"{part} of {count:,} only after {format_seconds(seconds)}"


def format_seconds(seconds: float) -> str:
    """`25 s`, `9.2 s`"""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def of_open(rounds: Sequence[OpenResult]) -> Answered:
    """Answered requests of one entry at a constant rate. Where fewer than 100 lie beyond p99, p90 stands for it."""
    tails = ("1 in 100", "p99_us") if all(r.latency.p99_us is not None for r in rounds) else ("1 in 10", "p90_us")
    latencies = {}
    for part, name in (("half", "p50_us"), tails):
        known = [seconds for r in rounds if (seconds := getattr(r.latency, name)) is not None]
        if len(known) == len(rounds):
            latencies[part] = max(known) / 1e6
    share = min(r.ok_share for r in rounds)
    return Answered(share, len(rounds), len(latencies) == 2, _late(latencies, rounds[0].delay_s))


def of_row(row: Row) -> Answered | None:
    """Answered connections in each wait of a closed-model cell; None where nothing was answered or waited.

    Where too few requests give no p99, the slowest response stands for it. An emulated host records no latency, so
    there the share alone counts.
    """
    if row.served is None or not row.delay_s:
        return None
    tail = ("1 in 100", row.p99_us) if row.p99_us else ("the slowest", row.max_us)
    latencies = {part: spread.high / 1e6 for part, spread in (("half", row.p50_us), tail) if spread}
    return Answered(row.served.low, row.served.rounds, bool(latencies) or row.emulated, _late(latencies, row.delay_s))


def _late(latencies: Mapping[str, float], wait_s: float) -> tuple[str, float] | None:
    """Return the first of these latencies that is beyond `IN_TIME`, with its name."""
    return next(((part, seconds) for part, seconds in latencies.items() if seconds > IN_TIME * wait_s), None)
