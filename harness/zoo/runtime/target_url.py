"""Servers that something else started: their URLs, and the ids they have in a run."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from zoo.model.entry_id import TARGET
from zoo.model.errors import UserError
from zoo.model.run import Target

PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class TargetError(UserError):
    """A target that cannot be measured; the message says why and what to do."""


def targets(urls: Sequence[str], pids: Sequence[int]) -> dict[str, Target]:
    """By id, in the order given; the n-th process is that of the n-th URL."""
    if pids and len(pids) != len(urls):
        raise TargetError(f"as many PIDs as targets are expected, got {len(pids)} for {len(urls)}")
    made: dict[str, Target] = {}
    for place, url in enumerate(urls):
        name = f"{TARGET}:{_port(url)}"
        if name in made:
            raise TargetError(f"two targets on port {_port(url)}: they could not be told apart")
        made[name] = Target(url=quote(url, safe=PRINTABLE), pid=pids[place] if pids else None)
    return made


def origin(url: str) -> str:
    """The server's address, without a path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def at_address(url: str, address: str) -> str:
    """The server's address with this one for its host."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port_of(url)}"


def port_of(url: str) -> int:
    return urlsplit(url).port or 80


def home(url: str) -> str:
    """Path and query."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _port(url: str) -> int:
    wanted = f'a target is a URL such as http://127.0.0.1:9000/, got "{url}"'
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError:
        raise TargetError(wanted) from None
    if parts.scheme == "https":
        raise TargetError(
            f"{url}: https:// is not supported, as TLS is not measured; name a port that speaks plain HTTP"
        )
    if not parts.netloc.isascii() or any(c.isspace() for c in parts.netloc):
        raise TargetError(f"{url}: write the host in ASCII (xn--…)")
    if parts.scheme != "http" or not parts.hostname or parts.username is not None or parts.fragment:
        raise TargetError(wanted)
    return port
