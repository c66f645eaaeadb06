"""By which addresses generators on other hosts reach a server, and where it listens for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def given(environment: Mapping[str, str]) -> tuple[str, ...]:
    """SERVER_ADDRESS=; empty where nobody set it."""
    return tuple(words(environment.get("SERVER_ADDRESS", "")))


def listens(addresses: Sequence[str]) -> str:
    """At all of its host's where the server has several."""
    return addresses[0] if len(addresses) == 1 else "0.0.0.0"
