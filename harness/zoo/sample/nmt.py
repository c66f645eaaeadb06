"""What a JVM says of the memory of its threads, where it was started with -XX:NativeMemoryTracking."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

FLAG = b"-XX:NativeMemoryTracking="
THREADS = re.compile(r"^-\s+Thread \(reserved=(\d+)KB, committed=(\d+)KB\)", re.MULTILINE)
LIMIT_S = 10.0


class ThreadMemory(NamedTuple):
    """Of all platform threads, mostly their stacks: address space set aside, and what of it is in use."""

    reserved_kb: int
    committed_kb: int


def threads(pid: int) -> ThreadMemory | None:
    """None where the process is no JVM that keeps account of it, or its JDK has no jcmd beside it."""
    try:
        if FLAG not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return None
        jcmd = Path(f"/proc/{pid}/exe").resolve().with_name("jcmd")
        done = subprocess.run(
            [jcmd, str(pid), "VM.native_memory", "summary"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(done.stdout)


def parse(summary: str) -> ThreadMemory | None:
    """From what `jcmd PID VM.native_memory summary` prints."""
    found = THREADS.search(summary)
    return ThreadMemory(int(found[1]), int(found[2])) if found else None
