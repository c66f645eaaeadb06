"""When a server is said to grow."""

from __future__ import annotations

import pytest

from zoo.analysis.growth import BOUNDS, LEAST_MARKS, growth, lasted
from zoo.model.run import Mark

STEADY = Mark(at_s=60, requests=100_000, errors=0, rss_kb=200_000, threads=40, descriptors=30, heap_kb=20_000)
MARKS = 12


def rising(field: str, by: float) -> list[Mark]:
    """Marks of a server in which a field has risen by so much in all."""
    first = getattr(STEADY, field)
    return [STEADY.model_copy(update={field: round(first + by * n / (MARKS - 1))}) for n in range(MARKS)]


@pytest.mark.parametrize("field", BOUNDS)
def test_what_rises_beyond_its_bound_is_growth_and_what_stays_below_is_not(field: str) -> None:
    room = BOUNDS[field].allows(getattr(STEADY, field)) - getattr(STEADY, field)
    assert lasted(rising(field, room))
    assert not lasted(rising(field, 2 * room))
    assert not growth(rising(field, 2 * room))[field].bounded


def test_a_peak_in_the_middle_is_no_growth() -> None:
    marks = [STEADY] * MARKS
    marks[MARKS // 2] = STEADY.model_copy(update={"rss_kb": 900_000})
    assert lasted(marks)


def test_what_warm_up_takes_is_no_growth() -> None:
    assert lasted([STEADY.model_copy(update={"rss_kb": 50_000, "threads": 5}), *[STEADY] * (MARKS - 1)])


def test_one_error_is_enough() -> None:
    assert not lasted([*[STEADY] * (MARKS - 1), STEADY.model_copy(update={"errors": 1})])


def test_too_few_marks_show_nothing() -> None:
    assert growth([STEADY] * (LEAST_MARKS - 1)) == {}
    assert not lasted([STEADY] * (LEAST_MARKS - 1))


def test_a_native_server_has_no_heap_to_grow() -> None:
    marks = [STEADY.model_copy(update={"heap_kb": None})] * MARKS
    assert "heap_kb" not in growth(marks)
    assert lasted(marks)
