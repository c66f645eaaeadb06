"""Builds what a command needs and says so."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from rich.console import Console

from zoo.catalog.build import Project, build, is_built, project_of
from zoo.catalog.manifest import Language, Server
from zoo.model.host import Jdk

AT_ONCE = 2
"""Linkers and resolvers of one build leave a core idle that another can use."""


def build_all(servers: Sequence[Server], jdk: Jdk | None, console: Console) -> None:
    """Build the servers that are not built or stale."""
    build_projects([project for server in servers if (project := project_of(server, jdk))], console)


def build_projects(projects: Sequence[Project], console: Console) -> None:
    """Build what is not built or stale, two projects at a time; native ones begin first, for they take longest."""
    todo = sorted((p for p in projects if not is_built(p)), key=lambda p: p.language is Language.JAVA)
    if not todo:
        return
    with console.status(f"building {', '.join(p.name for p in todo)}"), ThreadPoolExecutor(AT_ONCE) as pool:
        started = {pool.submit(build, project): project for project in todo}
        for done in as_completed(started):
            done.result()
            console.print(f"built {started[done].name}")
