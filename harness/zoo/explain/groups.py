"""Groups of work that CPU time is spent on: the group of each stack, by the rules in `groups.toml`. Pure."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.explain.stacks import Stack

OTHER = "other"
"""The group of stacks that no rule names."""


@dataclass(frozen=True)
class WorkGroup:
    """Rule that names what a stack's CPU time is spent on, and the system calls that go with it."""

    name: str
    anywhere: re.Pattern[str]
    innermost: re.Pattern[str]
    calls: tuple[str, ...]


class Groups:
    """The rules in their order."""

    def __init__(self, text: str) -> None:
        """Parse rules. Raise `ValueError` or `KeyError` if they are malformed."""
        data = tomllib.loads(text)
        self._starts = _either(data["starts"])
        self.rules = [
            WorkGroup(
                name=rule["name"],
                anywhere=_either(rule.get("anywhere", ())),
                innermost=_either(rule.get("innermost", ())),
                calls=tuple(rule.get("calls", ())),
            )
            for rule in data["group"]
        ]
        self._known: dict[str, tuple[int | None, int | None]] = {}

    @property
    def names(self) -> list[str]:
        """The names of all groups in the order of the rules; the last one is `other`."""
        return [*(rule.name for rule in self.rules), OTHER]

    def group_of(self, stack: Stack) -> str:
        """Return the name of the stack's group."""
        found = [self._match(frame) for frame in stack]
        if (first := min((anywhere for anywhere, _ in found if anywhere is not None), default=None)) is not None:
            return self.rules[first].name
        innermost = next((inner for _, inner in reversed(found) if inner is not None), None)
        return OTHER if innermost is None else self.rules[innermost].name

    def without_start(self, stack: Stack) -> Stack:
        """Return the stack without the frames at its root that only show how its thread was started."""
        first = next((n for n, frame in enumerate(stack) if not self._starts.search(frame)), len(stack) - 1)
        return stack[first:]

    def without_starts(self, stacks: Mapping[Stack, float]) -> dict[Stack, float]:
        """Return all stacks without those frames; stacks that become equal are added."""
        found: defaultdict[Stack, float] = defaultdict(float)
        for stack, value in stacks.items():
            found[self.without_start(stack)] += value
        return dict(found)

    def sum_by_group(self, stacks: Mapping[Stack, float]) -> dict[str, float]:
        """Return the sum of each group in the order of the rules, 0 for groups without stacks."""
        sums = dict.fromkeys(self.names, 0.0)
        for stack, value in stacks.items():
            sums[self.group_of(stack)] += value
        return sums

    def _match(self, frame: str) -> tuple[int | None, int | None]:
        """Return the number of the first rule that matches this frame anywhere, and that of the first innermost one."""
        if frame not in self._known:
            # Rust names a method of a trait `<hyper::… as Trait>::method`
            name = frame.lstrip("<&")
            self._known[frame] = (
                _first([rule.anywhere for rule in self.rules], name),
                _first([rule.innermost for rule in self.rules], name),
            )
        return self._known[frame]


def _either(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches what one of these matches; without patterns, one that matches nothing."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")


def _first(patterns: Sequence[re.Pattern[str]], frame: str) -> int | None:
    return next((number for number, pattern in enumerate(patterns) if pattern.search(frame)), None)
