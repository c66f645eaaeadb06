"""Environment variables that each runtime starts an entry with. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.core.condition import IN_IMAGES, Condition
from zoo.core.manifest import Entry
from zoo.host.environment import FOLDER, PATHS, base_environment

PORT, ADDRESS = "{port}", "{address}"
"""Placeholders for the port and the address, which are known only when a server starts."""


def contract_variables(entry: Entry, settings: Mapping[str, str], host: str, port: str) -> dict[str, str]:
    """Return the variant's variables and those of the contract; settings override them."""
    return {**entry.variant.env, "VARIANT": entry.variant.name, "HOST": host, "PORT": port, **settings}


def process_variables(entry: Entry, settings: Mapping[str, str], port: str, folder: str) -> dict[str, str]:
    """Return all variables of a server that is a child of the harness."""
    return {**base_environment(folder), **contract_variables(entry, settings, "127.0.0.1", port)}


def recorded_variables(entry: Entry, condition: Condition) -> dict[str, str]:
    """Return the variables as the run stores them. A container has those of its image in addition."""
    settings = entry.settings_of(condition.env)
    if condition.runtime == "process":
        return process_variables(entry, settings, PORT, FOLDER)
    host = ADDRESS if condition.runtime in IN_IMAGES and condition.runtime != "container" else "127.0.0.1"
    given = contract_variables(entry, settings, host, str(entry.server.manifest.port))
    return {"PATH": PATHS, **given} if condition.runtime == "vm" else given
