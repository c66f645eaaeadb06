"""Counts of a traced server, parsed from the tools' output. Pure."""

from __future__ import annotations

import re

SUMMARY_LINE = re.compile(
    r"^ *[0-9.]+ +[0-9.]+ +[0-9]+ +(?P<calls>[0-9]+)(?: +[0-9]+)? +(?P<name>[a-z_0-9]+)$", re.MULTILINE
)


def parse_strace_summary(text: str) -> dict[str, int]:
    """Return the number of calls by system call, from what `strace -c` prints."""
    return {found["name"]: int(found["calls"]) for found in SUMMARY_LINE.finditer(text) if found["name"] != "total"}
