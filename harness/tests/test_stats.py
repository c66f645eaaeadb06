"""Formulas by hand, and their coverage by simulation. Seeds are fixed; rates come from thousands of simulated runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.stats import Ratio, find_outlier, holm, rounds_for, sd_upper_bound, student_ratio, unpaired_ratio
from zoo.stats.pair_interval import stdev, variance

POSITIVE = st.floats(1e-3, 1e6)
ROUNDS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=8)
HUNDREDTHS = st.integers(100, 200).map(lambda i: i / 100)
RUNS = 3_000
Estimate = Callable[[list[float], list[float]], Ratio]


def coverage(ratios: Iterable[Ratio], true: float) -> float:
    """Return the share of intervals that contain the true ratio."""
    held = [r.low <= true <= r.high for r in ratios if r.low is not None and r.high is not None]
    return sum(held) / len(held)


def nominal(share: float) -> bool:
    return 0.93 <= share <= 0.97


def paired(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Return the ratio of a to b, paired by round."""
    return student_ratio([math.log(x / y) for x, y in zip(a, b, strict=True)])


# --- spread


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_the_spread_is_that_of_the_standard_library(values: list[float]) -> None:
    assert variance(values) == pytest.approx(statistics.variance(values), rel=1e-9, abs=1e-9)
    assert stdev(values) == math.sqrt(variance(values))


@given(st.floats(-1e9, 1e9), st.integers(2, 8))
def test_equal_values_have_no_spread_at_all(value: float, n: int) -> None:
    assert variance([value] * n) == 0


# --- paired


def test_three_rounds_by_hand() -> None:
    # d = ln 2, ln 2, ln 4 = (1, 1, 2) ln 2: mean 4/3 ln 2, s = ln 2/√3, t(.975, 2) = 4.302653
    ratio = paired([2, 4, 8], [1, 2, 2])
    half = 4.302653 * (math.log(2) / math.sqrt(3)) / math.sqrt(3)
    assert ratio.value == pytest.approx(2 ** (4 / 3))
    assert ratio.low == pytest.approx(2 ** (4 / 3) / math.exp(half), rel=1e-6)
    assert ratio.high == pytest.approx(2 ** (4 / 3) * math.exp(half), rel=1e-6)
    assert ratio.rounds == 3
    assert ratio.sd_log == pytest.approx(math.log(2) / math.sqrt(3))
    assert ratio.differs is False  # 0.93 to 6.8
    # t = 4/3 ln 2 / (ln 2/3) = 4 with 2 degrees of freedom: p = 1 - 4/√(2 + 16)
    assert ratio.p == pytest.approx(1 - 4 / math.sqrt(18))


def test_two_rounds_by_hand() -> None:
    # t(.975, 1) = 12.706205; d = 0 and 1, so mean 1/2 and s/√n = 1/2
    ratio = paired([1, math.e], [1, 1])
    assert ratio.low == pytest.approx(math.exp(0.5 - 12.706205 / 2), rel=1e-6)
    assert ratio.high == pytest.approx(math.exp(0.5 + 12.706205 / 2), rel=1e-6)
    assert ratio.p == pytest.approx(0.5)  # t = 1 with 1 degree of freedom


def test_one_round_has_a_ratio_and_no_interval() -> None:
    ratio = paired([3], [2])
    assert ratio.value == pytest.approx(1.5)
    assert (ratio.low, ratio.high, ratio.differs, ratio.p, ratio.sd_log) == (None, None, None, None, None)


@pytest.mark.parametrize(("a", "differs"), [([2, 2.02, 1.98], True), ([0.5, 0.51, 0.49], True), ([0.9, 1, 1.2], False)])
def test_a_difference_is_an_interval_that_leaves_out_one(a: list[float], differs: bool) -> None:
    assert paired(a, [1, 1, 1]).differs is differs


@pytest.mark.parametrize(("a", "p"), [([1, 1, 1], 1.0), ([2, 2, 2], 0.0)])
def test_rounds_that_all_agree_are_certain(a: list[float], p: float) -> None:
    assert paired(a, [1, 1, 1]).p == p


@given(ROUNDS)
def test_the_inverse_gives_the_inverse_interval(rounds: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in rounds], [y for _, y in rounds]
    there, back = paired(a, b), paired(b, a)
    assert there.low is not None
    assert there.high is not None
    assert back.low is not None
    assert back.high is not None
    assert math.log(there.value) == pytest.approx(-math.log(back.value), abs=1e-9)
    # by reciprocals, because a wide interval can reach 0 or infinity
    assert there.low == pytest.approx(1 / back.high if back.high else math.inf, rel=1e-6, abs=1e-300)
    assert there.high == pytest.approx(1 / back.low if back.low else math.inf, rel=1e-6)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_the_paired_interval_covers_the_true_ratio_in_95_of_100_runs(n: int) -> None:
    random = np.random.default_rng(20260102 + n)
    true = 1.3
    base = random.lognormal(10, 0.3, size=(RUNS, n))  # what both share in a round: the state of the machine
    noise_a, noise_b = random.lognormal(0, 0.05, size=(2, RUNS, n))
    pairs = zip((base * true * noise_a).tolist(), (base * noise_b).tolist(), strict=True)
    assert nominal(coverage((paired(a, b) for a, b in pairs), true))


