"""What else the machine did while a cell ran."""

from zoo.model.data import Data


class Noise(Data):
    """Shares are of the whole machine, 0 to 1; None where this system does not tell.

    `busy_share` contains interrupts and leaves out waiting for I/O and stolen time. `foreign_share` is busy less what
    server, generator and harness used, and the kernel's ksoftirqd threads: they handle packets that come too fast to
    be handled in the processes' own time. Some kernels (IRQ_TIME_ACCOUNTING) keep the handling of network packets apart
    from the processes that caused it: there it is in `foreign_share`, at most `interrupt_share` of it.
    Pressure is the time in which some task waited, in microseconds a second. `throttled_share` is of the periods of a
    CPU quota, the share in which it stopped the server or the harness: the highest of their control groups and all
    visible parents.
    """

    elapsed_s: float
    busy_share: float | None = None
    interrupt_share: float | None = None
    steal_share: float | None = None
    foreign_share: float | None = None
    runnable_mean: float | None = None
    pressure_cpu: float | None = None
    pressure_memory: float | None = None
    pressure_io: float | None = None
    throttled_share: float | None = None
