"""Processors, and whose they are. A processor is what the kernel numbers; siblings share a physical core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from zoo.model.data import Data


class Cores(Data):
    """Processors of the server, and others of the generator and the harness, by the kernel's numbers."""

    server: list[int] = Field(min_length=1)
    generator: list[int] = Field(min_length=1)

    def __str__(self) -> str:
        return f"server {ranges(self.server)}, generator {ranges(self.generator)}"


@dataclass(frozen=True)
class PhysicalCore:
    """A core of the machine, with those of its processors that may be used here."""

    package: int
    processors: tuple[int, ...]


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
