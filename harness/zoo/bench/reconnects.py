"""Connections that a server closes during a load, so that the generator has to open them again."""

from __future__ import annotations

from zoo.runtime.base import HostedServer
from zoo.stats import flags


class ConnectionCount:
    """Counts the connections that a server accepts from now on."""

    def __init__(self, hosted: HostedServer) -> None:
        self._hosted, self._tools = hosted, hosted.instruments
        self._before = self._tools.counters(hosted.pid)
        self._start_s = self._tools.clock()

    def reopened(self, connections: int) -> int | None:
        """Return those beyond the connections of one load; None if they cannot be counted."""
        after = self._tools.counters(self._hosted.pid)
        accepted = after.since(self._before).passive_opens if self._before and after else None
        closed = self._tools.count_closed(self._hosted.url, self._tools.clock() - self._start_s)
        return flags.count_reopened(accepted, closed, connections)
