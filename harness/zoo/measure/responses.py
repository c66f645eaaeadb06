"""Checks that the responses which a load counted are good ones.

wrk counts only statuses above 399, and asking it for every status would make it slow. So its bytes are compared with
the size of single responses before and after the load. Where they do not agree, or a single response is bad, wrk counts
all statuses in a short load that is not measured.
"""

from __future__ import annotations

from dataclasses import replace

from zoo.analysis.flags import reopened
from zoo.analysis.responses import Received, Sizes, alike, last_ones, too_many
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError, LoadSpec
from zoo.runtime.base import Hosted
from zoo.sample.requests import Response

SINGLE = 10
AFTERWARDS_S = 1.0
AFTERWARDS_CONNECTIONS = 100
AFTERWARDS_BYTES = 64 << 20


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
        seen = received(outcome)
        if not seen.total:
            return
        counters = self._hosted.instruments.counters(self._hosted.pid)
        accepted = counters.since(self._counters).passive_opens if counters and self._counters else None
        closed = self._hosted.instruments.closed(self._hosted.url)
        closing = last_ones(seen, reopened(accepted, closed, seen.connections))
        if too_many(seen.bad, seen.total):
            raise bad_responses(f"{seen.bad:,} of {seen.total:,} responses were bad{_kinds(outcome)}", self._sample())
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
        if bad is None and expected is not None and expected.steady and expected.explain(seen):
            return
        self._ask_all(seen, expected, bad, closing)

    def _ask_all(self, seen: Received, expected: Sizes | None, bad: Response | None, closing: int) -> None:
        """Have wrk count every status, now that the sizes alone do not show that all responses were good."""
        outcome = self._load_afterwards()
        after = received(outcome)
        found = outcome.census
        wrong = (found.bad if found else 0) + after.timeout + after.broken
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


def received(outcome: LoadOutcome) -> Received:
    errors = outcome.errors
    return Received(
        requests=outcome.requests,
        bytes=outcome.bytes,
        status=errors.status,
        timeout=errors.timeout,
        broken=errors.read + errors.write,
        connections=outcome.connections,
    )


def _kinds(outcome: LoadOutcome) -> str:
    errors = outcome.errors
    kinds = {
        "statuses above 399": errors.status,
        "connections that failed": errors.read + errors.write,
        "timeouts": errors.timeout,
    }
    return f" ({', '.join(f'{count:,} {kind}' for kind, count in kinds.items() if count)})"
