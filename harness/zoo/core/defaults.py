"""The defaults of a run: its times, rounds and connection counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

FEW = 200
"""Highest connection count that counts as few; the load then lasts `few_times` as long."""

TIERS = ("100", "1k", "25k")
"""Connection counts of scenarios that do not define their own."""

CONTAINER_PIDS = 4_096
"""Number of processes and threads that a server's container may have if nothing else is set."""

BUDGET_MIN = 90
"""Time limit in minutes for a run whose rounds are extended to reach a precision."""

REFERENCE_BUDGET_MIN = 150
"""Time limit in minutes for measuring committed runs again, if none is given."""


@dataclass(frozen=True)
class Profile:
    """The times of a run, in seconds, and its numbers of repetitions.

    `cycles` is the highest number of cycles per connection count. In each cycle every server that runs side by side
    with others gets two alternating windows of at least one second. With up to `FEW` connections the load lasts
    `few_times` as long, in more windows. The committed run `bench-all` of 25 November 2026 compared these numbers with
    the formula of Kalibera and Jones (ISMM 2013): docs/explanation/method.md, "Alternating windows".

    `connect_s` is added to windows with more than `MANY` connections: beyond half of the ephemeral ports, each
    connect() searches through all of them. `burst_waits` is the length, in waits, of a waiting scenario's window with
    more than `BURST` connections: some first responses take 1.8 waits. `turn_s` is the minimum length of an alternating
    window. A pool that resizes itself every second or two needs windows of tens of seconds; otherwise it is measured at
    the size that another load gave it.
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
        """Return the minimum number of windows before warm-up may end."""
        return self.warmup_windows_native if native else self.warmup_windows_jvm

    def gentle_windows(self, *, native: bool) -> int:
        """Return the number of warm-up windows that run at low concurrency, so that a JVM's compiler gets a core."""
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
FIRST_ROUNDS = 2
"""Rounds of everything in a run with a precision: enough to estimate the noise, so that most rounds are added where
they are needed."""

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
"""Times for a host about twenty times slower than this one.

They are upper limits; `windows` computes each cell's own times.
"""

BEFORE = {"few_times": 1.0, "turn_s": 1.0}
"""Values of profile fields that older runs did not store."""
