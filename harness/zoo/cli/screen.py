"""Where the commands print."""

import sys

from rich.console import Console

UNBROKEN = 10_000
"""The width of what is no terminal: there a line is as long as what it says, and whoever shows it breaks it."""


def make(*, stderr: bool = False) -> Console:
    """Return a console that wraps between words on a terminal, and prints plain unbroken lines elsewhere.

    FORCE_COLOR and the like are ignored elsewhere, or a pipe would get a progress bar's control characters.
    """
    here = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if here else UNBROKEN, force_terminal=None if here else False)


console = make()
