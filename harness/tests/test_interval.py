from __future__ import annotations

import numpy as np
import pytest

from zoo.stats.interval import Interval, difference_interval, mean_interval, median_interval


def test_a_mean_by_hand() -> None:
    # t(.975, 2) = 4.302653, s = 1
    found = mean_interval([1, 2, 3])
    half = 4.302653 / 3**0.5
    assert found.low is not None
    assert found.high is not None
    assert (found.value, found.n) == (2, 3)
    assert found.low == pytest.approx(2 - half, rel=1e-6)
    assert found.high == pytest.approx(2 + half, rel=1e-6)


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (50, 18), (100, 40)])
def test_a_median_lies_between_the_tabled_order_statistics(n: int, rank: int) -> None:
    # Le Boudec 2010, table A.1, 95%.
    values = [float(x) for x in range(1, n + 1)]
    assert median_interval(values[::-1]) == Interval((n + 1) / 2, rank, n + 1 - rank, n)


def test_too_few_values_have_no_interval() -> None:
    assert mean_interval([5]) == Interval(5, None, None, 1)
    assert median_interval([1, 2, 3, 4, 5]) == Interval(3, None, None, 5)
    for of in (mean_interval, median_interval):
        with pytest.raises(ValueError, match="needs values"):
            of([])


@pytest.mark.parametrize("n", [3, 5, 8])
def test_the_interval_of_a_mean_covers_it_in_95_of_100_samples(n: int) -> None:
    random = np.random.default_rng(n)
    found = [mean_interval(sample.tolist()) for sample in random.normal(10, 3, size=(4_000, n))]
    assert 0.93 <= coverage(found, 10) <= 0.97


@pytest.mark.parametrize("n", [6, 20, 50])
def test_the_interval_of_a_median_covers_it_at_least_so_often_whatever_the_distribution(n: int) -> None:
    random = np.random.default_rng(n)
    found = [median_interval(sample.tolist()) for sample in random.lognormal(0, 1, size=(4_000, n))]
    assert 0.94 <= coverage(found, 1) <= 0.99


def test_a_difference_of_means_has_the_interval_of_welch() -> None:
    found = difference_interval([3.0, 4.0, 5.0], [1.0, 2.0, 6.0, 3.0])
    # scipy.stats.ttest_ind(…, equal_var=False).confidence_interval()
    assert (found.value, found.n) == (1.0, 3)
    assert found.low == pytest.approx(-2.2771894)
    assert found.high == pytest.approx(4.2771894)
    assert difference_interval([1.0], [2.0, 3.0]) == Interval(-1.5, None, None, 1)
    with pytest.raises(ValueError, match="of both"):
        difference_interval([], [1.0])


def test_an_interval_of_a_difference_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    pairs = zip(random.normal(10, 3, size=(4_000, 6)), random.normal(8, 1, size=(4_000, 6)), strict=True)
    found = [difference_interval(a.tolist(), b.tolist()) for a, b in pairs]
    assert 0.93 <= coverage(found, 2) <= 0.97


def coverage(found: list[Interval], true: float) -> float:
    inside = [one for one in found if one.low is not None and one.high is not None and one.low <= true <= one.high]
    return len(inside) / len(found)
