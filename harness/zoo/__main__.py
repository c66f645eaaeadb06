"""`python -m zoo`, and the `zoo` command."""

from __future__ import annotations

import signal


def main() -> None:
    """Ctrl-C ends it without a stack trace also in the second in which it loads its libraries."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from zoo.cli import app  # noqa: PLC0415 (only now is Ctrl-C seen to)

    signal.signal(signal.SIGINT, before)
    app()


if __name__ == "__main__":
    main()
