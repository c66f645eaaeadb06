"""Why a cell has no figures."""

from __future__ import annotations

import re

from zoo.model.data import Data
from zoo.model.errors import telling

_ERROR = re.compile(r"Error|Exception|panicked|fatal")


class Failure(Data):
    """Why a cell has no figures."""

    kind: str
    message: str
    log_tail: str = ""

    @property
    def text(self) -> str:
        """What happened; of a program that ended by itself, the error that it left in its log too."""
        error = last_error(self.log_tail) if self.kind in ("crashed", "not_started") else ""
        return f"{self.message}: {error}" if error and error not in self.message else self.message


def last_error(log: str) -> str:
    """The last line that names an error as a JVM or a Rust program does; empty where none does."""
    return next((line for line in reversed(telling(log)) if _ERROR.search(line)), "")
