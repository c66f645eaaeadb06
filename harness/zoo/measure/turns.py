"""Measures a cell of each warm server: of one alone, or of several alive at once, their windows in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

from zoo.measure.cell import CellFailure, CellReadings
from zoo.measure.subject import Subject
from zoo.measure.window import Bench
from zoo.model.failure import Failure
from zoo.model.measurement import Measurement
from zoo.plan import windows as timing

T = TypeVar("T")


def measure(bench: Bench, subjects: Sequence[Subject], *, last: bool) -> list[Measurement | Failure]:
    """One cell of each subject, in the order given; `last` in the life of these servers.

    A subject that fails leaves the others to go on. Raises what is no failure of a cell.
    """
    block, tier = subjects[0].block, subjects[0].tier
    cells = {s.entry_id: CellReadings(bench, s) for s in subjects}
    failures: dict[str, Failure] = {}

    def attempt(name: str, step: Callable[[CellReadings], T]) -> T | None:
        if name in failures or name not in cells:
            return None
        try:
            return step(cells[name])
        except CellFailure as error:
            failures[name] = error.failure
            return None

    for name in cells:
        attempt(name, CellReadings.prepare)
    slots = timing.slots(block, tier, bench.profile)
    sound = [cell for name, cell in cells.items() if name not in failures]
    longest_s = max((cell.duration_s for cell in sound), default=1.0)
    slots = timing.fewer(slots, block, longest_s / timing.window(block, tier, bench.profile))
    for cell in sound:
        cell.duration_s = longest_s
    for place, loaded in enumerate(slots):
        step = partial(CellReadings.load, place=place, of=len(slots))
        names = [block.entries[index] for index in loaded]
        with ThreadPoolExecutor(len(names)) if len(names) > 1 else nullcontext() as pool:
            list((pool.map if pool else map)(partial(attempt, step=step), names))
    for name in cells:
        attempt(name, CellReadings.close)
    if last:
        rest_s = block.rest(bench.profile)
        bench.clock.rest(rest_s)
        bench.reporter.tick(rest_s)
    results = {name: attempt(name, partial(CellReadings.result, rested=last)) for name in cells}
    return [result or failures[name] for name, result in results.items()]
