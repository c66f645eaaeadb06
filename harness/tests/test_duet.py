"""Alternating windows: their order, their figures, and what they are worth on a machine that drifts (simulated)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from zoo.duet import MOST_BLOCKS, Duet, Window, analyse, block_ratios, schedule
from zoo.stats import Ratio, paired_ratio

Floats = NDArray[np.float64]
RUNS = 1_000
TRUE = math.log(1.05)

# --- the order of windows


def test_a_block_is_a_b_b_a_or_its_mirror_and_the_seed_decides() -> None:
    made = schedule(400, 1, seed=7)
    first = Counter("".join(block) for block in made)
    assert set(first) == {"abba", "baab"}
    assert 150 < first["abba"] < 250
    assert schedule(400, 1, seed=7) == made
    assert schedule(400, 2, seed=7) != made
    assert schedule(400, 1, seed=8) != made


# --- one block


def window(side: str, goodput: int, seconds: float = 2.0, cpu_s: float = 1.0) -> Window:
    assert side in ("a", "b")
    return Window("a" if side == "a" else "b", seconds, goodput, cpu_s)


def test_sums_of_a_block_are_compared() -> None:
    found = block_ratios([window("a", 300), window("b", 100, cpu_s=0.5), window("b", 100, cpu_s=0.5), window("a", 100)])
    assert found.throughput == pytest.approx(math.log(2))
    assert found.cpu_per_request == pytest.approx(math.log((2 / 400) / (1 / 200)))


def test_a_longer_window_is_no_advantage() -> None:
    found = block_ratios([window("a", 300, 3.0), window("b", 200, 2.0), window("b", 200, 2.0), window("a", 300, 3.0)])
    assert found.throughput == pytest.approx(0)


def test_a_linear_drift_cancels_exactly() -> None:
    rates = [100, 110, 120, 130]
    for order in ("abba", "baab"):
        found = block_ratios([window(side, rate) for side, rate in zip(order, rates, strict=True)])
        assert found.throughput == pytest.approx(0)


def test_what_was_not_seen_has_no_ratio() -> None:
    silent = block_ratios([window("a", 0), window("b", 10), window("b", 10), window("a", 0)])
    assert (silent.throughput, silent.cpu_per_request) == (None, None)
    idle = block_ratios([window("a", 9, cpu_s=0), window("b", 9), window("b", 9), window("a", 9, cpu_s=0)])
    assert idle.throughput == 0
    assert idle.cpu_per_request is None
    assert block_ratios([window("a", 9), window("a", 9)]).throughput is None


# --- a pair by hand


def test_rounds_are_what_is_replicated() -> None:
    duet = analyse([[0.1, 0.3], [0.2, 0.4], [0.3, 0.5]])
    assert duet.ratio.value == pytest.approx(math.exp(0.3))
    assert duet.ratio.sd_log == pytest.approx(0.1)
    assert (duet.ratio.rounds, duet.blocks) == (3, 6)
    assert duet.within_sd == pytest.approx(math.sqrt(0.02))
    assert duet.between_sd == pytest.approx(0, abs=1e-6)  # 0.1² less 0.02/2: the blocks explain all of it


def test_a_life_without_blocks_is_left_out_and_one_life_has_no_interval() -> None:
    duet = analyse([[], [0.1, 0.2]])
    assert (duet.ratio.rounds, duet.ratio.low, duet.between_sd) == (1, None, None)
    assert analyse([[0.1], [0.2]]).within_sd is None
    with pytest.raises(ValueError, match="at least one block"):
        analyse([[], []])


@pytest.mark.parametrize(
    ("within", "between", "blocks"),
    [(0.05, 0.02, 8), (0.01, 0.05, 1), (0.04, 0.0, MOST_BLOCKS), (None, 0.1, None), (0.1, None, None)],
)
def test_the_blocks_that_are_worth_their_time(within: float | None, between: float | None, blocks: int | None) -> None:
    # √(72 s / 8 s) · .05/.02 = 7.5
    assert Duet(Ratio(1, None, None, 1), 1, within, between).best_blocks(72, 8) == blocks


# --- on a machine that drifts

STEP_S = 2.0
BLOCKS = 7
WINDOWS = 4 * BLOCKS
APART = 35  # steps between the loads of two processes measured one after the other: start and warm-up
WANDER = 0.01  # of speed, a step
PROCESS = 0.01  # one life to the next, each side
NOISE = 0.03  # one window to the next


def speed(random: np.random.Generator, shape: tuple[int, ...], steps: int, slope: float) -> Floats:
    """The machine's log speed over the steps of each round: it drifts and wanders, for whoever runs."""
    wander: Floats = np.cumsum(random.normal(0, WANDER, size=(*shape, steps)), axis=-1)
    wander += slope * np.arange(steps)
    return wander


