"""Which of a load's responses were bad: by the generator's own counts, and by the bytes it received. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BAD_LIMIT = 0.01
"""Of a load's responses, the share that may be bad. Above it, the load gives no figures."""

ERROR_PAGE_BYTES = 65_536
DRIFT_BYTES = 2
CLOSE_BYTES = 64
"""More than `Connection: close` adds to a response, or takes the place of."""

CLOSE_SHARE = 0.02
CHUNKED_SHARE = 0.005

MEANS_APART = 0.05
"""Two loads of a server whose responses vary in length may differ by this much in their mean length."""


@dataclass(frozen=True)
class Received:
    """What wrk counted in a load. `status` counts the responses above 399, which are among the requests.

    `broken` counts the requests whose connection failed, which are not.
    """

    requests: int
    bytes: int
    status: int
    timeout: int
    broken: int
    connections: int

    @property
    def bad(self) -> int:
        return self.status + self.timeout + self.broken

    @property
    def total(self) -> int:
        return self.requests + self.broken

    @property
    def mean_bytes(self) -> float:
        return self.bytes / self.requests if self.requests else 0.0


def too_many(bad: int, total: int) -> bool:
    """Return True when more than 1% are bad."""
    return bad > BAD_LIMIT * total


def last_ones(seen: Received, reopened: int | None) -> int:
    """Return how many responses were the last of their connections, by the connections opened beyond those asked for.

    Where these cannot be counted, a server may close each after 50 responses.
    """
    return round(CLOSE_SHARE * seen.requests) if reopened is None else reopened


def alike(one: Received, other: Received) -> bool:
    """Return True when the responses of two loads have about the same mean length."""
    return abs(one.mean_bytes - other.mean_bytes) <= MEANS_APART * other.mean_bytes


@dataclass(frozen=True)
class Sizes:
    """The sizes of good single responses, in bytes. They are `steady` where every response has the same size.

    A steady size may grow by a digit during the load, such as that of a counter.
    """

    least: int
    most: int
    steady: bool
    slack: float = 0.0
    """Share of a response's size by which it may differ."""

    @classmethod
    def of(cls, before: Sequence[int], after: Sequence[int], *, chunked: bool = False) -> Sizes | None:
        """None without any. The sizes of chunked responses depend a little on where they are cut."""
        if not before and not after:
            return None
        drift = max([*before, *after]) - min([*before, *after]) if before and after else 0
        slack = CHUNKED_SHARE if chunked else 0.0
        steady = max(before or after) <= (1 + slack) * min(before or after)
        close = drift <= max(DRIFT_BYTES, slack * min(before or after))
        allowed = [*before, *after] if close or not steady else before
        return cls(min(allowed), max(allowed), steady, slack)

    def explain(self, seen: Received, closing: int = 0) -> bool:
        """Return True when all responses of a load can have had these sizes; never for those that are not steady.

        `closing` responses were the last ones of their connections, and may have said so in a header.

        wrk adds up the bytes of every read. So the sum is that of the responses, and of what it had received of others
        when it stopped or their connection failed. A response that wrk knows to be bad may be an error page.
        """
        if not self.steady:
            return False
        good = seen.requests - seen.status
        pages = seen.status * max(self.most, ERROR_PAGE_BYTES)
        cut_off = (seen.connections + seen.broken) * self.most
        either_way = closing * CLOSE_BYTES + self.slack * good * self.most
        least = good * self.least - seen.broken * self.most - either_way
        return least <= seen.bytes <= good * self.most + pages + cut_off + either_way

    def count_of(self, size: int, seen: Received) -> int | None:
        """Return how many responses of a load had this other size; None where that cannot be told."""
        if not self.steady or size == self.least:
            return None
        return min(seen.requests, max(0, round((seen.bytes - seen.requests * self.least) / (size - self.least))))
