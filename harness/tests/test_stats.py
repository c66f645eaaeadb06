from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.stats import paired_ratio

POSITIVE = st.floats(1e-3, 1e6)
ROUNDS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=8)


def test_three_rounds_by_hand() -> None:
    # d = ln 2, ln 2, ln 4 = (1, 1, 2) ln 2: mean 4/3 ln 2, s = ln 2/√3, t(.975, 2) = 4.302653
    ratio = paired_ratio([2, 4, 8], [1, 2, 2])
    half = 4.302653 * (math.log(2) / math.sqrt(3)) / math.sqrt(3)
    assert ratio.value == pytest.approx(2 ** (4 / 3))
    assert ratio.low == pytest.approx(2 ** (4 / 3) / math.exp(half), rel=1e-6)
    assert ratio.high == pytest.approx(2 ** (4 / 3) * math.exp(half), rel=1e-6)
    assert ratio.rounds == 3
    assert ratio.differs is False  # 0.93 to 6.8


def test_two_rounds_at_another_confidence_by_hand() -> None:
    # t(.95, 1) = 6.313752; d = 0 and 1, so mean 1/2 and s/√n = 1/2
    ratio = paired_ratio([1, math.e], [1, 1], confidence=0.90)
    assert ratio.low == pytest.approx(math.exp(0.5 - 6.313752 / 2), rel=1e-6)
    assert ratio.high == pytest.approx(math.exp(0.5 + 6.313752 / 2), rel=1e-6)


def test_one_round_has_a_ratio_and_no_interval() -> None:
    ratio = paired_ratio([3], [2])
    assert ratio.value == pytest.approx(1.5)
    assert (ratio.low, ratio.high, ratio.differs) == (None, None, None)


@pytest.mark.parametrize(("a", "differs"), [([2, 2.02, 1.98], True), ([0.5, 0.51, 0.49], True), ([0.9, 1, 1.2], False)])
def test_a_difference_is_an_interval_that_leaves_out_one(a: list[float], differs: bool) -> None:
    assert paired_ratio(a, [1, 1, 1]).differs is differs


@pytest.mark.parametrize(("a", "b"), [([], []), ([1], [1, 2]), ([0], [1]), ([1, 2], [1, -2])])
def test_what_has_no_ratio_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="a ratio needs"):
        paired_ratio(a, b)


@given(ROUNDS)
def test_the_inverse_gives_the_inverse_interval(rounds: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in rounds], [y for _, y in rounds]
    there, back = paired_ratio(a, b), paired_ratio(b, a)
    assert there.low is not None
    assert there.high is not None
    assert back.low is not None
    assert back.high is not None
    assert math.log(there.value) == pytest.approx(-math.log(back.value), abs=1e-9)
    # by reciprocals, for a wide interval can reach 0 or infinity
    assert there.low == pytest.approx(1 / back.high if back.high else math.inf, rel=1e-6, abs=1e-300)
    assert there.high == pytest.approx(1 / back.low if back.low else math.inf, rel=1e-6)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_the_interval_covers_the_true_ratio_in_95_of_100_runs(n: int) -> None:
    random = np.random.default_rng(20260102 + n)
    runs, true = 4_000, 1.3
    base = random.lognormal(10, 0.3, size=(runs, n))  # what both share in a round: the machine's mood
    noise_a, noise_b = random.lognormal(0, 0.05, size=(2, runs, n))
    covered = 0
    for a, b in zip(base * true * noise_a, base * noise_b, strict=True):
        ratio = paired_ratio(a.tolist(), b.tolist())
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= true <= ratio.high
    assert 0.93 <= covered / runs <= 0.97
