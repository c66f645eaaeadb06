"""What property tests draw from."""

from __future__ import annotations

from collections.abc import Sequence

from builders import TIERS, record
from hypothesis import strategies as st

from zoo.records import Flag, Record


def any_records(entries: Sequence[str]) -> st.SearchStrategy[list[Record]]:
    """Records of these entries, sound or failed, flagged or not, also of one cell and round several times."""
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
