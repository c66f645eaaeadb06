"""What an expert would object to in a cell, as flags with their texts."""

from __future__ import annotations

from enum import StrEnum

FOREIGN_LIMIT = 0.03
"""The share of the machine that other programs may use while a cell is measured."""


STEAL_LIMIT = 0.03
"""The share of the machine's time that a hypervisor may give to others while a cell is measured."""

THROTTLED_LIMIT = 0.01
"""The share of the periods of a CPU quota in which it may stop the server or the generator."""


class Flag(StrEnum):
    """What an expert would object to in a cell. Its text says what happened and what to do."""

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
        """True where the cell's figures are wrong, so that it has failed."""
        return self in (Flag.LITTLE_HIGH, Flag.LITTLE_WORK)

    @property
    def text(self) -> str:
        return _FLAG_TEXT[self]


_FLAG_TEXT = {
    Flag.CLAMPED: "this host cannot hold the tier; it ran at the largest feasible count (zoo doctor: what to raise)",
    Flag.GENERATOR_SATURATED: "a wrk thread used over 90 % of a core: a lower bound (give the generator more cores)",
    Flag.SHARED_CORES: "server and generator left under 10 % of the shared cores idle: a lower bound, "
    "compare CPU per request",
    Flag.STARVED: "under 90 % of the connections had a request under way: the rest waited in a busy generator, "
    "were starved, hung or never opened",
    Flag.POOL_CEILING: "the pool serves at most threads ÷ delay; the rest waited: the thread model, not an error",
    Flag.LITTLE_HIGH: "the latencies add up to over 110% of the time that the connections had: do not use this",
    Flag.NOT_ESTABLISHED: "fewer than 98 % of the connections were established in mid-run",
    Flag.SLOW_CONNECT: "opening the connections took over half of the window; what was left of it is short",
    Flag.LISTEN_DROPS: "the kernel dropped connection attempts (raise net.core.somaxconn)",
    Flag.WARMUP_SHORT: "throughput had not settled when warm-up ended (the record has its windows)",
    Flag.FOREIGN_CPU: f"other programs used over {100 * FOREIGN_LIMIT:.0f} % of the machine (stop them and repeat)",
    Flag.NEAR_REFERENCE: "within 10 % of the bare reference server: generator or kernel may limit it, a lower bound",
    Flag.SOCKETS_LINGER: "over 5,000 sockets of the cell before were still in TIME_WAIT",
    Flag.BAD_ANSWERS: "some answers were errors or cut off; goodput leaves them out",
    Flag.NOT_AT_ONCE: "this emulated host takes longer to read all requests than the longest wait: they were not all "
    "held at the same time (leave it more of the machine)",
    Flag.GENERATOR_BEHIND: "the generator did not keep to the rate it was asked for: no data (the record says why)",
    Flag.LITTLE_WORK: "a request took under half of the CPU time that its case names: calibrated wrongly, "
    "do not use this",
    Flag.LEFT_OPEN: "the server had not closed the connections of the tier before: they took memory and descriptors",
    Flag.LINK_SATURATED: "answers took over 80 % of what the network between generators and server lets through: a "
    "lower bound",
    Flag.THROTTLED: f"a CPU quota stopped the server or the generator in over {100 * THROTTLED_LIMIT:.0f}% of its "
    "periods: a lower bound, and latency includes the pauses (raise the quota of the control group: zoo doctor)",
    Flag.RECONNECTS: "the server closed connections, so over 0.5 % of the requests opened a new one: all figures "
    "include that (let it keep connections open)",
    Flag.STOLEN: f"the hypervisor gave over {100 * STEAL_LIMIT:.0f}% of this virtual machine's CPU time to others "
    "(repeat when the host is quiet, or on dedicated cores)",
}
