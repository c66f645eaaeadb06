"""Processors, and whose they are. A processor is what the kernel numbers; siblings share a physical core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from zoo.model.data import Data


class Cores(Data):
    """Processors of the server, and others of the generator and the harness, by the kernel's numbers.

    The kind of core is named where the machine has several.
    """

    server: list[int] = Field(min_length=1)
    generator: list[int] = Field(min_length=1)
    server_kind: str | None = None
    generator_kind: str | None = None

    def __str__(self) -> str:
        sides = {"server": (self.server, self.server_kind), "generator": (self.generator, self.generator_kind)}
        return ", ".join(
            f"{name} {ranges(processors)}" + (f" ({kind} cores)" if kind else "")
            for name, (processors, kind) in sides.items()
        )


@dataclass(frozen=True)
class PhysicalCore:
    """A core of the machine, with those of its processors that may be used here; kind 0 is the fastest."""

    package: int
    processors: tuple[int, ...]
    kind: int = 0


def ranges(numbers: Sequence[int]) -> str:
    """Numbers as the kernel writes them: `0-3,8`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def numbers(text: str) -> list[int]:
    """What the kernel writes as `0-3,8`; ValueError for anything else."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
