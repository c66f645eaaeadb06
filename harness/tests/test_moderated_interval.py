"""Simulations of moderated ratios: intervals have the stated coverage and never use less than a cell's own variance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from zoo.stats import Ratio, Sample, fit_prior, holm, student_ratio
from zoo.stats.metrics import REQUESTS, Word
from zoo.stats.verdict import judge as judge_ratio

Floats = NDArray[np.float64]
TURNS, TIERS, FAMILY = 4, 3, 12
PROCESS = (0.07, 1.0, 0.75)
"""Deviation between processes relative to that of a mean of windows, by tier, as in the zoo's audited run."""


def simulated(rng: np.random.Generator, cells: int, rounds: int, truth: float) -> tuple[list[Sample], Floats]:
    """Return samples of cells with unequal variances, heavy tails and shared drift, and the sd of their windows."""

    def errors(*shape: int) -> Floats:
        return rng.standard_t(5, shape) / math.sqrt(5 / 3)

    sd = 0.10 * np.exp(rng.normal(0, 0.63, cells))
    tier = np.arange(cells) % TIERS
    process = np.array(PROCESS)[tier] * 0.05 * np.exp(rng.normal(0, 0.35, cells))
    drift = rng.normal(0, 1, (cells, rounds, TURNS))
    sides = [
        sd[:, None, None] * (math.sqrt(0.4) * drift + math.sqrt(0.6) * errors(cells, rounds, TURNS))
        + process[:, None, None] * errors(cells, rounds, 1)
        for _ in range(2)
    ]
    logs = sides[0] - sides[1] + math.log(truth)
    return [Sample(list(x.mean(1)), int(of), x.tolist()) for x, of in zip(logs, tier, strict=True)], sd


def without_turns(rng: np.random.Generator, cells: int, rounds: int, truth: float) -> tuple[list[Sample], Floats]:
    """Return the same samples for a figure without windows, such as memory."""
    samples, sd = simulated(rng, cells, rounds, truth)
    return [Sample(sample.rounds, sample.group) for sample in samples], sd


def of_databases(rng: np.random.Generator, questions: int, rounds: int, truth: float) -> tuple[list[Sample], Floats]:
    """Return samples of one executor over each of four others, with one pool size. All share that executor's noise."""
    executors = 5
    sd = 0.05 * np.exp(rng.normal(0, 0.6, (questions, 1)) + rng.normal(0, 0.3, (questions, executors)))
    figures = sd[:, :, None] * rng.standard_t(5, (questions, executors, rounds)) / math.sqrt(5 / 3)
    logs = (figures[:, :1] - figures[:, 1:] + math.log(truth)).reshape(-1, rounds)
    return [Sample(of.tolist(), 10) for of in logs], np.hypot(sd[:, :1], sd[:, 1:]).ravel()


def of_several_cells(rng: np.random.Generator, cells: int, rounds: int, truth: float) -> tuple[list[Sample], Floats]:
    """Return a single sample: the mean over cells whose rounds share their processes."""
    samples, sd = simulated(rng, cells, rounds, truth)
    shared = rng.normal(0, 0.05, rounds)
    logs = np.mean([sample.rounds for sample in samples], axis=0) + shared
    return [Sample(logs.tolist(), None)], sd[:1]


def moderated(samples: list[Sample]) -> list[Ratio]:
    prior = fit_prior(samples)
    return [prior.ratio(sample) for sample in samples]


def student(samples: list[Sample]) -> list[Ratio]:
    return [student_ratio(sample.rounds) for sample in samples]


def rates(
    judge: Callable[[list[Sample]], list[Ratio]],
    cells: int,
    rounds: int,
    truth: float,
    simulate: Callable[[np.random.Generator, int, int, float], tuple[list[Sample], Floats]] = simulated,
    runs: int = 300,
) -> dict[str, float]:
    """Return coverage, coverage of the noisiest fifth, runs with any false rejection in the family, and the share
    rejected.

    The last values are the shares of comparisons called "probably" different and "the same".
    """
    rng = np.random.default_rng(20_261_125)
    covered: list[float] = []
    noisy: list[float] = []
    false: list[bool] = []
    power: list[float] = []
    labels: list[str] = []
    for _ in range(runs):
        samples, sd = simulate(rng, cells, rounds, truth)
        found = judge(samples)
        inside = np.array([r.low <= truth <= r.high for r in found if r.low is not None and r.high is not None])
        covered.append(float(inside.mean()))
        noisy.append(float(inside[sd >= np.quantile(sd, 0.8)].mean()))
        family = [r for r in found[:FAMILY] if r.p is not None]
        rejected = [one.rejected for one in holm([r.p for r in family if r.p is not None])]
        verdicts = [judge_ratio(REQUESTS, r, rejected=x, family=FAMILY) for r, x in zip(family, rejected, strict=True)]
        labels += [verdict.label for verdict in verdicts]
        false.append(any(rejected))
        power.append(sum(rejected) / len(rejected))
    return {
        "covered": statistics.fmean(covered),
        "noisy": statistics.fmean(noisy),
        "false": statistics.fmean(false),
        "power": statistics.fmean(power),
        "probably": statistics.fmean(label.startswith("probably") for label in labels),
        "same": statistics.fmean(label == Word.SAME for label in labels),
    }


