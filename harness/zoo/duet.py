"""Alternating windows: both servers of a pair are alive at once and the load goes to and fro. Pure.

Neighbouring windows see nearly the same machine, so what drifts over minutes cancels within a block of four (A B B A or
B A A B: a linear drift cancels exactly). The idea of measuring both at once is that of Bulej et al., "Duet
benchmarking", ICPE 2020, whose form is parallel; alternating windows leave the machine to one side at a time.
Windows of one life of a process share its luck (layout, compilation, heap), so lives are what is replicated.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zoo.stats import Ratio
from zoo.stats.ratio import of_logs

Side = Literal["a", "b"]
MOST_BLOCKS = 100
BLOCK: tuple[tuple[Side, Side, Side, Side], ...] = (("a", "b", "b", "a"), ("b", "a", "a", "b"))


def schedule(blocks: int, round_number: int, seed: int) -> list[tuple[Side, Side, Side, Side]]:
    """The windows of one life of both processes, by block; a seeded coin decides which side begins each block."""
    coin = random.Random(f"{seed}/duet/{round_number}")
    return [coin.choice(BLOCK) for _ in range(blocks)]


@dataclass(frozen=True)
class Window:
    """What one window of load on one side gave."""

    side: Side
    seconds: float
    goodput: int
    cpu_s: float


@dataclass(frozen=True)
class BlockRatios:
    """Log-ratios a over b of one block; None where a side answered nothing or its CPU time was not seen."""

    throughput: float | None
    cpu_per_request: float | None


def block_ratios(windows: Sequence[Window]) -> BlockRatios:
    """One observation from the windows of a block: sums of each side are compared, not windows."""
    goodput = {s: sum(w.goodput for w in windows if w.side == s) for s in ("a", "b")}
    seconds = {s: sum(w.seconds for w in windows if w.side == s) for s in ("a", "b")}
    cpu_s = {s: sum(w.cpu_s for w in windows if w.side == s) for s in ("a", "b")}
    if min(*goodput.values(), *seconds.values()) <= 0:
        return BlockRatios(None, None)
    per_request = None
    if min(cpu_s.values()) > 0:
        per_request = math.log(cpu_s["a"] / cpu_s["b"] * goodput["b"] / goodput["a"])
    return BlockRatios(math.log(goodput["a"] / goodput["b"] * seconds["b"] / seconds["a"]), per_request)


@dataclass(frozen=True)
class Duet:
    """A pair over rounds, and where its uncertainty comes from (standard deviations of log-ratios).

    `within_sd`: of one block, between the blocks of one pair of processes; None where no round has two.
    `between_sd`: of pairs of processes among each other, with the blocks' share taken out; None below two rounds.
    """

    ratio: Ratio
    blocks: int
    within_sd: float | None
    between_sd: float | None

    def best_blocks(self, round_s: float, block_s: float) -> int | None:
        """Blocks a round that give the narrowest interval for a given time; None where the variances are not known.

        √(cost of a round / cost of a block · within² / between²), the cost of a round being all but its blocks
        (Kalibera and Jones, ISMM 2013). Capped where processes do not differ: one life is then as good as ten.
        """
        if self.within_sd is None or self.between_sd is None:
            return None
        if self.between_sd == 0:
            return MOST_BLOCKS
        return min(MOST_BLOCKS, max(1, math.ceil(math.sqrt(round_s / block_s) * self.within_sd / self.between_sd)))


def analyse(rounds: Sequence[Sequence[float]]) -> Duet:
    """The pair's ratio from the blocks' log-ratios, round by round; a round is one life of both processes.

    The interval is Student's over round means: with blocks nested in rounds the variance of the grand mean is estimated
    by that of the round means alone (Kalibera and Jones, ISMM 2013), however much or little blocks of a
    round resemble each other. Blocks taken for independent would make it too narrow. ValueError without any block.
    """
    kept = [blocks for blocks in rounds if blocks]
    if not kept:
        raise ValueError("a duet needs at least one block")
    ratio = of_logs([statistics.fmean(blocks) for blocks in kept])
    within = _pooled_variance(kept)
    between = None
    if ratio.sd_log is not None and within is not None:
        share = within * statistics.fmean(1 / len(blocks) for blocks in kept)
        between = math.sqrt(max(ratio.sd_log**2 - share, 0.0))
    return Duet(ratio, sum(map(len, kept)), None if within is None else math.sqrt(within), between)


def _pooled_variance(rounds: Sequence[Sequence[float]]) -> float | None:
    """Variance of blocks around the mean of their own round."""
    freedom = sum(len(blocks) - 1 for blocks in rounds)
    if freedom == 0:
        return None
    return sum(statistics.variance(blocks) * (len(blocks) - 1) for blocks in rounds if len(blocks) > 1) / freedom
