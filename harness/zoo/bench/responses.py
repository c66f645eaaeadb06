"""A check that the responses counted by a load are good.

wrk counts only statuses above 399, and counting every status would make it slow. So the check compares wrk's bytes with
the size of single responses before and after the load. If they do not agree, or a single response is bad, wrk counts
all statuses in a short load that is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zoo.bench.reconnects import ConnectionCount
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError, LoadSpec
from zoo.runtime.base import HostedServer
from zoo.sample.requests import Response

SINGLE = 10
AFTERWARDS_S = 1.0
AFTERWARDS_CONNECTIONS = 100
AFTERWARDS_BYTES = 64 << 20

BAD_LIMIT = 0.01
"""Maximum share of bad responses. A load with more of them gives no figures."""

ERROR_PAGE_BYTES = 65_536
DRIFT_BYTES = 2
CLOSE_BYTES = 64
"""Upper bound, in bytes, for what `Connection: close` adds to a response or replaces in it."""

CLOSE_SHARE = 0.02
CHUNKED_SHARE = 0.005

MEANS_APART = 0.05
"""Maximum relative difference between the mean response lengths of two loads, if response lengths vary."""


def exceeds_bad_limit(bad: int, total: int) -> bool:
    """Return True if more than 1% are bad."""
    return bad > BAD_LIMIT * total


def has_too_many_bad(outcome: LoadOutcome) -> bool:
    """Return True if bad responses and failed connections exceed 1% together.

    Bad statuses and timeouts are shares of the responses, failed connections are shares of the requests sent. When a
    load with long waits ends, most of its requests have no response yet, so the two numbers differ a lot.
    """
    errors = outcome.errors
    bad = errors.status + errors.timeout
    shares = bad / max(1, outcome.requests) + errors.broken / max(1, outcome.sent)
    return shares > BAD_LIMIT


def have_similar_sizes(one: LoadOutcome, other: LoadOutcome) -> bool:
    """Return True if the responses of two loads have about the same mean length."""
    return abs(one.mean_bytes - other.mean_bytes) <= MEANS_APART * other.mean_bytes


@dataclass(frozen=True)
class Sizes:
    """Sizes of good single responses, in bytes; `is_steady` if every response has the same size.

    A steady size may grow by a digit during the load, for example if the response contains a counter.
    """

    least: int
    most: int
    is_steady: bool
    slack: float = 0.0
    """Share of a response's size by which it may vary."""

    @classmethod
    def of(cls, before: Sequence[int], after: Sequence[int], *, chunked: bool = False) -> Sizes | None:
        """Return the sizes, or None if there are no responses.

        The sizes of chunked responses depend a little on where they are cut.
        """
        if not before and not after:
            return None
        drift = max([*before, *after]) - min([*before, *after]) if before and after else 0
        slack = CHUNKED_SHARE if chunked else 0.0
        steady = max(before or after) <= (1 + slack) * min(before or after)
        close = drift <= max(DRIFT_BYTES, slack * min(before or after))
        allowed = [*before, *after] if close or not steady else before
        return cls(min(allowed), max(allowed), steady, slack)

    def can_explain(self, seen: LoadOutcome, closing: int = 0) -> bool:
        """Return True if all responses of a load can have had these sizes; always False if the sizes are not steady.

        `closing` responses were the last ones of their connections and may have a header that says so.

        wrk adds up the bytes of every read. So the sum contains complete responses, and the parts of others that wrk
        had received when it stopped or their connection failed. A response that wrk knows to be bad may be an error
        page.
        """
        if not self.is_steady:
            return False
        good = seen.requests - seen.errors.status
        pages = seen.errors.status * max(self.most, ERROR_PAGE_BYTES)
        cut_off = (seen.connections + seen.errors.broken) * self.most
        either_way = closing * CLOSE_BYTES + self.slack * good * self.most
        least = good * self.least - seen.errors.broken * self.most - either_way
        return least <= seen.bytes <= good * self.most + pages + cut_off + either_way

    def count_of(self, size: int, seen: LoadOutcome) -> int | None:
        """Return how many responses of a load had this other size; None if that cannot be determined."""
        if not self.is_steady or size == self.least:
            return None
        return min(seen.requests, max(0, round((seen.bytes - seen.requests * self.least) / (size - self.least))))


