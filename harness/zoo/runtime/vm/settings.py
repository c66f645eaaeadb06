"""Whether this host can have a guest, and what it is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from zoo.host import mend, system
from zoo.host.cgroup import read_cgroup
from zoo.runtime.vm import kernel, qemu

FOLDER = Path(".tools/vm")


MOST_KB = 64 << 20


class VmError(Exception):
    """No guest can be run here; the message says why and what to do."""


def accelerator(root: Path, environment: Mapping[str, str]) -> str:
    """What would run a guest here: `kvm` or `tcg`."""
    if (reason := qemu.missing()) is not None:
        remedy = mend.install("qemu", system.distribution()[1])
        raise VmError(f"RUNTIME=vm does not work here: {reason} ({remedy})")
    try:
        return qemu.accelerator(environment.get("ACCEL", "auto"), lambda: kernel.kernel(root / FOLDER / "kernel").image)
    except (ValueError, kernel.KernelError) as error:
        raise VmError(str(error)) from None


def memory_of(environment: Mapping[str, str]) -> str:
    """VM_MEMORY; without it half of what may be used here, which a guest takes only as it uses it."""
    wanted = environment.get("VM_MEMORY")
    if wanted is None:
        usable_kb = min(kb for kb in (system.memory_kb()[0], read_cgroup().memory_kb, MOST_KB) if kb)
        return f"{max(1, usable_kb // 2 >> 20)}g"
    if not re.fullmatch(r"[1-9]\d*[mg]", wanted):
        raise VmError(f'VM_MEMORY must be an amount such as 6g or 512m, got "{wanted}"')
    return wanted
