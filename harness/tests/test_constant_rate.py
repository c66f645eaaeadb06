from __future__ import annotations

import heapq
import random

import pytest

from zoo.core.samples import Hits
from zoo.scenarios.open.analysis import analyse

RATE, SECONDS = 400, 60.0
SENT = 24_000


def on_time(n: int, rate: float = RATE) -> list[int]:
    return [int(i * 1e6 / rate) for i in range(n)]


def pool(threads: int, delay_s: float, timeout_s: float) -> Hits:
    """Simulate the Spring article's platform variant.

    The pool serves first come, first served, and does not know which clients gave up.
    """
    free = [0.0] * threads
    sent, took = on_time(SENT), []
    late: list[int] = []
    for i, at in enumerate(sent):
        done = max(at / 1e6, heapq.heappop(free)) + delay_s
        heapq.heappush(free, done)
        took.append(min(round(done * 1e6) - at, round(timeout_s * 1e6)))
        if done > at / 1e6 + timeout_s:
            late.append(i)
    return Hits(sent, took, {"timeout": late})


def test_the_articles_two_variants() -> None:
    # 200 threads, 400 requests per second for a minute, 4 s each: 24,000 requests are due.
    served = analyse([Hits(on_time(SENT), [4_000_000] * SENT, {})], RATE, SECONDS)
    assert (served.due, served.sent, served.ok, served.ok_share, served.failures) == (SENT, SENT, SENT, 1.0, {})
    assert served.total_s == pytest.approx(64, abs=0.01)
    assert served.ok_per_s == pytest.approx(375, abs=0.5)
    assert served.behind is None
    assert served.latency.p50_us == served.latency.p99_us == 4_000_000

    pooled = analyse([pool(200, 4.005, 60.0)], RATE, SECONDS)
    assert 3_200 <= pooled.ok <= 3_360
    assert pooled.failures == {"timeout": SENT - pooled.ok}
    assert pooled.total_s == pytest.approx(120, abs=0.01)
    assert served.ok_per_s - pooled.ok_per_s == pytest.approx(347, abs=2), "what the article found"
    assert pooled.latency.p50_us is None
    assert pooled.behind is None


def test_a_request_without_an_answer_counts_as_later_than_any() -> None:
    # The fastest 6,000 of 10,000 requests are rejected immediately. There is no median, although the responses alone
    # would have one.
    sent = on_time(10_000)
    refused = list(range(0, 10_000, 5)) + list(range(1, 10_000, 5)) + list(range(2, 10_000, 5))
    took = [100] * 10_000
    found = analyse([Hits(sent, took, {"refused": refused})], RATE, 25.0)
    assert found.ok_share == 0.4
    assert found.latency.p50_us is None
    assert found.answered.total == 4_000
    assert found.answered.quantile(0.5) == 100


def test_a_quantile_needs_100_requests_beyond_it() -> None:
    sent = on_time(9_999)
    took = [1_000 + i for i in range(9_999)]
    latency = analyse([Hits(sent, took, {})], RATE, 25.0).latency
    assert latency.p90_us == 1_000 + 9_000 - 1
    assert (latency.p99_us, latency.p999_us) == (None, None)
    one_more = analyse([Hits(on_time(10_000), [*took, 11_000], {})], RATE, 25.0).latency
    assert one_more.p99_us == 1_000 + 9_900 - 1


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_lag_is_that_behind_the_schedule(processes: int) -> None:
    # Requests have up to 0.5 ms of jitter, and one in 50 is another 30 ms late. The start of the schedule is unknown
    # and must be found.
    noise = random.Random(1)
    hits = []
    for p in range(processes):
        due = on_time(6_000 // processes, RATE / processes)
        late = [30_000 if i % 50 == 7 else 0 for i in range(len(due))]
        sent = [1_234 * p + at + noise.randrange(500) + late[i] for i, at in enumerate(due)]
        hits.append(Hits(sent, [2_000] * len(sent), {}))
    found = analyse(hits, RATE, 15.0)
    assert 0 < found.lag.p50_us <= 500
    assert 30_000 <= found.lag.p99_us <= 30_500
    assert found.late_limit_us == 2_000
    assert (
        found.behind
        == f"1% of the requests were sent at least {found.lag.p99_us / 1000:.1f} ms late; the limit is 2.0 ms"
    )
    assert found.latency.p50_us == pytest.approx(2_250, abs=100), "from when it was due"


@pytest.mark.parametrize(("took_us", "limit_us"), [(500, 2_000), (400_000, 20_000), (4_000_000, 100_000)])
def test_what_lateness_is_let_pass_depends_on_what_is_measured(took_us: int, limit_us: int) -> None:
    for beyond, behind in ((-2, False), (2, True)):
        sent = [at + (limit_us + beyond) * (i % 10 == 3) for i, at in enumerate(on_time(4_000))]
        found = analyse([Hits(sent, [took_us] * 4_000, {})], RATE, 10.0)
        assert found.late_limit_us == limit_us
        assert (found.behind is not None) is behind


def test_a_generator_that_is_ever_slower_is_seen() -> None:
    # The generator sends 380 per second instead of 400, and is stopped when the time is over.
    found = analyse([Hits(on_time(3_800, 380), [4_000_000] * 3_800, {})], RATE, 10.0)
    assert found.behind == "the generator sent 3,800 of 4,000 requests that were due"
    assert found.lag.max_us == pytest.approx(500_000, rel=0.01)


def test_a_generator_out_of_descriptors_is_no_failure_of_the_server() -> None:
    found = analyse([Hits(on_time(4_000), [1_000] * 4_000, {"generator: descriptors": [5, 6]})], RATE, 10.0)
    assert found.behind == "the generator ran out of descriptors for 2 requests"


def test_nothing_sent_is_no_account() -> None:
    with pytest.raises(ValueError, match="no request"):
        analyse([], RATE, 1.0)
