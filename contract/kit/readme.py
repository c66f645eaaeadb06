"""The marked blocks of a README, as a list of steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = ("build", "start", "curl")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"\s*^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- test: (\w+) -->\n\Z")


class ReadmeError(AssertionError):
    """Wrong mark in a README."""


@dataclass(frozen=True)
class Step:
    """Marked shell block and, for curl, the expected output if the README shows it."""

    kind: str
    script: str
    output: str | None = None


def steps(text: str) -> list[Step]:
    """Return all marked blocks in order. Each mark must be directly above a `sh` block."""
    found: list[Step] = []
    for fence in FENCE.finditer(text):
        mark = MARK.search(text[: fence.start()])
        if not mark:
            continue
        kind = mark[1]
        if kind not in KINDS or fence[1] != "sh":
            raise ReadmeError(f"mark {mark[0].strip()!r} above a {fence[1]!r} block")
        promise = PROMISE.match(text, fence.end()) if kind == "curl" else None
        found.append(Step(kind, fence[2], promise[1] if promise else None))
    marks = len(re.findall(r"<!-- test:", text))
    if marks != len(found):
        raise ReadmeError(f"{marks} marks, but {len(found)} of them are directly above a shell block")
    return found
