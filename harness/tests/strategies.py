"""Strategies for property tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builders import TIERS, record
from hypothesis import strategies as st

from zoo.core.flag import Flag
from zoo.core.histogram import Histogram
from zoo.core.record import Record
from zoo.core.samples import Samples


def any_records(entries: Sequence[str]) -> st.SearchStrategy[list[Record]]:
    """Return a strategy for records of these entries: sound, failed or flagged, some of the same cell and round."""
    return st.lists(
        st.builds(
            record,
            st.sampled_from(entries),
            st.sampled_from(list(TIERS)),
            st.sampled_from(["hello", "sleep"]),
            st.integers(1, 3),
            st.one_of(st.none(), st.text(min_size=1, max_size=20)),
            flags=st.lists(st.sampled_from(Flag), unique=True, max_size=3),
            p99_us=st.one_of(st.none(), st.integers(1, 10**8)),
            heap_used_kb=st.one_of(st.none(), st.just(1_024)),
            cpu_s_per_million=st.one_of(st.none(), st.just(0.0), st.floats(0.01, 1e4)),
            rps=st.one_of(st.just(0.0), st.floats(0.1, 1e6)),
            actual=st.integers(1, 25_000),
            limited_by=st.sampled_from([None, "nofile"]),
            ceiling_rps=st.sampled_from([None, 20.0]),
            known=st.booleans(),
        ),
        max_size=12,
    )


@st.composite
def any_histograms(draw: st.DrawFn) -> Histogram:
    """Draw a histogram, sometimes with no sample or only one."""
    bins = draw(st.dictionaries(st.integers(0, 60_000_000), st.integers(1, 10**6), max_size=30))
    values = sorted(bins)
    return Histogram(np.array(values, dtype=np.int64), np.array([bins[v] for v in values], dtype=np.int64))


@st.composite
def any_samples(draw: st.DrawFn) -> Samples:
    """Draw samples, sometimes of a process that ended before the first of them."""
    count = draw(st.integers(0, 30))
    rss_kb = draw(st.lists(st.integers(1, 10**8), min_size=count, max_size=count))
    none: list[int | None] = [None] * count
    return Samples(
        hz=5.0,
        elapsed_s=count / 5,
        own_cpu_s=0.0,
        vanished=draw(st.booleans()),
        t=[i / 5 for i in range(count)],
        rss_kb=rss_kb,
        cpu_s=[0.0] * count,
        threads=[1] * count,
        established=none,
        tcp_mem_kb=none,
        runnable=none,
    )
