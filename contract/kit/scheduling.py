"""One worker for each server: its process is started once for each entry, and its README test builds in peace.

The suite's own scheduler instead of `--dist loadgroup`, which pytest-xdist 3.8 ignores under pytest 9.2.
https://github.com/pytest-dev/pytest-xdist/issues/1386
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class ByServer(LoadScopeScheduling):  # type: ignore[misc]
    def __init__(self, config: pytest.Config, log: Producer, servers: Iterable[str]) -> None:
        super().__init__(config, log)
        self._servers = sorted(servers, key=len, reverse=True)

    def _split_scope(self, nodeid: str) -> str:
        """The server whose entry or name opens the test's parameters; other tests are free."""
        parameters = nodeid.partition("[")[2]
        for server in self._servers:
            if parameters.startswith((f"{server}:", f"{server}-", f"{server}]")):
                return server
        return nodeid
