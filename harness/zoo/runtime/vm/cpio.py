"""Archives that the kernel unpacks as its first file system: cpio in its `newc` form. Same content, same bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

FOLDER, FILE, LINK, EXECUTABLE = 0o040755, 0o100644, 0o120777, 0o111
BLOCK = 512


def write(folder: Path, out: IO[bytes]) -> None:
    """Everything below `folder` in order of names, root's, without times. Archives may follow one another."""
    for number, path in enumerate(sorted(folder.rglob("*")), start=1):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            _entry(out, number, name, LINK, os.fsencode(path.readlink()))
        elif path.is_dir():
            _entry(out, number, name, FOLDER, b"")
        else:
            mode = FILE | (EXECUTABLE if os.access(path, os.X_OK) else 0)
            _entry(out, number, name, mode, path.read_bytes())
    _entry(out, 0, "TRAILER!!!", 0, b"")
    _pad(out, BLOCK)


def _entry(out: IO[bytes], number: int, name: str, mode: int, data: bytes) -> None:
    """inode, mode, owner, group, links, time, size, four of devices, the name's length with its NUL, no checksum."""
    raw = os.fsencode(name) + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
    out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + raw)
    _pad(out, 4)
    out.write(data)
    _pad(out, 4)


def _pad(out: IO[bytes], to: int) -> None:
    out.write(b"\0" * (-out.tell() % to))
