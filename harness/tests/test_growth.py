"""Tests of when a server is reported as growing."""

from __future__ import annotations

import pytest

from zoo.core.run import SoakSample
from zoo.stats.growth import BOUNDS, MIN_SAMPLES, is_stable, measure_growth

STEADY = SoakSample(at_s=60, requests=100_000, errors=0, rss_kb=200_000, threads=40, descriptors=30, heap_kb=20_000)
MARKS = 12


def rising(field: str, by: float) -> list[SoakSample]:
    """Return marks of a server in which a field has risen by `by` in total."""
    first = getattr(STEADY, field)
    return [STEADY.model_copy(update={field: round(first + by * n / (MARKS - 1))}) for n in range(MARKS)]


@pytest.mark.parametrize("field", BOUNDS)
def test_what_rises_beyond_its_bound_is_growth_and_what_stays_below_is_not(field: str) -> None:
    room = BOUNDS[field].limit(getattr(STEADY, field)) - getattr(STEADY, field)
    assert is_stable(rising(field, room))
    assert not is_stable(rising(field, 2 * room))
    assert not measure_growth(rising(field, 2 * room))[field].bounded


def test_a_peak_in_the_middle_is_no_growth() -> None:
    marks = [STEADY] * MARKS
    marks[MARKS // 2] = STEADY.model_copy(update={"rss_kb": 900_000})
    assert is_stable(marks)


def test_what_warm_up_takes_is_no_growth() -> None:
    assert is_stable([STEADY.model_copy(update={"rss_kb": 50_000, "threads": 5}), *[STEADY] * (MARKS - 1)])


def test_one_error_is_enough() -> None:
    assert not is_stable([*[STEADY] * (MARKS - 1), STEADY.model_copy(update={"errors": 1})])


def test_too_few_marks_show_nothing() -> None:
    assert measure_growth([STEADY] * (MIN_SAMPLES - 1)) == {}
    assert not is_stable([STEADY] * (MIN_SAMPLES - 1))


def test_a_native_server_has_no_heap_to_grow() -> None:
    marks = [STEADY.model_copy(update={"heap_kb": None})] * MARKS
    assert "heap_kb" not in measure_growth(marks)
    assert is_stable(marks)
