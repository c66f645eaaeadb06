"""`python -m zoo`, and the `zoo` command."""

from __future__ import annotations

import io
import signal
import sys


def main() -> None:
    """Ctrl-C ends it without a stack trace also in the second in which it loads its libraries.

    A sign that the terminal's encoding lacks is printed as a question mark.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from zoo.cli import app  # noqa: PLC0415 (only now is Ctrl-C seen to)

    command = app.app_for(sys.argv[1:])  # imports the command's own libraries
    signal.signal(signal.SIGINT, before)
    command(prog_name="zoo")


if __name__ == "__main__":
    main()
