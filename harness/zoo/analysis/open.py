"""The account of a load at a constant arrival rate: what was due, sent, answered, how late, and how fast. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.model.histogram import Histogram
from zoo.model.hits import OWN_FAULTS, Hits, failures
from zoo.model.trial_results import OpenResult

Ints = NDArray[np.int64]

LEAST_SENT = 0.99  # of the requests that were due
LATE_SHARE = 0.05  # of the median latency
LATE_FLOOR_US, LATE_CEILING_US = 2_000, 100_000  # vegeta wakes within about 1 ms where nothing disturbs it
BEYOND = 100


@dataclass(frozen=True)
class OpenLag:
    """How long after it was due a request was sent.

    The start of a vegeta process is not in its results. The request that was nearest to the schedule stands for it, so
    a lag that all requests share would not be seen.
    """

    p50_us: int
    p99_us: int
    max_us: int


@dataclass(frozen=True)
class OpenLatency:
    """Over all requests, each from when it was due; one without a good answer counts as later than any answer.

    None: fewer than 100 requests lie beyond the quantile, or the quantile is one of those without a good answer.
    """

    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None


@dataclass(frozen=True)
class OpenOutcome:
    """`behind` says why the generator did not make the load it was asked for; such a run says nothing of the server."""

    due: int
    sent: int
    ok: int
    ok_share: float  # of those sent
    total_s: float  # from the first request to the last answer or failure
    ok_per_s: float  # over the total duration
    failures: dict[str, int]  # by kind, most frequent first
    lag: OpenLag
    late_limit_us: int
    behind: str | None
    latency: OpenLatency
    answered: Histogram  # of the good answers alone, from when each request was due


def account(hits: Sequence[Hits], rate: int, duration_s: float) -> OpenOutcome:
    """ValueError when nothing was sent.

    The generator fell behind when (1) it ran out of descriptors or ports, or (2) it sent fewer than 99 % of the
    requests that were due, or (3) one in a hundred requests was sent later than 5 % of the median latency after it was
    due (at least 2 ms and at most 100 ms are let pass).
    """
    sent = sum(len(one.sent_us) for one in hits)
    if not sent:
        raise ValueError("no request was sent")
    lags = np.concatenate([_lags(one, rate / len(hits)) for one in hits])
    took = np.concatenate([np.array(one.took_us, dtype=np.int64) for one in hits])
    good = np.concatenate([_good(one) for one in hits])
    from_due = np.sort((lags + took)[good])
    ok = len(from_due)
    due = round(rate * duration_s)
    total_s = max(at + took for one in hits for at, took in zip(one.sent_us, one.took_us, strict=True)) / 1e6
    failed = failures(hits)
    lag = OpenLag(*(int(q) for q in np.quantile(lags, [0.5, 0.99, 1.0], method="inverted_cdf")))
    limit = late_limit_us(took[good])
    return OpenOutcome(
        due=due,
        sent=sent,
        ok=ok,
        ok_share=ok / sent,
        total_s=total_s,
        ok_per_s=ok / total_s if total_s else 0.0,
        failures=failed,
        lag=lag,
        late_limit_us=limit,
        behind=not_made(due, sent, failed) or _late(lag, limit),
        latency=OpenLatency(*(_quantile(from_due, sent, per_mille) for per_mille in (500, 900, 990, 999))),
        answered=_histogram(from_due),
    )


def not_made(due: int, sent: int, failures: Mapping[str, int]) -> str | None:
    """Why the requests that were due were not sent; None where they were, however late: that is for latencies."""
    own = {kind: count for kind, count in failures.items() if kind in OWN_FAULTS}
    if own:
        told = ", ".join(f"{kind.removeprefix('generator: ')} for {count:,} requests" for kind, count in own.items())
        return f"the generator ran out of {told}"
    if sent < LEAST_SENT * due:
        return f"the generator sent {sent:,} of {due:,} requests that were due"
    return None


def rate_made(result: OpenResult) -> bool:
    """Too late for a figure of latency it may still be; memory does not mind some milliseconds."""
    return not_made(result.due, result.sent, result.failures) is None


def late_limit_us(answered_us: Ints) -> int:
    """How late one request in a hundred may be sent; the ceiling where there was no good answer."""
    if not len(answered_us):
        return LATE_CEILING_US
    return int(np.clip(LATE_SHARE * float(np.median(answered_us)), LATE_FLOOR_US, LATE_CEILING_US))


def _lags(hits: Hits, rate: float) -> Ints:
    """Against the schedule i / rate; zero for the request that was nearest to it."""
    sent = np.array(hits.sent_us, dtype=np.int64)
    after_schedule = sent - np.floor(np.arange(len(sent)) * 1e6 / rate).astype(np.int64)
    lags: Ints = after_schedule - after_schedule.min()
    return lags


def _good(hits: Hits) -> NDArray[np.bool_]:
    good = np.ones(len(hits.sent_us), dtype=np.bool_)
    for places in hits.failed.values():
        good[places] = False
    return good


def _late(lag: OpenLag, limit_us: int) -> str | None:
    if lag.p99_us > limit_us:
        return (
            f"1 % of the requests were sent {lag.p99_us / 1000:.1f} ms late or more; allowed {limit_us / 1000:.1f} ms"
        )
    return None


def _quantile(answered: Ints, sent: int, per_mille: int) -> int | None:
    """Nearest rank among all requests sent."""
    rank = math.ceil(sent * per_mille / 1000)
    if sent - rank < BEYOND or rank > len(answered):
        return None
    return int(answered[rank - 1])


def _histogram(values_us: Ints) -> Histogram:
    values, counts = np.unique(values_us, return_counts=True)
    return Histogram(values, counts.astype(np.int64))
