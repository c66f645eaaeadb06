import math
from fractions import Fraction

import numpy as np
import pytest
from builders import wrk_corrected
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.histogram import Histogram, HistogramError, merge
from zoo.core.wrk_correction import undo_correction

bins = st.dictionaries(st.integers(0, 3_000), st.integers(1, 50), max_size=60)
filled = bins.filter(bool)


def histogram(counted: dict[int, int]) -> Histogram:
    return Histogram.from_pairs(sorted(counted.items()))


def samples(h: Histogram) -> list[int]:
    return np.repeat(h.values_us, h.counts).tolist()


@given(bins, st.integers(1, 4_000))
def test_uncorrect_inverts_the_correction_of_wrk_exactly(counted: dict[int, int], interval: int) -> None:
    raw = histogram(counted)
    assert undo_correction(wrk_corrected(raw, interval), interval) == raw


@given(filled, st.integers(1, 1_000))
def test_uncorrect_never_makes_up_a_histogram(counted: dict[int, int], interval: int) -> None:
    # Either wrk's correction with this interval made the histogram, or it is rejected.
    given_bins = histogram(counted)
    try:
        raw = undo_correction(given_bins, interval)
    except HistogramError:
        return
    assert wrk_corrected(raw, interval) == given_bins


@pytest.mark.parametrize("counted", [{1_000: 5}, {1_000: 5, 900: 4}, {1_000: 5, 900: 5, 800: 4}])
def test_a_negative_bin_is_refused(counted: dict[int, int]) -> None:
    with pytest.raises(HistogramError, match="negative bin"):
        undo_correction(histogram(counted), 100)


def test_the_edges_of_the_correction() -> None:
    assert undo_correction(histogram({200: 3}), 100) == histogram({200: 3})
    assert undo_correction(histogram({201: 3, 101: 3}), 100) == histogram({201: 3})
    with pytest.raises(HistogramError, match="at least 1"):
        undo_correction(histogram({200: 3}), 0)


@given(filled, st.integers(0, 64))
def test_quantiles_are_numpys(counted: dict[int, int], sixty_fourths: int) -> None:
    q = sixty_fourths / 64
    h = histogram(counted)
    assert h.quantile(q) == np.quantile(samples(h), q, method="inverted_cdf")


@given(filled, st.sampled_from([0.0, 0.07, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_quantiles_are_the_nearest_rank_of_the_decimal(counted: dict[int, int], q: float) -> None:
    h = histogram(counted)
    ordered = samples(h)
    assert h.quantile(q) == ordered[max(1, math.ceil(Fraction(str(q)) * len(ordered))) - 1]


def test_a_hundred_times_seven_percent_is_the_seventh() -> None:
    assert histogram(dict.fromkeys(range(1, 101), 1)).quantile(0.07) == 7


@given(filled)
def test_moments_are_numpys(counted: dict[int, int]) -> None:
    h = histogram(counted)
    ordered = samples(h)
    assert (h.total, h.max_us) == (len(ordered), ordered[-1])
    assert h.mean_us == pytest.approx(np.mean(ordered))


def test_without_samples() -> None:
    empty = histogram({})
    assert (empty.total, empty.mean_us, empty.max_us, empty.quantile(0.5)) == (0, 0.0, 0, None)
    assert not empty.supports(0.5)
    assert empty == merge([]) == empty.quantize() == undo_correction(empty, 5)


@pytest.mark.parametrize("q", [-0.1, 1.1])
def test_a_quantile_lies_between_0_and_1(q: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        histogram({1: 1}).quantile(q)


def test_a_quantile_needs_samples_beyond_it() -> None:
    assert histogram({5: 10_000}).supports(0.99)
    assert not histogram({5: 9_999}).supports(0.99)
    assert histogram({5: 1_000}).supports(0.99, beyond=10)


@given(st.lists(bins, max_size=5))
def test_merged_is_added_bin_by_bin(many: list[dict[int, int]]) -> None:
    merged = merge(histogram(counted) for counted in many)
    assert samples(merged) == sorted(x for counted in many for x in samples(histogram(counted)))


@given(st.dictionaries(st.integers(0, 90_000_000), st.integers(1, 9), min_size=1), st.integers(1, 5))
def test_quantized_keeps_every_sample_within_its_error(counted: dict[int, int], digits: int) -> None:
    h = histogram(counted)
    small = h.quantize(digits)
    exact, rough = np.array(samples(h)), np.array(samples(small))
    assert len(rough) == len(exact)
    assert np.all(np.abs(rough - exact) <= exact * 0.5 * 10.0**-digits)
    assert small.quantize(digits) == small


def test_quantized_is_smaller() -> None:
    wide = Histogram(np.arange(1_000_000), np.ones(1_000_000, dtype=np.int64))
    assert len(wide.quantize().values_us) < 12_000


@given(bins)
def test_pairs_go_there_and_back(counted: dict[int, int]) -> None:
    h = histogram(counted)
    assert Histogram.from_pairs(h.to_pairs()) == h
    assert h.to_pairs() == [[us, n] for us, n in sorted(counted.items())]


@pytest.mark.parametrize("pairs", [[[2, 1], [1, 1]], [[1, 1], [1, 1]], [[1, 0]], [[-1, 1]]])
def test_what_is_no_histogram_is_refused(pairs: list[list[int]]) -> None:
    with pytest.raises(HistogramError):
        Histogram.from_pairs(pairs)
