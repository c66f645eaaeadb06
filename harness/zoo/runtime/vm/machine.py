"""The virtual host of RUNTIME=vm: its kernel, the files it boots, and the QEMU command that starts it.

The guest uses this host's root file system: QEMU shares it read-only (9p), and what the guest writes stays in its
memory (overlayfs). So the guest has this Python, the JDK, wrk and the built servers at the same paths, and no disk.
"""

from __future__ import annotations

import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from zoo.core.errors import BenchError
from zoo.host import doctor, facts
from zoo.host.cgroup import read_cgroup
from zoo.host.facts import parse_version

FOLDER = Path(".tools/guest")
PACKAGE = "linux-image-amd64"
MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"),
    *("netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "overlay"),
    *("inet_diag", "tcp_diag"),  # to count a port's connections
)
"""Kernel modules in the order in which they are loaded; a kernel may have some of them built in."""

BINARY = "qemu-system-x86_64"
KVM, TCG = "kvm", "tcg"
DEVICE = Path("/dev/kvm")
MOST_CORES = 8
MOST_KB = 64 << 20
BARE = ("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none")

ALWAYS = "console=ttyS0 quiet panic=-1 oops=panic random.trust_cpu=on"
"""Kernel options for every guest. A panic reboots, and a reboot ends QEMU, so a dead guest is noticed immediately."""

EMULATED = "maxcpus=1 mitigations=off nowatchdog no_timer_check"
"""Kernel options for emulated guests.

They start one processor; INIT starts the others once the devices are set up. Setting up a device moves registers in
memory, and QEMU sometimes aborts if another processor accesses a device meanwhile (docs/explanation/method.md).

They turn off the watchdog, because a slow processor is not stuck, and the timer check, because the timer of a busy host
is only late. Mitigations are off because nothing in the guest needs protection from anything else in it.
"""

INIT = """\
#!/bin/busybox sh
b=/bin/busybox
for module in /modules/*; do $b insmod "$module"; done
$b mkdir /host /memory /new
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /host
$b mount -t tmpfs memory /memory
$b mkdir /memory/upper /memory/work
$b mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work overlay /new
$b mount -t proc proc /new/proc
$b mount -t sysfs sysfs /new/sys
$b mount -t devtmpfs devtmpfs /new/dev
for online in /new/sys/devices/system/cpu/cpu[1-9]*/online; do [ ! -e "$online" ] || echo 1 >"$online"; done
export PATH={path}
exec $b switch_root /new {python} -I -m zoo.runtime.vm.guest
"""


class VmError(BenchError):
    """A failure to run a guest here; the message says why and what to do."""


@dataclass(frozen=True)
class GuestKernel:
    """A guest's kernel; `modules` are in the order in which they are loaded."""

    version: str
    image: Path
    modules: tuple[Path, ...]


@dataclass(frozen=True)
class GuestMachine:
    """The virtual host; `memory` is in QEMU's notation, such as 6g or 512m."""

    accelerator: str
    memory: str
    cores: int
    binary: str = BINARY

    def command(self, kernel: Path, files: Path, console: Path) -> list[str]:
        """Return the QEMU command that starts the guest.

        The guest gets processors, memory, this host's files and two serial lines, one for the log and one for the
        agent. It has no network. It dies with the harness, however the harness ends.
        """
        return [
            *("setpriv", "--pdeathsig", "KILL", "--", self.binary),
            *BARE,
            *_processor(self.accelerator),
            *("-smp", str(self.cores), "-m", self.memory),
            *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
            *("-chardev", f"file,id=console,path={str(console).replace(',', ',,')},append=on"),
            *("-serial", "chardev:console", "-chardev", "stdio,id=agent,signal=off", "-serial", "chardev:agent"),
            *("-kernel", str(kernel), "-initrd", str(files), "-append", self._boot()),
        ]

    def _boot(self) -> str:
        """Return the kernel options. Huge pages are set as on this host, because they affect a process's memory."""
        pages = facts.huge_pages()
        words = [ALWAYS, "" if self.accelerator == KVM else EMULATED, f"transparent_hugepage={pages}" if pages else ""]
        return " ".join(filter(None, words))


def find_kernel(folder: Path) -> GuestKernel:
    """Return the kernel in `folder`; download it from the distribution's package if there is none yet."""
    if not (images := sorted(folder.glob("vmlinuz-*"))):
        images = [_download(folder)]
    present = tuple(path for name in MODULES if (path := folder / f"{name}.ko").exists())
    return GuestKernel(images[-1].name.removeprefix("vmlinuz-"), images[-1], present)


