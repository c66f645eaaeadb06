"""The guest's kernel: that of the distribution's package for virtual machines, downloaded once, without root."""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "linux-image-cloud-amd64"
MODULES = ("inet_diag", "tcp_diag")
"""Loaded in this order, to count a port's connections; a kernel may have them built in."""


class KernelError(Exception):
    """No kernel to be had; the message says why."""


@dataclass(frozen=True)
class GuestKernel:
    """`modules` in the order in which they are loaded."""

    version: str
    image: Path
    modules: tuple[Path, ...]


def kernel(folder: Path) -> GuestKernel:
    """The one in `folder`, else the package's newest, which is then kept there."""
    return _found(folder) or _fetched(folder)


def _found(folder: Path) -> GuestKernel | None:
    images = sorted(folder.glob("vmlinuz-*"))
    if not images:
        return None
    present = tuple(path for name in MODULES if (path := folder / f"{name}.ko").exists())
    return GuestKernel(images[-1].name.removeprefix("vmlinuz-"), images[-1], present)


def _fetched(folder: Path) -> GuestKernel:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        depends = re.findall(r"Depends: (linux-image-\S+)", _run("apt-cache", "depends", PACKAGE))
        if not depends:
            raise KernelError(f"the package {PACKAGE} is not known here; `apt-get update` may help")
        _run("apt-get", "-q", "download", depends[0], at=Path(name))
        package = next(Path(name).glob("*.deb"))
        _unpack(package, folder)
    found = _found(folder)
    if found is None:
        raise KernelError(f"{package.name} contains no kernel")
    return found


def _unpack(package: Path, folder: Path) -> None:
    """The few files that are wanted, modules without their compression; the kernel last, as it says all is there."""
    wanted = re.compile(rf"({'|'.join(MODULES)})\.ko(\.xz)?|vmlinuz-.+")
    images: dict[str, bytes] = {}
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as tar,
    ):
        for member in tar:
            name = Path(member.name).name
            content = tar.extractfile(member) if member.isfile() and wanted.fullmatch(name) else None
            if content is None:
                continue
            data = content.read()
            if name.startswith("vmlinuz-"):
                images[name] = data
            else:
                plain = lzma.decompress(data) if name.endswith(".xz") else data
                (folder / name.removesuffix(".xz")).write_bytes(plain)
    for name, data in images.items():
        (folder / name).write_bytes(data)


def _run(*words: str, at: Path | None = None) -> str:
    try:
        done = subprocess.run(words, cwd=at, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        raise KernelError(f"RUNTIME=vm takes its kernel from Debian's packages, and there is no {words[0]}") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise KernelError(f"`{' '.join(words)}` failed: {last[0]}")
    return done.stdout


if __name__ == "__main__":
    try:
        print(f"kernel for guests: {kernel(Path(sys.argv[1])).version}")
    except KernelError as error:
        sys.exit(f"zoo: {error}")
