"""Tests of the wording of a comparison: "the same" only if the whole interval is within ±5%."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.report.formatting import RANGE, format_interval, format_ratio, format_spread
from zoo.report.wording import format_comparison, format_part, format_signed, format_signed_range, format_size_range
from zoo.stats.interval import Interval
from zoo.stats.metrics import CPU, METRICS, P99, REQUESTS
from zoo.stats.pair_interval import Ratio, from_error
from zoo.stats.pairs import Comparison
from zoo.stats.summary import Spread
from zoo.stats.verdict import judge


def words(ratio: Ratio, *, rejected: bool = False) -> str:
    return format_comparison(Comparison(REQUESTS, ratio, judge(REQUESTS, ratio, rejected=rejected, family=1)))


@pytest.mark.parametrize(
    ("low", "value", "high", "rejected", "text"),
    [
        (0.71, 0.80, 0.90, True, "20% slower (10–29%)"),
        (1.13, 1.24, 1.35, True, "24% faster (13–35%)"),
        (1.04, 1.99, 3.8, True, "99% faster (4–280%)"),
        (2.17, 2.83, 3.69, True, "2.8× as fast (2.2–3.7×)"),
        (1.04, 2.0, 14.3, False, "probably 2.0× as fast (1.04–14×)"),
        (0.17, 0.2, 0.24, True, "80% slower (76–83%)"),
        (0.88, 0.94, 0.99, False, "probably 6% slower (1–12%)"),
        (0.98, 1.00, 1.04, False, "the same (within 5%)"),
        (1.01, 1.02, 1.04, True, "the same (within 5%)"),
        (0.89, 1.00, 1.20, False, "no clear difference (−11 to +20%)"),
        (0.85, 1.00, 1.19, False, "no clear difference (−15 to +19%)"),
    ],
)
def test_the_first_wording_that_applies_is_used(
    low: float, value: float, high: float, rejected: bool, text: str
) -> None:
    assert words(Ratio(value, low, high, 3), rejected=rejected) == text


def test_ends_that_round_to_the_same_figure_are_given_once() -> None:
    assert format_signed_range(0.0912, 0.0934) == "−91%"
    assert format_signed_range(0.0912, 0.12) == "−91 to −88%"


def test_an_end_that_would_round_to_0_has_a_decimal_and_a_zero_has_no_sign() -> None:
    assert format_size_range(1.004, 1.09) == "0.4–9%"
    assert format_signed_range(0.9996, 1.07) == "0 to +7%"
    assert format_signed_range(0.94, 1.003) == "−6 to +0.3%"
    assert format_signed(0.997) == "−0.3%"


@given(st.floats(0.001, 5), st.floats(0.001, 5), st.booleans())
def test_no_end_of_an_interval_that_excludes_0_is_shown_as_0(near: float, width: float, below: bool) -> None:
    low, high = (1 / (1 + near + width), 1 / (1 + near)) if below else (1 + near, 1 + near + width)
    for text in (format_size_range(low, high), format_signed_range(low, high)):
        assert "0" not in re.split("–| to ", text.rstrip("%").replace("+", "").replace("−", ""))


@given(st.floats(0.001, 5), st.floats(0, 50))
def test_no_end_of_an_interval_of_factors_that_excludes_1_is_shown_as_1(near: float, width: float) -> None:
    ends = format_size_range(1 + near, 1 + near + width, factors=True).rstrip("×").split("–")
    assert all(float(end) != 1 for end in ends)


def test_an_interval_without_visible_width_is_left_out() -> None:
    assert format_interval(Interval(4.0, 4.0, 4.0, 3), unit="s") == "4 s"
    assert format_interval(Interval(0.1334, 0.1331, 0.1334, 3)) == "0.133"
    assert format_interval(Interval(1.0, 0.996, 1.0, 3), format_ratio) == "1.00"
    assert format_interval(Interval(1.0, 0.99, 1.0, 3), format_ratio) == "1.00 [0.99, 1.00]"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(1, 1, "it"), (2, 2, "both"), (4, 4, "all of them"), (1, 2, "1 of them"), (2, 4, "2 of them")],
)
def test_a_part_of_what_was_counted_has_a_pronoun(part: int, whole: int, text: str) -> None:
    assert format_part(part, whole) == text


def test_negative_figures_have_a_minus_sign_and_ranges_without_a_dash() -> None:
    text = format_spread(Spread(-4.55, -7.61, -1.48, 3))
    assert text == "−4.55 (−7.61 to −1.48)"
    assert RANGE.sub("", text) == "−4.55"
    assert format_interval(Interval(-1234.0, -1300.0, 12.0, 3)) == "−1,234 [−1,300, 12]"


def test_a_large_difference_has_the_words_of_its_quantity() -> None:
    ratio = Ratio(2.83, 2.17, 3.69, 3)
    comparisons = {
        metric: Comparison(metric, ratio, judge(metric, ratio, rejected=True, family=1)) for metric in METRICS
    }
    assert format_comparison(comparisons[P99]) == "2.8× as long (2.2–3.7×)"
    assert format_comparison(comparisons[CPU]) == "2.8× as much (2.2–3.7×)"
    assert format_comparison(comparisons[REQUESTS], "more", "fewer") == "2.8× as many (2.2–3.7×)"
    assert all("2.8× as" in format_comparison(comparison) for comparison in comparisons.values())


def test_one_round_has_only_its_ratio() -> None:
    assert words(Ratio(1.2, None, None, 1)) == "+20%"


@given(st.floats(-0.5, 0.5), st.floats(0.001, 0.2), st.booleans())
def test_only_an_interval_within_5_percent_is_called_the_same(mean: float, error: float, rejected: bool) -> None:
    ratio = from_error(mean, error, 3, 10)
    assert ratio.low
    assert ratio.high
    inside = ratio.low >= 1 / 1.05 and ratio.high <= 1.05
    assert ("the same" in words(ratio, rejected=rejected)) == inside
    assert math.isclose(ratio.value, math.exp(mean))
