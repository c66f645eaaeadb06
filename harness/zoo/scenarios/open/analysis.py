"""Analysis of a load at a constant arrival rate: requests due, sent and served, how late, and how fast. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.core.histogram import Histogram, from_values
from zoo.core.samples import Hits, count_failures
from zoo.core.trial_results import Lag, Quantiles
from zoo.stats.censored import quantiles
from zoo.stats.trials import generator_shortfall

Ints = NDArray[np.int64]

LATE_SHARE = 0.05  # of the median latency
LATE_FLOOR_US, LATE_CEILING_US = 2_000, 100_000  # vegeta wakes within about 1 ms on an undisturbed machine


@dataclass(frozen=True)
class OpenOutcome:
    """Result of an open load.

    `behind` says why the generator did not make the requested load, or is None. If it fell behind, the result says
    nothing about the server.
    """

    due: int
    sent: int
    ok: int
    ok_share: float  # of the requests sent
    total_s: float  # from the first request to the last response or failure
    ok_per_s: float  # over the total duration
    failures: dict[str, int]  # by kind, most frequent first
    lag: Lag
    late_limit_us: int
    behind: str | None
    latency: Quantiles
    answered: Histogram  # good responses only, from the time each request was due


def analyse(hits: Sequence[Hits], rate: int, duration_s: float) -> OpenOutcome:
    """Analyse a load. Raise ValueError if no request was sent.

    The generator fell behind if one of these holds:

    1. It ran out of descriptors or ports.
    2. It sent fewer than 99% of the requests that were due.
    3. One in a hundred requests was sent too late: by more than 5% of the median latency (at least 2, at most 100 ms).
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
    failed = count_failures(hits)
    p50, p99, most = (int(q) for q in np.quantile(lags, [0.5, 0.99, 1.0], method="inverted_cdf"))
    lag = Lag(p50_us=p50, p99_us=p99, max_us=most)
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
        behind=generator_shortfall(due, sent, failed) or _late(lag, limit),
        latency=quantiles(from_due, sent),
        answered=from_values(from_due),
    )


def late_limit_us(answered_us: Ints) -> int:
    """Return how late 1% of the requests may be sent, in µs; the ceiling if there was no good response."""
    if not len(answered_us):
        return LATE_CEILING_US
    return int(np.clip(LATE_SHARE * float(np.median(answered_us)), LATE_FLOOR_US, LATE_CEILING_US))


def _lags(hits: Hits, rate: float) -> Ints:
    """Return how late each request was sent, in µs, relative to the schedule i / rate.

    The schedule is shifted so that the least late request has a lag of zero.
    """
    sent = np.array(hits.sent_us, dtype=np.int64)
    after_schedule = sent - np.floor(np.arange(len(sent)) * 1e6 / rate).astype(np.int64)
    lags: Ints = after_schedule - after_schedule.min()
    return lags


def _good(hits: Hits) -> NDArray[np.bool_]:
    good = np.ones(len(hits.sent_us), dtype=np.bool_)
    for places in hits.failed.values():
        good[places] = False
    return good


def _late(lag: Lag, limit_us: int) -> str | None:
    if lag.p99_us > limit_us:
        return (
            f"1% of the requests were sent at least {lag.p99_us / 1000:.1f} ms late; the limit is "
            f"{limit_us / 1000:.1f} ms"
        )
    return None
