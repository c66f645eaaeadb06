from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.trial_results import HeapTrial
from zoo.scenarios.heap import Search, bisect_smallest


def unless(works: Callable[[int], bool]) -> Callable[[int], str]:
    return lambda mb: "" if works(mb) else "too small"


@given(st.integers(1, 500), st.integers(0, 500), st.integers(1, 50), st.integers(0, 3), st.integers(0, 600))
def test_the_smallest_of_a_steady_setting(low: int, span: int, step: int, confirmations: int, limit: int) -> None:
    found = bisect_smallest(unless(lambda mb: mb >= limit), low, low + span, step, confirmations)
    values = range(low, low + span + 1, step)
    assert found.mb == next((value for value in values if value >= limit), None)
    assert found.steady
    assert len(found.trials) <= len(values).bit_length() + 1 + confirmations


@given(st.data())
def test_what_is_found_worked_every_time_it_was_tried(data: st.DataObject) -> None:
    # Whatever the trials return, the search ends after few trials per value, with a value that never failed.
    found = bisect_smallest(unless(lambda _: data.draw(st.booleans())), 10, 40)
    told = {value: [t.worked for t in found.trials if t.mb == value] for value in range(10, 41)}
    assert all(len(trials) <= 3 for trials in told.values())
    if found.mb is not None:
        assert told[found.mb] == [True] * 3


def test_a_lucky_trial_is_found_out() -> None:
    # 52 always works; 48 worked only the first time.
    seen: list[int] = []

    def works(value: int) -> bool:
        seen.append(value)
        return value >= 52 or (value == 48 and seen.count(48) == 1)

    found = bisect_smallest(unless(works), 32, 64, step=4)
    assert found.mb == 52
    assert not found.steady
    assert HeapTrial(mb=48, worked=True) in found.trials
    assert HeapTrial(mb=48, worked=False, why="too small") in found.trials


def test_nothing_works() -> None:
    assert bisect_smallest(lambda _: "too small", 16, 64, 16) == Search(
        None, [HeapTrial(mb=64, worked=False, why="too small")]
    )


@pytest.mark.parametrize(("low", "high", "step"), [(2, 1, 1), (1, 2, 0)])
def test_a_search_without_a_range_is_refused(low: int, high: int, step: int) -> None:
    with pytest.raises(ValueError, match="a range"):
        bisect_smallest(lambda _: "", low, high, step)
