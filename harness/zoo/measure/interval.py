"""What is read off a server and its machine over an interval: once here, for windows, cells and trials alike."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from zoo.measure import record_parts
from zoo.model.measurement import ContainerUse, Kernel, Memory, Work
from zoo.model.noise import Noise
from zoo.model.samples import Samples
from zoo.runtime.base import Hosted


class Sampled:
    """A context in which a server is loaded: samples of it, its CPU time, and what else the machine did.

    Who loads sets `generator_cpu_s`. After a load that failed there are `samples` alone. ProcessLookupError at its end
    when the server has ended.
    """

    samples: Samples
    noise: Noise
    cpu_s: float | None
    """The server's; None where its process is not known."""

    def __init__(self, hosted: Hosted) -> None:
        self._tools, self._pid = hosted.instruments, hosted.pid
        self._elsewhere = hosted.apart is not None and hosted.apart.elsewhere
        self.generator_cpu_s = 0.0

    def __enter__(self) -> Self:
        self._before = self._tools.snapshot(self._pid)
        self._noise = self._tools.noise(self._pid)
        self._sampler = self._tools.sample(self._pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.samples = self._sampler.stop()
        if error is not None:
            return
        before, after = self._before, self._tools.snapshot(self._pid)
        self.cpu_s = None if before is None or after is None else after.cpu_s - before.cpu_s
        beside_s = 0.0 if self._elsewhere else self.generator_cpu_s
        self.noise = self._noise.stop(self.cpu_s, beside_s, runnable=self.samples.mean_runnable)


class Readings:
    """What a server and its kernel tell before its first load and after its last: memory, counters, `/info`.

    `deep`: also before, what takes longer to read. ProcessLookupError when the server has ended.
    """

    def __init__(self, hosted: Hosted, *, deep: bool = False) -> None:
        self._tools, self._pid, self._url = hosted.instruments, hosted.pid, hosted.url
        self._mark_reset = self._tools.count_anew(self._pid)
        self.info_before = self._tools.info(self._url)
        self.before = self._tools.snapshot(self._pid, deep=deep)
        self._group_before = self._tools.cgroup(self._pid)
        self._counters = self._tools.counters(self._pid)

    def end(self) -> None:
        """After the last load."""
        self._group = self._tools.cgroup(self._pid)
        after = self._tools.snapshot(self._pid, deep=True)
        # a mark that could not be reset is that of the server's whole life
        self._after = after if after is None or self._mark_reset else after.model_copy(update={"hwm_kb": None})
        self._counted = self._tools.counters(self._pid)
        self.info = self._tools.info(self._url)

    @property
    def kernel(self) -> Kernel | None:
        """What the kernel refused meanwhile."""
        return record_parts.kernel(self._counters, self._counted)

    @property
    def container(self) -> ContainerUse | None:
        """What its control group used meanwhile."""
        return record_parts.container(self._group_before, self._group)

    def memory(self, idle_kb: int | None, samples: Samples, rested_kb: int | None = None) -> Memory | None:
        return record_parts.memory(idle_kb, self.before, samples, self._after, rested_kb, self.info)

    def work(self, cpu_s: float | None, good: int, samples: Samples) -> Work | None:
        """`cpu_s` and `good` answers are those of all loads together."""
        return record_parts.work(cpu_s, good, samples, self.before, self._after, self.info_before, self.info)