@pytest.mark.parametrize("cells", [2, 4, 33])
@pytest.mark.parametrize("rounds", [3, 5])
def test_intervals_cover_and_families_raise_few_false_alarms(cells: int, rounds: int) -> None:
    seen = rates(moderated, cells, rounds, 1.0)
    assert seen["covered"] >= 0.945
    assert seen["noisy"] >= 0.93
    assert seen["false"] <= 0.06
    assert seen["probably"] <= 0.05


@pytest.mark.parametrize("rounds", [3, 5, 8])
@pytest.mark.parametrize("truth", [0.9, 1.1])
def test_a_difference_of_ten_percent_is_rarely_called_the_same(rounds: int, truth: float) -> None:
    assert rates(moderated, 12, rounds, truth)["same"] <= 0.05


@pytest.mark.parametrize("rounds", [3, 5, 8])
@pytest.mark.parametrize(
    ("simulate", "cells"),
    [
        pytest.param(simulated, 1, id="a single pair"),
        pytest.param(without_turns, 1, id="a single pair without turns"),
        pytest.param(without_turns, 3, id="a pair at each connection count, without turns"),
        pytest.param(without_turns, 6, id="two pairs at each connection count, without turns"),
        pytest.param(of_databases, 1, id="a database with one question"),
        pytest.param(of_databases, 2, id="a database with two questions"),
        pytest.param(of_several_cells, 4, id="the mean of several cells"),
    ],
)
def test_a_prior_made_of_few_pairs_promises_no_more_than_it_knows(
    simulate: Callable[[np.random.Generator, int, int, float], tuple[list[Sample], Floats]], cells: int, rounds: int
) -> None:
    runs = 1_200
    seen = rates(moderated, cells, rounds, 1.0, simulate, runs)
    chance = math.sqrt(0.05 * 0.95 / runs)
    assert seen["covered"] >= 0.95 - 3 * chance
    assert seen["false"] <= 0.05 + 3 * chance


def test_three_rounds_find_what_student_does_not() -> None:
    assert rates(student, 33, 3, 0.85)["power"] < 0.15
    assert rates(moderated, 33, 3, 0.85)["power"] > 0.35


def test_two_rounds_of_one_pair_are_no_more_certain_than_they_may_be() -> None:
    assert rates(moderated, 1, 2, 1.0)["covered"] >= 0.945


LOGS = st.lists(st.floats(-1, 1), min_size=2, max_size=6)


@given(st.lists(LOGS, min_size=1, max_size=8), st.integers(0, 2))
def test_no_interval_is_made_of_less_than_the_cells_own_variance(cells: list[list[float]], groups: int) -> None:
    samples = [Sample(logs, index % (groups + 1)) for index, logs in enumerate(cells)]
    for sample, ratio in zip(samples, moderated(samples), strict=True):
        own = student_ratio(sample.rounds)
        assert ratio.value == pytest.approx(own.value)
        assert ratio.sd_log is not None
        assert own.sd_log is not None
        assert ratio.sd_log >= own.sd_log * (1 - 1e-9)


def test_one_round_has_no_interval_and_does_not_disturb_the_others() -> None:
    alone, pair = moderated([Sample([0.1], "100"), Sample([0.1, 0.2, 0.3], "100")])
    assert alone.value == pytest.approx(math.exp(0.1))
    assert (alone.low, alone.p) == (None, None)
    assert pair == moderated([Sample([0.1, 0.2, 0.3], "100")])[0]


def test_a_pair_that_is_alone_and_has_no_turns_gets_students_interval() -> None:
    sample = Sample([0.1, 0.2, 0.3], "100")
    for prior in (fit_prior([sample]), fit_prior([Sample([0.1, 0.3, 0.9], "1k"), Sample([0.2, 0.1, 0.5], "1k")])):
        [ours], [students] = [prior.ratio(sample)], student([sample])
        assert (ours.value, ours.low, ours.high, ours.df) == pytest.approx(
            (students.value, students.low, students.high, 2)
        )


def test_noisy_turns_widen_what_rounds_alike_by_luck_would_promise() -> None:
    calm = Sample([0.100, 0.101, 0.102], "100", [[0.1, 0.1], [0.1, 0.102], [0.101, 0.103]])
    noisy = Sample([0.100, 0.101, 0.102], "100", [[-0.2, 0.4], [-0.1, 0.302], [0.301, -0.097]])
    first, second = (moderated([one])[0] for one in (calm, noisy))
    assert first.low is not None
    assert second.low is not None
    assert second.low < first.low
