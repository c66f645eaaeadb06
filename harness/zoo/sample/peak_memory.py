"""Peak memory of a process: the kernel's high-water mark of resident memory (VmHWM), reset before each cell.

If the mark cannot be reset, a record has the highest sample instead (`core.measurement.Memory.peak_kb`).
"""

from __future__ import annotations

from pathlib import Path

from zoo.sample.proc import PROC, tree


def reset_peak(pid: int) -> bool:
    """Set the marks of a process and its children to the memory resident now (proc(5), clear_refs).

    Return False if one of them cannot be set.
    """
    done = [_reset_one(one) for one in tree(pid)]  # a list: a failure must not stop the rest
    return all(done)


def _reset_one(pid: int) -> bool:
    try:
        Path(f"{PROC}/{pid}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
