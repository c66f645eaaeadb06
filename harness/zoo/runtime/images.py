"""The images of a run: built by one engine, and handed to others that shall run them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zoo.catalog.manifest import Server
from zoo.host.engine import Engine, EngineError, image, tag

GENERATOR = "generator"


def build(engine: Engine, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> dict[str, str]:
    """Build or find all images with these variables of the compose file, one of another release beside the usual one.

    Of servers whose image does not build the label, and why; `EngineError` where the generator's does not.
    """
    broken = {}
    for server in servers:
        named = {**variables, "ZOO_TAG": tag(os.environ, server.release)}
        try:
            engine.compose_build(root, [f"{server.name}-{server.manifest.variants[0].name}"], named)
        except EngineError as error:
            broken[server.label] = str(error)
    engine.compose_build(root, [GENERATOR], variables)
    return broken


def alike(builder: Engine, hosts: Iterable[Engine]) -> list[Engine]:
    """The hosts on which runs what one engine builds; `EngineError` when a host does not answer."""
    try:
        wanted = builder.platform()
    except EngineError:  # a person whose shell has no engine, only those of the hosts
        return []
    return [host for host in hosts if host.platform() == wanted]


def hand_on(builder: Engine, host: Engine, servers: Sequence[Server]) -> None:
    """Copy those images that the host lacks, or has of another build."""
    names = [image(GENERATOR), *(image(server.name, release=server.release) for server in servers)]
    if lacking := [name for name in names if not host.has_image(name, builder.image_id(name))]:
        builder.copy_images(lacking, host)


def provide(
    hosts: Mapping[Engine, Sequence[Server]], root: Path, variables: Mapping[str, str], broken: dict[str, str]
) -> None:
    """What each host lacks: by this shell's engine, and copied to hosts of its platform; else by a host's own.

    Adds to `broken` what does not build.
    """
    shell = Engine()
    served = alike(shell, hosts)
    if served:
        wanted = {server.label: server for host in served for server in hosts[host]}
        broken |= build(shell, root, list(wanted.values()), variables)
    for host, those in hosts.items():
        if host in served:
            hand_on(shell, host, [server for server in those if server.label not in broken])
        else:
            broken |= build(host, root, those, variables)


def has_registry(name: str) -> bool:
    """True where an image's name begins with a registry's host."""
    first, slash, _ = name.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")
