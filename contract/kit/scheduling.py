"""One worker for each entry, and for what is asked once of a server: their processes are started once.

The suite's own scheduler instead of `--dist loadgroup`, which pytest-xdist 3.8 ignores under pytest 9.2.
https://github.com/pytest-dev/pytest-xdist/issues/1386
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class ByEntry(LoadScopeScheduling):  # type: ignore[misc]
    """Tests of other things go with some entry: many of them wait, while the other worker starts a server."""

    def __init__(self, config: pytest.Config, log: Producer, entries: Sequence[str], servers: Iterable[str]) -> None:
        super().__init__(config, log)
        self._entries = entries
        self._names = sorted({*entries, *servers}, key=len, reverse=True)

    def _split_scope(self, nodeid: str) -> str:
        """The entry or server whose name opens the test's parameters."""
        parameters = nodeid.partition("[")[2]
        for name in self._names:
            if parameters.startswith((f"{name}-", f"{name}]")):
                return name
        return self._entries[crc32(nodeid.encode()) % len(self._entries)]
