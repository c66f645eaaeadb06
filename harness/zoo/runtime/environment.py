"""The variables that an entry is started with, in each runtime. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.catalog.manifest import Entry
from zoo.host.environment import FOLDER, PATHS, chosen
from zoo.model.condition import IN_IMAGES, Condition

PORT, ADDRESS = "{port}", "{address}"
"""Stand for what is known only when a server starts."""


def of_contract(entry: Entry, settings: Mapping[str, str], host: str, port: str) -> dict[str, str]:
    """Return the variant's variables and those that the contract names; settings override them."""
    return {**entry.variant.env, "VARIANT": entry.variant.name, "HOST": host, "PORT": port, **settings}


def of_process(entry: Entry, settings: Mapping[str, str], port: str, folder: str) -> dict[str, str]:
    """Return all variables of a server that is a child of the harness."""
    return {**chosen(folder), **of_contract(entry, settings, "127.0.0.1", port)}


def recorded(entry: Entry, condition: Condition) -> dict[str, str]:
    """Return the variables as the run stores them. A container has those of its image besides."""
    settings = entry.settings_of(condition.env)
    if condition.runtime == "process":
        return of_process(entry, settings, PORT, FOLDER)
    host = ADDRESS if condition.runtime in IN_IMAGES and condition.runtime != "container" else "127.0.0.1"
    given = of_contract(entry, settings, host, str(entry.server.manifest.port))
    return {"PATH": PATHS, **given} if condition.runtime == "vm" else given