# --- two runs


def test_two_runs_by_hand() -> None:
    # means 12 and 6; s²/n: 4/3 and 1/3, at θ = 2 both 4/3: (8/3)² / ((4/3)²/2 + (4/3)²/2) = 4 degrees of freedom
    ratio = unpaired_ratio([10, 12, 14], [5, 6, 7])
    t = 2.776445
    g = t**2 / 3 / 36
    half = t / 6 * math.sqrt(4 / 3 * (1 - g) + 4 / 3)
    assert ratio.value == pytest.approx(2)
    assert ratio.low == pytest.approx((2 - half) / (1 - g), rel=1e-6)
    assert ratio.high == pytest.approx((2 + half) / (1 - g), rel=1e-6)
    assert ratio.rounds == 3
    # The bounds are where |12 - 6θ| = t·√(4/3 + θ²/3), which defines them.
    for bound in (ratio.low, ratio.high):
        assert bound is not None
        assert abs(12 - 6 * bound) == pytest.approx(t * math.sqrt(4 / 3 + bound**2 / 3), rel=1e-6)


def test_runs_may_have_different_numbers_of_rounds() -> None:
    assert unpaired_ratio([10, 11, 12, 10], [5, 6]).rounds == 2


@pytest.mark.parametrize(("a", "b"), [([10], [5, 6, 5]), ([10, 11], [5])])
def test_a_run_of_one_round_has_no_interval(a: list[float], b: list[float]) -> None:
    ratio = unpaired_ratio(a, b)
    assert ratio.value > 1
    assert (ratio.low, ratio.high, ratio.differs, ratio.p) == (None, None, None, None)


def test_a_denominator_that_may_be_nothing_bounds_no_ratio() -> None:
    ratio = unpaired_ratio([10, 11, 12], [1, 10, 100])
    assert (ratio.low, ratio.high, ratio.differs) == (None, None, None)


def test_a_numerator_that_may_be_nothing_is_cut_off_at_zero() -> None:
    ratio = unpaired_ratio([1, 10, 100], [10, 11, 12])
    assert ratio.low == 0
    assert ratio.high is not None
    assert ratio.high > ratio.value


@pytest.mark.parametrize(("a", "b"), [([], [1]), ([1], []), ([0, 1], [1, 1]), ([1, 1], [1, -1])])
def test_two_runs_without_a_ratio_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="a ratio needs"):
        unpaired_ratio(a, b)


@given(st.lists(HUNDREDTHS, min_size=2, max_size=6), st.lists(HUNDREDTHS, min_size=2, max_size=6))
def test_the_interval_of_two_runs_leaves_out_one_just_where_p_is_below_5_percent(
    a: list[float], b: list[float]
) -> None:
    ratio = unpaired_ratio(a, b)
    assert ratio.p is not None
    if ratio.low is not None and abs(ratio.p - 0.05) > 1e-6:
        assert ratio.differs is (ratio.p < 0.05)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 5), (8, 8), (3, 8), (8, 3)])
