"""Connections that a server closes during a load, so that the generator has to open them again."""

from __future__ import annotations

from zoo.load.base import LoadOutcome
from zoo.runtime.base import HostedServer
from zoo.stats import flags


class ConnectionCount:
    """Counts the connections that a server accepts from now on until `stop`."""

    def __init__(self, hosted: HostedServer) -> None:
        self._hosted, self._tools = hosted, hosted.instruments
        self._before = self._tools.counters(hosted.pid)
        self._began_s = self._tools.clock()

    def stop(self) -> None:
        self._ended_s = self._tools.clock()
        after = self._tools.counters(self._hosted.pid)
        self._accepted = after.since(self._before).passive_opens if self._before and after else None

    def reopened(self, load: LoadOutcome) -> int | None:
        """Return the connections beyond those of this load; None if they cannot be counted.

        In a network of its own, all accepted connections are the server's. The kernel removes most ends of closed
        connections there, so they could not be counted.
        """
        if self._accepted is None:
            return None
        generators = max(1, len(load.generators))
        extra = flags.count_reopened(self._accepted, load.connections, generators)
        if not extra or self._tools.has_own_network():
            return extra
        return flags.without_other_programs(extra, self._closed(load), generators)

    def _closed(self, load: LoadOutcome) -> int | None:
        """Return how many connections ended during the load; None if they cannot be counted.

        Those that the generator closes after its load do not belong to it. The load begins later than the count, on a
        busy machine by seconds. So count until the load's duration is over, and until the end without one closing for
        each connection. Either may miss some, so the larger number is right.
        """
        now_s = self._tools.clock()
        oldest_s = now_s - self._began_s
        early = self._tools.count_closed(self._hosted.url, oldest_s, oldest_s - load.runtime_s)
        until_end = self._tools.count_closed(self._hosted.url, oldest_s, now_s - self._ended_s)
        return None if early is None or until_end is None else max(early, until_end - load.connections)
