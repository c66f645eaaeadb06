"""Builds servers whose sources changed."""

from __future__ import annotations

from zoo.catalog.build import built_here
from zoo.cli import build_servers, checkout
from zoo.cli.options import Servers
from zoo.cli.screen import console
from zoo.model.option import split_values
from zoo.runtime import conditions


def command(server: Servers = None) -> None:
    """Build servers whose sources changed."""
    entries = checkout.catalog().select(split_values(server or ()))
    condition = conditions.condition_of("process", entries, checkout.ROOT)
    build_servers.build_all(built_here(entries, [condition]), conditions.jdk_for(entries), console)
