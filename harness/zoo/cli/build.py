"""Builds servers whose sources changed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from rich.console import Console

from zoo.catalog.build import Project, build, built_here, is_built, project_of
from zoo.catalog.manifest import Language, Server
from zoo.cli import checkout
from zoo.cli.options import Servers
from zoo.cli.screen import console
from zoo.model.host import Jdk
from zoo.model.option import split_values
from zoo.runtime import conditions

AT_ONCE = 2
"""Linkers and resolvers of one build leave a core idle that another can use."""


def command(server: Servers = None) -> None:
    """Build servers whose sources changed."""
    entries = checkout.catalog().select(split_values(server or ()))
    condition = conditions.condition_of("process", entries, checkout.ROOT)
    build_all(built_here(entries, [condition]), conditions.jdk_for(entries), console)


def build_all(servers: Sequence[Server], jdk: Jdk | None, screen: Console) -> None:
    """Build the servers that are not built or stale."""
    build_projects([project for server in servers if (project := project_of(server, jdk))], screen)


def build_projects(projects: Sequence[Project], screen: Console) -> None:
    """Build what is not built or stale, two projects at a time; native ones begin first, for they take longest."""
    todo = sorted((p for p in projects if not is_built(p)), key=lambda p: p.language is Language.JAVA)
    if not todo:
        return
    with screen.status(f"building {', '.join(p.name for p in todo)}"), ThreadPoolExecutor(AT_ONCE) as pool:
        started = {pool.submit(build, project): project for project in todo}
        for done in as_completed(started):
            done.result()
            screen.print(f"built {started[done].name}")
