"""TCP ports of loopback."""

from __future__ import annotations

import socket

DEFAULT_LOW = 32_768
"""Where outgoing connections begin on Linux when nothing else is set."""


def is_free(port: int) -> bool:
    """True when a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(preferred: int, low: int | None) -> int | None:
    """`preferred`, else the next free one at least 1,000 above it, below the range of outgoing connections."""
    return next((p for p in (preferred, *range(preferred + 1000, low or DEFAULT_LOW)) if is_free(p)), None)
