"""Files that are written to their end, or stay as they were; errors name them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zoo.host.interrupts import defer_signals
from zoo.model.data import Data
from zoo.model.errors import UserError


class StoreError(UserError):
    """A run that cannot be read or written; the message names the file, and the line where there is one."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What is written is written to its end, also when the run is told to stop meanwhile; `StoreError` if it fails."""
    try:
        with defer_signals():
            yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def check_writable(folder: Path) -> None:
    """Create the folder if it is missing, and a file in it for a moment; `StoreError` where that fails."""
    with writing(folder):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
        tempfile.TemporaryFile(dir=folder).close()


def write_whole(path: Path, text: str) -> None:
    """Replace a file at one stroke: whoever reads it, after a crash too, finds the old text or the new."""
    temporary = path.with_name(path.name + ".new")
    with writing(path):
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)


def write_data(path: Path, data: Data, indent: int = 2) -> None:
    """The same of stored data, as JSON."""
    with defer_signals():  # pydantic takes an interrupt for a fault of the data
        write_whole(path, data.model_dump_json(indent=indent) + "\n")
