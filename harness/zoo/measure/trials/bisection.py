"""The smallest setting that still works, such as a heap, by bisection over trials that may be unsteady. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    value: int
    worked: bool


@dataclass(frozen=True)
class Found:
    """`value` is None when even the largest did not work. All trials in the order they were made."""

    value: int | None
    trials: list[Attempt]

    @property
    def steady(self) -> bool:
        """False when a value worked that is not above every one that failed."""
        failed = [trial.value for trial in self.trials if not trial.worked]
        return not failed or all(trial.value > max(failed) for trial in self.trials if trial.worked)


def smallest(works: Callable[[int], bool], low: int, high: int, step: int = 1, confirmations: int = 2) -> Found:
    """The smallest of low, low + step, ..., at most high, at which `works` came true in every trial.

    Bisection takes for granted that what works at a value works above it. Near the limit of a heap that is not so: a
    trial may succeed by luck. So the value found has to work `confirmations` times more. If it fails once, that value
    and all below it are out, and the search goes on between it and the next larger one that has worked. A value that
    failed by bad luck is not tried again: the answer is then too large, never one that does not work.
    """
    if step < 1 or high < low:
        raise ValueError("a search needs a range and a step of at least 1")
    trials: list[Attempt] = []

    def tried(index: int) -> bool:
        value = low + index * step
        trials.append(Attempt(value, works(value)))
        return trials[-1].worked

    last = (high - low) // step
    good: list[int] = [last] if tried(last) else []  # falling: each is below those before it
    out = -1  # the largest index that failed
    while good:
        while good[-1] - out > 1:
            middle = (good[-1] + out) // 2
            if tried(middle):
                good.append(middle)
            else:
                out = middle
        if all(tried(good[-1]) for _ in range(confirmations)):
            return Found(low + good[-1] * step, trials)
        out = good.pop()
    return Found(None, trials)
