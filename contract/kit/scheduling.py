"""Scheduler that gives all tests of an entry or server to one worker, so that their processes start only once.

The suite has its own scheduler because pytest-xdist 3.8 ignores `--dist loadgroup` under pytest 9.2.
https://github.com/pytest-dev/pytest-xdist/issues/1386
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class ByEntry(LoadScopeScheduling):  # type: ignore[misc]
    """Scheduler by entry. It spreads other tests over the entries: many wait while another worker starts a server."""

    def __init__(self, config: pytest.Config, log: Producer, entries: Sequence[str], servers: Iterable[str]) -> None:
        super().__init__(config, log)
        self._entries = entries
        self._names = sorted({*entries, *servers}, key=len, reverse=True)

    def _split_scope(self, nodeid: str) -> str:
        """Return the entry or server whose name starts the test's parameters, or any entry if there is none."""
        parameters = nodeid.partition("[")[2]
        for name in self._names:
            if parameters.startswith((f"{name}-", f"{name}]")):
                return name
        return self._entries[crc32(nodeid.encode()) % len(self._entries)]
