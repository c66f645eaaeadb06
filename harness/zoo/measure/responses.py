"""Checks that the responses which a load counted are good ones.

wrk counts only statuses above 399, and asking it for every status would make it slow. So its bytes are compared with
the size of single responses before and after the load. Where they do not agree, or a single response is bad, wrk counts
all statuses in a short load that is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zoo.analysis.flags import reopened
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError, LoadSpec
from zoo.runtime.base import Hosted
from zoo.sample.requests import Response

SINGLE = 10
AFTERWARDS_S = 1.0
AFTERWARDS_CONNECTIONS = 100
AFTERWARDS_BYTES = 64 << 20

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


def too_many(bad: int, total: int) -> bool:
    """Return True when more than 1% are bad."""
    return bad > BAD_LIMIT * total


def alike(one: LoadOutcome, other: LoadOutcome) -> bool:
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

    def explain(self, seen: LoadOutcome, closing: int = 0) -> bool:
        """Return True when all responses of a load can have had these sizes; never for those that are not steady.

        `closing` responses were the last ones of their connections, and may have said so in a header.

        wrk adds up the bytes of every read. So the sum is that of the responses, and of what it had received of others
        when it stopped or their connection failed. A response that wrk knows to be bad may be an error page.
        """
        if not self.steady:
            return False
        good = seen.requests - seen.errors.status
        pages = seen.errors.status * max(self.most, ERROR_PAGE_BYTES)
        cut_off = (seen.connections + seen.errors.broken) * self.most
        either_way = closing * CLOSE_BYTES + self.slack * good * self.most
        least = good * self.least - seen.errors.broken * self.most - either_way
        return least <= seen.bytes <= good * self.most + pages + cut_off + either_way

    def count_of(self, size: int, seen: LoadOutcome) -> int | None:
        """Return how many responses of a load had this other size; None where that cannot be told."""
        if not self.steady or size == self.least:
            return None
        return min(seen.requests, max(0, round((seen.bytes - seen.requests * self.least) / (size - self.least))))


class ResponseCheck:
    """Sends single requests to `url` before a load; `check` judges the load afterwards.

    `url` is answered with the load's response, but without its wait.
    """

    def __init__(self, hosted: Hosted, spec: LoadSpec, url: str) -> None:
        self._hosted = hosted
        self._spec = spec
        self._url = url
        self._before = hosted.instruments.responses(url, SINGLE)
        self._counters = hosted.instruments.counters(hosted.pid)

    def check(self, outcome: LoadOutcome) -> None:
        """Raise `LoadError` of kind `bad_responses` when more than 1% of the responses were bad."""
        if not outcome.total:
            return
        counters = self._hosted.instruments.counters(self._hosted.pid)
        accepted = counters.since(self._counters).passive_opens if counters and self._counters else None
        closed = self._hosted.instruments.closed(self._hosted.url)
        again = reopened(accepted, closed, outcome.connections)
        # the last responses of connections; where these cannot be counted, a server may close each after 50 responses
        closing = round(CLOSE_SHARE * outcome.requests) if again is None else again
        if too_many(outcome.bad, outcome.total):
            raise bad_responses(
                f"{outcome.bad:,} of {outcome.total:,} responses were bad{_kinds(outcome)}", self._sample()
            )
        waits = self._url != self._spec.url
        after = [] if waits else self._hosted.instruments.responses(self._url, SINGLE)
        bad = next((one for one in [*self._before, *after] if not one.good), None)
        expected = Sizes.of(
            [one.size for one in self._before if one.good],
            [one.size for one in after if one.good],
            chunked=any(one.chunked for one in self._before),
        )
        if expected is None and bad is None:
            return
        if bad is None and expected is not None and expected.steady and expected.explain(outcome):
            return
        self._ask_all(outcome, expected, bad, closing)

    def _ask_all(self, seen: LoadOutcome, expected: Sizes | None, bad: Response | None, closing: int) -> None:
        """Have wrk count every status, now that the sizes alone do not show that all responses were good."""
        after = self._load_afterwards()
        found = after.census
        wrong = (found.bad if found else 0) + after.errors.timeout + after.errors.broken
        if too_many(wrong, after.total) or not after.total:
            count = expected.count_of(bad.size, seen) if bad and expected else None
            told = f"about {count:,} of {seen.requests:,} responses were bad" if count else ""
            told = told or f"{wrong:,} of {after.total:,} responses right after the load were bad"
            raise bad_responses(told, bad.sample if bad else found.sample if found else "")
        if expected is None or expected.explain(seen, closing):
            return
        if not expected.steady and alike(seen, after):
            return
        usual = f"{expected.least:,}" if expected.steady else f"{after.mean_bytes:,.1f}"
        raise bad_responses(
            f"{seen.requests:,} responses had {seen.mean_bytes:,.2f} bytes on average where {usual} were expected: "
            "some were redirects or had another body",
            "",
        )

    def _load_afterwards(self) -> LoadOutcome:
        """Count every status. wrk then holds a whole response for each connection, so large ones get few of these."""
        largest = max((one.size for one in self._before), default=1)
        connections = min(AFTERWARDS_CONNECTIONS, self._spec.connections, max(1, AFTERWARDS_BYTES // largest))
        threads = min(self._spec.threads, connections)
        spec = replace(self._spec, url=self._url, connections=connections, threads=threads, census=True)
        return self._hosted.generator.run(replace(spec, duration_s=AFTERWARDS_S))

    def _sample(self) -> str:
        """Return a bad response; empty where none can be had any more."""
        single = sample(self._hosted, self._url)
        if single:
            return single
        try:
            census = self._load_afterwards().census
        except LoadError:
            return ""
        return census.sample if census else ""


def sample(hosted: Hosted, url: str) -> str:
    """Send single requests and return a bad response; empty where all are good."""
    return next((one.sample for one in hosted.instruments.responses(url, SINGLE) if not one.good), "")


def bad_responses(message: str, example: str) -> LoadError:
    return LoadError("bad_responses", message + (f"; one of them: {example}" if example else ""))


def _kinds(outcome: LoadOutcome) -> str:
    errors = outcome.errors
    kinds = {
        "statuses above 399": errors.status,
        "connections that failed": errors.broken,
        "timeouts": errors.timeout,
    }
    return f" ({', '.join(f'{count:,} {kind}' for kind, count in kinds.items() if count)})"