class ResponseCheck:
    """Single requests to `url` before a load, and a `check` of the load afterwards.

    `url` returns the load's response, but without its wait.
    """

    def __init__(self, hosted: HostedServer, spec: LoadSpec, url: str) -> None:
        self._hosted = hosted
        self._spec = spec
        self._url = url
        self._before = hosted.instruments.responses(url, SINGLE)
        self._connections = ConnectionCount(hosted)

    def check(self, outcome: LoadOutcome) -> None:
        """Raise `LoadError` of kind `bad_responses` if more than 1% of the responses were bad."""
        if not outcome.total:
            return
        self._connections.stop()
        reconnects = self._connections.reopened(outcome)
        # number of responses that were the last on their connection; if unknown, allow for one in 50
        closing = round(CLOSE_SHARE * outcome.requests) if reconnects is None else reconnects
        if has_too_many_bad(outcome):
            raise bad_responses(
                f"{outcome.bad_responses:,} of {outcome.total:,} responses were bad{_format_kinds(outcome)}",
                self._find_bad_example(),
            )
        waits = self._url != self._spec.url
        after = [] if waits else self._hosted.instruments.responses(self._url, SINGLE)
        bad = next((one for one in [*self._before, *after] if not one.is_good), None)
        expected = Sizes.of(
            [one.size for one in self._before if one.is_good],
            [one.size for one in after if one.is_good],
            chunked=any(one.chunked for one in self._before),
        )
        if expected is None and bad is None:
            return
        if bad is None and expected is not None and expected.is_steady and expected.can_explain(outcome):
            return
        self._check_every_status(outcome, expected, bad, closing)

    def _check_every_status(
        self, seen: LoadOutcome, expected: Sizes | None, bad: Response | None, closing: int
    ) -> None:
        """Have wrk count every status, because the sizes alone do not show that all responses were good."""
        after = self._load_again()
        found = after.census
        wrong = (found.bad if found else 0) + after.errors.timeout + after.errors.broken
        if exceeds_bad_limit(wrong, after.total) or not after.total:
            count = expected.count_of(bad.size, seen) if bad and expected else None
            message = f"about {count:,} of {seen.requests:,} responses were bad" if count else ""
            message = message or f"{wrong:,} of {after.total:,} responses right after the load were bad"
            raise bad_responses(message, bad.sample if bad else found.sample if found else "")
        if expected is None or expected.can_explain(seen, closing):
            return
        if not expected.is_steady and have_similar_sizes(seen, after):
            return
        usual = f"{expected.least:,}" if expected.is_steady else f"{after.mean_bytes:,.1f}"
        raise bad_responses(
            f"{seen.requests:,} responses had {seen.mean_bytes:,.2f} bytes on average instead of "
            f"{usual}: some were redirects or had another body",
            "",
        )

    def _load_again(self) -> LoadOutcome:
        """Run a short load that counts every status.

        wrk then keeps a whole response in memory for each connection, so a load of large responses gets few of them.
        """
        largest = max((one.size for one in self._before), default=1)
        connections = min(AFTERWARDS_CONNECTIONS, self._spec.connections, max(1, AFTERWARDS_BYTES // largest))
        threads = min(self._spec.threads, connections)
        spec = replace(self._spec, url=self._url, connections=connections, threads=threads, census=True)
        return self._hosted.generator.run(replace(spec, duration_s=AFTERWARDS_S))

    def _find_bad_example(self) -> str:
        """Return a bad response; empty if the server no longer sends one."""
        single = find_bad_response(self._hosted, self._url)
        if single:
            return single
        try:
            census = self._load_again().census
        except LoadError:
            return ""
        return census.sample if census else ""


def find_bad_response(hosted: HostedServer, url: str) -> str:
    """Send single requests and return a bad response; empty if all are good."""
    return next((one.sample for one in hosted.instruments.responses(url, SINGLE) if not one.is_good), "")


def bad_responses(message: str, example: str) -> LoadError:
    return LoadError("bad_responses", message + (f"; one of them: {example}" if example else ""))


def _format_kinds(outcome: LoadOutcome) -> str:
    errors = outcome.errors
    kinds = {
        "statuses above 399": errors.status,
        "connections that failed": errors.broken,
        "timeouts": errors.timeout,
    }
    return f" ({', '.join(f'{count:,} {kind}' for kind, count in kinds.items() if count)})"
