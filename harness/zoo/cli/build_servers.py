"""Builds what a command needs and says so."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from rich.console import Console

from zoo.catalog.build import build, is_built
from zoo.catalog.manifest import Language, Server
from zoo.model.jdk import Jdk

AT_ONCE = 2
"""Linkers and resolvers of one build leave a core idle that another can use."""


def build_all(servers: Sequence[Server], jdk: Jdk | None, console: Console) -> None:
    """Build what is not built or stale, two servers at a time; native ones begin first, for they take longest."""
    todo = sorted((s for s in servers if not is_built(s)), key=lambda s: s.manifest.language is Language.JAVA)
    if not todo:
        return
    with console.status(f"building {', '.join(s.label for s in todo)}"), ThreadPoolExecutor(AT_ONCE) as pool:
        started = {pool.submit(build, server, jdk): server for server in todo}
        for done in as_completed(started):
            done.result()
            console.print(f"built {started[done].label}")
