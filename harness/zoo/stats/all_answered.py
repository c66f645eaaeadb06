"""The one rule behind every "all" in a generated sentence: a server responded to all requests in time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.core.trial_results import OpenResult
from zoo.stats.summary import Row

ALL = 0.99
"""Lowest share of good responses that counts as all of them."""

IN_TIME = 1.1
"""Limit for a response in time, as a multiple of the wait that the request specifies."""


@dataclass(frozen=True)
class AnsweredShare:
    """The share of requests with a good response, in the round that had the fewest, and how late the responses came.

    `timed` is True if enough latencies are known to judge the time. `late` has the part of the requests that took
    longer than `IN_TIME` allows, and the least number of seconds they took, e.g. `("half", 25.0)`.
    """

    share: float
    rounds: int
    timed: bool
    late: tuple[str, float] | None = None

    @property
    def complete(self) -> bool:
        """Return True if all requests got a response in time in every round.

        That means a share of at least `ALL`, with half and 99 in 100 of the responses in time.
        """
        return self.share >= ALL and self.timed and self.late is None

    @property
    def text(self) -> str:
        """Return the share in words: `all`, `13%`, `all (half of them only after 25 s)`."""
        if self.complete:
            return "all"
        if self.share < ALL:
            return f"{self.share:.0%}"
        if self.late is None:
            return "all (too few to judge the time)"
        part, seconds = self.late
        return f"all ({part} of them only after {format_seconds(seconds)})"

    def of(self, count: int) -> str:
        """Return the exception to "all" with a count: `200 of 1,000 in time`, `1 in 100 of 19,500 only after 12 s`."""
        if self.share < ALL or self.late is None:
            return f"{self.share * count:,.0f} of {count:,} in time"
        part, seconds = self.late
        return f"{part} of {count:,} only after {format_seconds(seconds)}"


def format_seconds(seconds: float) -> str:
    """Format seconds: `25 s`, `9.2 s`."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def share_of_open(rounds: Sequence[OpenResult]) -> AnsweredShare:
    """Return the share for one entry at a constant rate. If fewer than 100 requests lie beyond p99, p90 replaces it."""
    tails = ("1 in 100", "p99_us") if all(r.latency.p99_us is not None for r in rounds) else ("1 in 10", "p90_us")
    latencies = {}
    for part, name in (("half", "p50_us"), tails):
        known = [seconds for r in rounds if (seconds := getattr(r.latency, name)) is not None]
        if len(known) == len(rounds):
            latencies[part] = max(known) / 1e6
    share = min(r.ok_share for r in rounds)
    return AnsweredShare(share, len(rounds), len(latencies) == 2, _find_late(latencies, rounds[0].delay_s))


def share_of_row(row: Row) -> AnsweredShare | None:
    """Return the share of connections that got a response in each wait of a closed-model cell.

    None if there was no response or no wait. If there are too few requests for a p99, the slowest response replaces it.
    An emulated host records no latency, so there only the share counts.
    """
    if row.served is None or not row.delay_s:
        return None
    tail = ("1 in 100", row.p99_us) if row.p99_us else ("the slowest", row.max_us)
    latencies = {part: spread.high / 1e6 for part, spread in (("half", row.p50_us), tail) if spread}
    return AnsweredShare(
        row.served.low, row.served.rounds, bool(latencies) or row.emulated, _find_late(latencies, row.delay_s)
    )


def _find_late(latencies: Mapping[str, float], wait_s: float) -> tuple[str, float] | None:
    """Return the first of these latencies that is beyond `IN_TIME`, with its name."""
    return next(((part, seconds) for part, seconds in latencies.items() if seconds > IN_TIME * wait_s), None)
