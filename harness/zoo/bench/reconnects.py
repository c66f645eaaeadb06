"""Connections that a server closes during a load, so that the generator has to open them again."""

from __future__ import annotations

from zoo.load.base import LoadOutcome
from zoo.runtime.base import HostedServer
from zoo.stats import flags

END_S = 0.1
"""Seconds before its end in which a generator closes all its connections; what ends then is not counted."""


class ConnectionCount:
    """Counts the connections that a server accepts from now on until `stop`."""

    def __init__(self, hosted: HostedServer) -> None:
        self._hosted, self._tools = hosted, hosted.instruments
        self._before = self._tools.counters(hosted.pid)
        self._began_s = self._tools.clock()

    def stop(self) -> None:
        """Stop counting; the load must have ended just now."""
        after = self._tools.counters(self._hosted.pid)
        self._accepted = after.since(self._before).passive_opens if self._before and after else None
        self._ended_s = self._tools.clock()

    def reopened(self, load: LoadOutcome) -> int | None:
        """Return the connections beyond those of this load; None if they cannot be counted.

        In a network of its own, all accepted connections are the server's. The kernel removes most ends of closed
        connections there, so they could not be counted.
        """
        if self._accepted is None:
            return None
        extra = flags.count_reopened(self._accepted, load.connections, max(1, len(load.generators)))
        if not extra or self._tools.has_own_network():
            return extra
        now_s = self._tools.clock()
        closed = self._tools.count_closed(self._hosted.url, now_s - self._began_s, now_s - self._ended_s + END_S)
        return flags.without_other_programs(extra, closed)
