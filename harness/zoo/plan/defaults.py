"""The defaults of a run: its times, rounds and connection counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

FEW = 200
"""Connections."""

TIERS = ("100", "1k", "25k")
"""Of scenarios without connection counts of their own."""


@dataclass(frozen=True)
class Profile:
    """The times of a run, in seconds, and how often it is repeated.

    `cycles`: how often, at most, each of several servers alive at once has its two turns in a tier; a turn takes a
    second or more. With up to `FEW` connections the load lasts `few_times` as long, in more turns. The numbers of turns
    were compared with the formula of Kalibera and Jones (ISMM 2013) by the committed run `bench-all` of 25 November
    2026: docs/method.md, "Why turns".

    `connect_s` is added to windows with over `MANY` connections: past half of the ephemeral ports each connect()
    searches them all. `burst_waits` is the length of a sleeping window with over `BURST` of them, in waits: the first
    answers of some take 1.8 waits. `turn_s` is the length of a turn, at least: a pool that sizes itself every second or
    two is judged in turns of tens of seconds, or by the size that another load gave it.
    """

    rounds: int
    cycles: int
    window_s: float
    brief_warmup_s: float
    warmup_window_s: float
    warmup_windows_native: int
    warmup_windows_jvm: int
    warmup_cap_s: float
    sleep_warmup_s: float
    sleep_delay_s: float
    connect_s: float
    burst_waits: float
    idle_s: float
    rest_s: float
    few_times: int = 1
    turn_s: float = 1.0

    def numbers(self) -> dict[str, float]:
        return {name: float(value) for name, value in asdict(self).items()}

    def warmup_windows(self, *, native: bool) -> int:
        """At least so many windows before warm-up may end."""
        return self.warmup_windows_native if native else self.warmup_windows_jvm

    def gentle_windows(self, *, native: bool) -> int:
        """Of these, how many a JVM is given with few connections, so that its compiler gets a core."""
        return 0 if native else max(1, self.warmup_windows_jvm // 3)


FULL = Profile(
    rounds=3,
    cycles=12,
    window_s=8,
    brief_warmup_s=2,
    warmup_window_s=4,
    warmup_windows_native=4,
    warmup_windows_jvm=6,
    warmup_cap_s=60,
    sleep_warmup_s=3,
    sleep_delay_s=10,
    connect_s=2,
    burst_waits=3.5,
    idle_s=1,
    rest_s=3,
    few_times=2,
)
QUICK = Profile(
    rounds=1,
    cycles=1,
    window_s=1,
    brief_warmup_s=1,
    warmup_window_s=1,
    warmup_windows_native=2,
    warmup_windows_jvm=2,
    warmup_cap_s=3,
    sleep_warmup_s=1,
    sleep_delay_s=0.5,
    connect_s=2,
    burst_waits=3.5,
    idle_s=0.5,
    rest_s=0.5,
)


EMULATED = replace(
    FULL,
    rounds=1,
    few_times=1,
    warmup_windows_native=2,
    warmup_windows_jvm=8,
    sleep_warmup_s=15,
    sleep_delay_s=60,
    connect_s=90,
    idle_s=3,
)
"""For a host some twenty times slower than this one: the longest times; each cell's own are in `pacing`."""

BEFORE = {"few_times": 1.0, "turn_s": 1.0}
"""Numbers of a profile that older runs did not store, as they were then."""
