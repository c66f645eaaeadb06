"""CPU time of single threads, and the time that they waited in the run queue for a processor."""

from __future__ import annotations

from zoo.core.samples import ThreadTimes
from zoo.host.files import read_text
from zoo.sample.proc import PROC, tree
from zoo.sample.switches import tasks


def parse_schedstat(text: str) -> tuple[float, float] | None:
    """Return the seconds on a processor and in the run queue from a thread's `schedstat`."""
    fields = text.split()
    if len(fields) != 3 or not all(field.isdecimal() for field in fields):
        return None
    return int(fields[0]) / 1e9, int(fields[1]) / 1e9


def thread_times(pid: int) -> list[ThreadTimes]:
    """Return the times of all live threads of a process and its children; empty if the kernel has no `schedstat`."""
    found = []
    for member in tree(pid):
        for task in tasks(member):
            folder = f"{PROC}/{member}/task/{task}"
            times = parse_schedstat(read_text(f"{folder}/schedstat"))
            if times is not None:
                name = read_text(f"{folder}/comm").rstrip("\n")
                found.append(ThreadTimes(id=int(task), name=name, cpu_s=times[0], waited_s=times[1]))
    return found
