"""The account of a load at a constant arrival rate: what was due, sent, answered, how late, and how fast. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.analysis.trials import not_made
from zoo.model.histogram import Histogram
from zoo.model.samples import Hits, failures
from zoo.model.trial_results import Lag, Quantiles

Ints = NDArray[np.int64]

LATE_SHARE = 0.05  # of the median latency
LATE_FLOOR_US, LATE_CEILING_US = 2_000, 100_000  # vegeta wakes within about 1 ms where nothing disturbs it
BEYOND = 100
PER_MILLE = {"p50_us": 500, "p90_us": 900, "p99_us": 990, "p999_us": 999}


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
    lag: Lag
    late_limit_us: int
    behind: str | None
    latency: Quantiles
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
        behind=not_made(due, sent, failed) or _late(lag, limit),
        latency=Quantiles(**{name: _quantile(from_due, sent, per_mille) for name, per_mille in PER_MILLE.items()}),
        answered=_histogram(from_due),
    )


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


def _late(lag: Lag, limit_us: int) -> str | None:
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
