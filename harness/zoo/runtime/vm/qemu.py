"""The words that start a guest, and whether this host's processor runs it or QEMU emulates one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zoo.host import system
from zoo.host.tools import parse_version
from zoo.runtime.vm.image import ENVIRONMENT, PYTHON

BINARY = "qemu-system-x86_64"
KVM, TCG = "kvm", "tcg"
DEVICE = Path("/dev/kvm")
MOST_CORES = 8

BARE = ("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none")

ALWAYS = f"console=ttyS0 quiet panic=-1 oops=panic random.trust_cpu=on rdinit={PYTHON}"
"""A panic is a reboot, and a reboot ends QEMU: so a dead guest is seen at once."""

EMULATED = "mitigations=off nowatchdog no_timer_check"
"""A slow processor is not a stuck one, and on a busy host its timer is late, not broken. Nothing in the guest is to be
kept from anything else in it."""


def accelerator(wanted: str, kernel: Callable[[], Path], binary: str = BINARY) -> str:
    """`kvm` where that really runs this kernel, else `tcg`. ValueError for another word, or a `kvm` that does not work.

    A device that can be opened says little: on some hosts its guests abort or never start.
    """
    if wanted not in ("auto", KVM, TCG):
        raise ValueError(f'ACCEL must be auto, kvm or tcg, got "{wanted}"')
    if wanted != TCG and has_device() and _runs(kernel(), binary):
        return KVM
    if wanted == KVM:
        raise ValueError(f"ACCEL=kvm, but {DEVICE} runs no guest here")
    return TCG


def has_device() -> bool:
    """Without it there is nothing to try."""
    return os.access(DEVICE, os.R_OK | os.W_OK)


def _runs(kernel: Path, binary: str) -> bool:
    """A kernel without files gets as far as panicking about that."""
    words = [*BARE, *_processor(KVM), "-m", "256m", "-serial", "stdio", "-kernel", str(kernel), "-append", ALWAYS]
    try:
        done = subprocess.run([binary, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"Kernel panic" in done.stdout


def _processor(accelerator: str) -> list[str]:
    return ["-accel", "kvm", "-cpu", "host"] if accelerator == KVM else ["-accel", "tcg,thread=multi", "-cpu", "max"]


def missing() -> str | None:
    """What stands in the way of a guest; None where nothing does."""
    if os.uname().machine != "x86_64":
        return f"its kernel is one for x86_64, and this is {os.uname().machine}"
    for name in (BINARY, "setpriv", "apt-get"):
        if shutil.which(name) is None:
            return f"there is no {name} here"
    return None


@dataclass(frozen=True)
class GuestMachine:
    """The virtual host; `memory` as QEMU takes it: 6g, 512m."""

    accelerator: str
    memory: str
    cores: int
    binary: str = BINARY

    def command(self, kernel: Path, files: Path, console: Path) -> list[str]:
        """Nothing but processors, memory and two serial lines: a log, and the agent on standard input and output.

        It dies with the harness, however that ends.
        """
        return [
            *("setpriv", "--pdeathsig", "KILL", "--", self.binary),
            *BARE,
            *_processor(self.accelerator),
            *("-smp", str(self.cores), "-m", self.memory),
            *("-chardev", f"file,id=console,path={_escaped(console)},append=on", "-serial", "chardev:console"),
            *("-chardev", "stdio,id=agent,signal=off", "-serial", "chardev:agent"),
            *("-kernel", str(kernel), "-initrd", str(files), "-append", self._boot()),
        ]

    def _boot(self) -> str:
        """Huge pages as on this host: they change what a process is given. Words with `=` become the environment."""
        pages = system.huge_pages()
        environment = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
        words = [ALWAYS, "" if self.accelerator == KVM else EMULATED, f"transparent_hugepage={pages}" if pages else ""]
        return " ".join([*filter(None, words), environment, "-- -m zoo.runtime.vm.init"])


def version(binary: str = BINARY) -> str | None:
    """QEMU's own; None where it does not say."""
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return parse_version(done.stdout)


def cores() -> int:
    """As many processors as here, within reason."""
    return min(os.cpu_count() or 1, MOST_CORES)


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