def whole_rounds(random: np.random.Generator, n: int, slope: float = 0.0) -> list[Ratio]:
    """Each side 14 windows on end, the second when the first has been replaced; the order is reversed every round."""
    half = WINDOWS // 2
    w = speed(random, (RUNS, n), 2 * half + APART, slope) + random.normal(0, NOISE, (RUNS, n, 2 * half + APART))
    early, late = np.exp(w[..., :half]).mean(axis=-1), np.exp(w[..., -half:]).mean(axis=-1)
    turned = np.arange(n) % 2 == 1
    lives = random.normal(0, PROCESS, size=(2, RUNS, n))
    a = np.where(turned, late, early) * np.exp(TRUE + lives[0])
    b = np.where(turned, early, late) * np.exp(lives[1])
    return [paired_ratio(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def block_logs(random: np.random.Generator, n: int, process: float = PROCESS, slope: float = 0.0) -> Floats:
    """Log-ratios by run, round and block, for as much load in all as `whole_rounds` takes."""
    is_a = np.array([side == "a" for block in schedule(BLOCKS, 1, seed=n) for side in block])
    w = speed(random, (RUNS, n), WINDOWS, slope) + random.normal(0, NOISE, (RUNS, n, WINDOWS))
    lives = TRUE + math.sqrt(2) * random.normal(0, process, size=(RUNS, n, 1))
    rates = np.exp(w + np.where(is_a, lives, 0)).reshape(RUNS, n, BLOCKS, 4)
    side = is_a.reshape(BLOCKS, 4)
    logs: Floats = np.log((rates * side).sum(axis=-1) / (rates * ~side).sum(axis=-1))
    return logs


def duets(random: np.random.Generator, n: int, process: float = PROCESS, slope: float = 0.0) -> list[Ratio]:
    return [analyse(run).ratio for run in block_logs(random, n, process, slope).tolist()]


def coverage(ratios: list[Ratio]) -> float:
    return sum(r.low <= math.exp(TRUE) <= r.high for r in ratios if r.low and r.high) / len(ratios)


def half_width(ratios: list[Ratio]) -> float:
    return float(np.median([math.log(r.high / r.low) / 2 for r in ratios if r.low and r.high]))


@pytest.mark.parametrize("slope", [0.0, 0.004])
@pytest.mark.parametrize("n", [3, 5, 8])
def test_a_duet_keeps_its_coverage_and_is_less_than_half_as_wide_as_whole_rounds(n: int, slope: float) -> None:
    random = np.random.default_rng(20260201 + n)
    alternating, whole = duets(random, n, slope=slope), whole_rounds(random, n, slope)
    assert 0.93 <= coverage(alternating) <= 0.97
    assert half_width(alternating) < 0.5 * half_width(whole)


@pytest.mark.parametrize("n", [3, 8])
def test_blocks_of_one_life_are_no_replication(n: int) -> None:
    random = np.random.default_rng(20260202 + n)
    logs = block_logs(random, n, process=0.03)
    pooled = [paired_ratio(np.exp(run).ravel().tolist(), [1.0] * (n * BLOCKS)) for run in logs]
    assert coverage(pooled) < 0.80
    assert 0.93 <= coverage([analyse(run).ratio for run in logs.tolist()]) <= 0.97


def test_the_two_sources_of_uncertainty_are_told_apart() -> None:
    random = np.random.default_rng(20260203)
    seen = [analyse(run) for run in block_logs(random, 8, process=0.02)[:300].tolist()]
    between = math.sqrt(np.mean([(d.between_sd or 0) ** 2 for d in seen]))
    assert between == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    # four windows, two a side: noise of 3 % each gives 3 %, and wandering within a block a little more
    within = math.sqrt(np.mean([(d.within_sd or 0) ** 2 for d in seen]))
    assert 0.03 < within < 0.04
