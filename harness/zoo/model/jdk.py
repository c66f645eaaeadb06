"""A JDK, and how versions of Java compare."""

import re
from dataclasses import dataclass
from pathlib import Path

MINIMUM = 21


@dataclass(frozen=True)
class Jdk:
    home: Path
    java: Path
    version: str
    major: int
    vendor: str

    @property
    def label(self) -> str:
        return f"Java {self.version} in {self.home}"


def major_of(version: str) -> int:
    """The feature release: 25 of `25.0.1+8`, 8 of `1.8.0_402`."""
    numbers = version_key(version)
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def version_key(version: str) -> tuple[int, ...]:
    """Numbers in order, the build left out, so that versions compare."""
    return tuple(int(number) for number in re.findall(r"[0-9]+", version.partition("+")[0])) or (0,)
