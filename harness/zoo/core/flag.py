"""Flags for objections that an expert would raise against a cell, with their texts."""

from __future__ import annotations

from enum import StrEnum

FOREIGN_LIMIT = 0.03
"""Limit for the share of the machine that other programs may use during a cell."""


STEAL_LIMIT = 0.03
"""Limit for the share of the machine's time that a hypervisor may give to others during a cell."""

THROTTLED_LIMIT = 0.01
"""Limit for the share of a CPU quota's periods in which it may stop the server or the generator."""


class Flag(StrEnum):
    """An objection that an expert would raise against a cell. The text says what happened and what to do."""

    CLAMPED = "clamped"
    GENERATOR_SATURATED = "generator_saturated"
    SHARED_CORES = "shared_cores"
    STARVED = "starved"
    POOL_CEILING = "pool_ceiling"
    LITTLE_HIGH = "little_high"
    NOT_ESTABLISHED = "not_established"
    SLOW_CONNECT = "slow_connect"
    LISTEN_DROPS = "listen_drops"
    WARMUP_SHORT = "warmup_short"
    FOREIGN_CPU = "foreign_cpu"
    NEAR_REFERENCE = "near_reference"
    SOCKETS_LINGER = "sockets_linger"
    BAD_ANSWERS = "bad_answers"
    NOT_AT_ONCE = "not_at_once"
    GENERATOR_BEHIND = "generator_behind"
    LITTLE_WORK = "little_work"
    LEFT_OPEN = "left_open"
    LINK_SATURATED = "link_saturated"
    THROTTLED = "throttled"
    RECONNECTS = "reconnects"
    STOLEN = "stolen"

    @property
    def unusable(self) -> bool:
        """Return True if the cell's figures are wrong, so that the cell has failed."""
        return self in (Flag.LITTLE_HIGH, Flag.LITTLE_WORK)

    @property
    def text(self) -> str:
        return _FLAG_TEXT[self]


_FLAG_TEXT = {
    Flag.CLAMPED: "this machine cannot hold so many connections; it ran at the largest number it can "
    "(zoo doctor shows what to raise)",
    Flag.GENERATOR_SATURATED: "a wrk thread used over 90% of a core, so the throughput is a lower bound (give "
    "the generator more cores)",
    Flag.SHARED_CORES: "server and generator left under 10% of the shared cores idle, so the throughput "
    "is a lower bound (compare CPU per request)",
    Flag.STARVED: "under 90% of the connections had a request in flight; the others waited in a busy "
    "generator, starved, hung or never opened",
    Flag.POOL_CEILING: "the pool serves at most threads ÷ delay requests per second, and the other "
    "requests waited: an effect of the thread model, not an error",
    Flag.LITTLE_HIGH: "the latencies add up to over 110% of the time that the connections were open, "
    "which is impossible: do not use these figures",
    Flag.NOT_ESTABLISHED: "fewer than 98% of the connections were established in the middle of the window",
    Flag.SLOW_CONNECT: "opening the connections took over half of the window, so little of it was left to measure",
    Flag.LISTEN_DROPS: "the kernel dropped connection attempts (raise net.core.somaxconn)",
    Flag.WARMUP_SHORT: "throughput was still changing when warm-up ended (the record lists the warm-up windows)",
    Flag.FOREIGN_CPU: f"other programs used over {100 * FOREIGN_LIMIT:.0f}% of the machine's CPU time "
    "(stop them and repeat)",
    Flag.NEAR_REFERENCE: "within 10% of the bare reference server, so the generator or the kernel may be "
    "the limit: a lower bound",
    Flag.SOCKETS_LINGER: "over 5,000 sockets of the previous cell were still in TIME_WAIT",
    Flag.BAD_ANSWERS: "some responses were errors or cut off; goodput excludes them",
    Flag.NOT_AT_ONCE: "this emulated host needs longer to read all requests than the longest wait, so "
    "they were not all held at the same time (leave it more CPU time)",
    Flag.GENERATOR_BEHIND: "the generator did not keep to the requested rate, so there are no figures (the "
    "record says why)",
    Flag.LITTLE_WORK: "a request took under half of the CPU time that its case names, so the "
    "calibration was wrong: do not use these figures",
    Flag.LEFT_OPEN: "the server still held connections of the previous connection count, and these "
    "used memory and descriptors",
    Flag.LINK_SATURATED: "responses used over 80% of the network bandwidth between generators and server, "
    "so the throughput is a lower bound",
    Flag.THROTTLED: "a CPU quota paused the server or the generator in over "
    f"{100 * THROTTLED_LIMIT:.0f}% of its periods, so the throughput is a lower bound "
    "and latency includes the pauses (zoo doctor shows how to raise the quota)",
    Flag.RECONNECTS: "the server closed connections, so over 0.5% of the requests opened a new one, "
    "and all figures include that (let it keep connections open)",
    Flag.STOLEN: f"the hypervisor gave over {100 * STEAL_LIMIT:.0f}% of this virtual machine's CPU time to others "
    "(repeat when the host is quiet, or on dedicated cores)",
}