@pytest.mark.parametrize("spread", [(0.05, 0.05), (0.03, 0.10)])
def test_the_interval_of_two_runs_covers_the_true_ratio_in_95_of_100(
    n: int, m: int, spread: tuple[float, float]
) -> None:
    random = np.random.default_rng(20260103 + 10 * n + m)
    a = 1.3 * random.normal(1, spread[0], size=(RUNS, n))
    b = random.normal(1, spread[1], size=(RUNS, m))
    ratios = (unpaired_ratio(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert nominal(coverage(ratios, 1.3))


# --- families


def test_holm_by_hand() -> None:
    # sorted .005 ·4, .01 ·3, .03 ·2, .04 ·1: .02, .03, .06, then at least .06
    found = holm([0.01, 0.04, 0.03, 0.005])
    assert [a.p for a in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [a.rejected for a in found] == [True, False, False, True]


def test_a_family_of_one_is_not_corrected_and_none_is_none() -> None:
    assert [(a.p, a.rejected) for a in holm([0.04])] == [(0.04, True)]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_rejects_more_than_single_tests_nor_less_than_bonferroni(ps: list[float]) -> None:
    for p, adjusted in zip(ps, holm(ps), strict=True):
        assert p <= adjusted.p <= min(1, len(ps) * max(ps))
        assert not adjusted.rejected or p <= 0.05
        assert adjusted.rejected or len(ps) * p > 0.05


@pytest.mark.parametrize("n", [3, 8])
def test_a_family_without_any_difference_is_left_alone_in_95_of_100_runs(n: int) -> None:
    random = np.random.default_rng(20260104 + n)
    family, runs = 12, 400
    noise = random.lognormal(0, 0.05, size=(runs, family, 2, n)).tolist()
    alone = errors = 0
    for run in noise:
        ps = [paired(a, b).p for a, b in run]
        known = [p for p in ps if p is not None]
        alone += min(known) < 0.05
        errors += any(a.rejected for a in holm(known))
    assert alone / runs > 0.3  # without the correction
    assert errors / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_true_differences_do_not_raise_the_rate_of_false_ones() -> None:
    random = np.random.default_rng(20260105)
    runs = 4_000
    false = random.uniform(0, 1, size=(runs, 6))
    shared = false.copy()
    shared[:, 1:] = shared[:, :1]  # completely dependent
    for nulls in (false, shared):
        errors = sum(any(a.rejected for a in holm([0.0, 1e-9, 1e-6, *run])[3:]) for run in nulls.tolist())
        assert errors / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


# --- precision


@pytest.mark.parametrize(("sd", "width", "rounds"), [(0.02, 0.03, 5), (0.08, 0.03, 31), (0.0, 0.03, 2)])
def test_rounds_for_a_precision_by_tables_of_t(sd: float, width: float, rounds: int) -> None:
    # ln 1.03 = .02956; t(.975, 3) · .02/√4 = .0318, t(.975, 4) · .02/√5 = .0248
    # t(.975, 29) · .08/√30 = .0299, t(.975, 30) · .08/√31 = .0293
    assert rounds_for(sd, width) == rounds


@given(st.floats(0.001, 0.3), st.floats(0.005, 0.3))
def test_the_rounds_planned_are_the_least_that_do(sd: float, width: float) -> None:
    def half(n: int) -> float:
        logs = np.linspace(-1, 1, n)
        ratio = student_ratio((logs * sd / logs.std(ddof=1)).tolist())
        assert ratio.high is not None
        return ratio.high / ratio.value - 1

    n = rounds_for(sd, width)
    if n < 3_000:
        assert half(n) <= width * (1 + 1e-6)
        assert n == 2 or half(n - 1) > width * (1 - 1e-6)


@pytest.mark.parametrize(("sd", "width"), [(-0.1, 0.03), (0.1, 0.0)])
def test_a_precision_that_cannot_be_is_refused(sd: float, width: float) -> None:
    with pytest.raises(ValueError, match="a precision needs"):
        rounds_for(sd, width)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_a_pilot_bounds_the_true_deviation_in_80_of_100_cases(n: int) -> None:
    random = np.random.default_rng(20260106 + n)
    sds = random.normal(0, 0.05, size=(20_000, n)).std(axis=1, ddof=1)
    factor = sd_upper_bound(1.0, n)
    assert np.mean(sds * factor >= 0.05) == pytest.approx(0.80, abs=0.01)


def test_one_round_tells_nothing_about_its_deviation() -> None:
    with pytest.raises(ValueError, match="two observations"):
        sd_upper_bound(0.1, 1)


# --- outliers


def test_a_round_that_stands_apart_is_found_whatever_the_unit() -> None:
    rounds = [100.0, 101.0, 99.0, 100.5, 60.0, 99.5, 100.2]
    assert find_outlier(rounds) == 4
    assert find_outlier([r * 1e6 for r in rounds]) == 4
    assert find_outlier([1 / r for r in rounds]) == 4


@pytest.mark.parametrize("values", [[], [1.0, 1.0, 1.0, 9.0], [5.0] * 6, [0.0, 1.0, 1.0, 1.0, 1.0]])
def test_too_few_rounds_equal_ones_and_zeros_have_no_outlier(values: list[float]) -> None:
    assert find_outlier(values) is None


@pytest.mark.parametrize("n", [5, 8, 20])
def test_one_in_a_hundred_sound_sets_is_flagged(n: int) -> None:
    random = np.random.default_rng(20260107 + n)
    sets = random.lognormal(10, 0.05, size=(10_000, n)).tolist()
    assert sum(find_outlier(s) is not None for s in sets) / len(sets) == pytest.approx(0.01, abs=0.004)


def test_a_fixed_limit_on_robust_scores_flags_far_more_sets_of_five() -> None:
    logs = np.random.default_rng(20260108).normal(0, 1, size=(10_000, 5))
    centred = np.abs(logs - np.median(logs, axis=1, keepdims=True))
    scores = 0.6745 * centred / np.median(centred, axis=1, keepdims=True)
    assert np.mean(scores.max(axis=1) > 3.5) > 0.10