def write_boot_files(kernel: GuestKernel, archive: Path) -> None:
    """Write the archive that the kernel unpacks as its first file system: busybox, the modules, and INIT."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise VmError("busybox is not installed; `make qemu` installs it")
    with tempfile.TemporaryDirectory(dir=archive.parent) as name:
        root = Path(name)
        for folder in ("bin", "modules"):
            (root / folder).mkdir()
        shutil.copy(busybox, root / "bin" / "busybox")
        for number, module in enumerate(kernel.modules):
            shutil.copy(module, root / "modules" / f"{number:02}-{module.name}")
        text = INIT.format(path=shlex.quote(os.environ.get("PATH", os.defpath)), python=shlex.quote(sys.executable))
        (root / "init").write_text(text, encoding="utf-8")
        (root / "init").chmod(0o755)
        names = "".join(f"{path.relative_to(root)}\n" for path in sorted(root.rglob("*")))
        with archive.open("wb") as out:
            subprocess.run(
                [busybox, "cpio", "-o", "-H", "newc"],
                cwd=root,
                input=names.encode(),
                stdout=out,
                stderr=subprocess.DEVNULL,
                check=True,
            )


def choose_accelerator(root: Path, environment: Mapping[str, str]) -> str:
    """Return the accelerator that would run a guest here, `kvm` or `tcg`; raise `VmError` if none can."""
    if (reason := missing()) is not None:
        remedy = doctor.install_command("qemu", facts.distribution()[1])
        raise VmError(f"RUNTIME=vm does not work here: {reason} ({remedy})")
    return accelerator(environment.get("ACCEL", "auto"), lambda: find_kernel(root / FOLDER).image)


def accelerator(wanted: str, kernel: Callable[[], Path], binary: str = BINARY) -> str:
    """Return `kvm` if it really runs this kernel, otherwise `tcg`.

    That the device can be opened is not enough: on some hosts its guests abort or never start.
    """
    if wanted not in ("auto", KVM, TCG):
        raise VmError(f'ACCEL must be auto, kvm or tcg, got "{wanted}"')
    if wanted != TCG and has_device() and _runs(kernel(), binary):
        return KVM
    if wanted == KVM:
        raise VmError(f"ACCEL=kvm does not work: {DEVICE} runs no guest on this machine; use ACCEL=tcg")
    return TCG


def memory_of(environment: Mapping[str, str]) -> str:
    """Return VM_MEMORY, or half of the usable memory if it is not set; the guest takes memory only as it uses it."""
    wanted = environment.get("VM_MEMORY")
    if wanted is None:
        usable_kb = min(kb for kb in (facts.memory_kb()[0], read_cgroup().memory_kb, MOST_KB) if kb)
        return f"{max(1, usable_kb // 2 >> 20)}g"
    if not re.fullmatch(r"[1-9]\d*[mg]", wanted):
        raise VmError(f'VM_MEMORY must be an amount such as 6g or 512m, got "{wanted}"')
    return wanted


def has_device() -> bool:
    """Check whether the KVM device can be opened."""
    return os.access(DEVICE, os.R_OK | os.W_OK)


def missing() -> str | None:
    """Return what prevents a guest here; None if nothing does."""
    if os.uname().machine != "x86_64":
        return f"its kernel is for x86_64, and this machine is {os.uname().machine}"
    for name in (BINARY, "busybox", "setpriv", "apt-get"):
        if shutil.which(name) is None:
            return f"there is no {name} on this machine"
    return None


def qemu_version(binary: str = BINARY) -> str | None:
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return parse_version(done.stdout)


def cores() -> int:
    """Return the number of processors for a guest: this host's, at most MOST_CORES."""
    return min(os.cpu_count() or 1, MOST_CORES)


def _runs(kernel: Path, binary: str) -> bool:
    """Check whether KVM runs this kernel: without a file system, the kernel boots until it panics about that."""
    words = [*BARE, *_processor(KVM), "-m", "256m", "-serial", "stdio", "-kernel", str(kernel), "-append", ALWAYS]
    try:
        done = subprocess.run([binary, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"Kernel panic" in done.stdout


def _processor(accelerator: str) -> list[str]:
    return ["-accel", "kvm", "-cpu", "host"] if accelerator == KVM else ["-accel", "tcg,thread=multi", "-cpu", "max"]


def _download(folder: Path) -> Path:
    """Download the package's newest kernel, and unpack it and its modules without compression; this needs no root."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        depends = re.findall(r"Depends: (linux-image-\S+)", _run("apt-cache", "depends", PACKAGE))
        if not depends:
            raise VmError(f"apt does not know the package {PACKAGE}; run `apt-get update`")
        _run("apt-get", "-q", "download", depends[0], at=work)
        package = next(work.glob("*.deb"))
        _run("dpkg-deb", "--extract", package.name, "tree", at=work)
        for module in MODULES:
            for file in work.glob(f"tree/**/{module}.ko*"):
                data = file.read_bytes()
                (folder / f"{module}.ko").write_bytes(lzma.decompress(data) if file.suffix == ".xz" else data)
        for image in work.glob("tree/boot/vmlinuz-*"):  # last, because its presence says that everything is there
            return image.replace(folder / image.name)
    raise VmError(f"{package.name} contains no kernel")


def _run(*words: str, at: Path | None = None) -> str:
    try:
        done = subprocess.run(words, cwd=at, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        raise VmError(
            f"RUNTIME=vm takes its kernel from Debian's packages, and this machine has no {words[0]}"
        ) from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise VmError(f"`{' '.join(words)}` failed: {last[0]}")
    return done.stdout


if __name__ == "__main__":
    try:
        print(f"kernel for guests: {find_kernel(Path(sys.argv[1])).version}")
    except VmError as error:
        sys.exit(f"zoo: {error}")
