"""The images of a run: built by one engine, and copied to another one that runs them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
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


def provide(engine: Engine, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> dict[str, str]:
    """Build as `build` does: with this shell's engine where it has the same platform, which then copies what is new."""
    shell = Engine()
    try:
        same_platform = shell.platform() == engine.platform()
    except EngineError:  # this shell may have no engine
        same_platform = False
    if not same_platform:
        return build(engine, root, servers, variables)
    broken = build(shell, root, servers, variables)
    whole = [server for server in servers if server.label not in broken]
    names = [image(GENERATOR), *(image(server.name, release=server.release) for server in whole)]
    if new := [name for name in names if not engine.has_image(name, shell.image_id(name))]:
        shell.copy_images(new, engine)
    return broken


def has_registry(name: str) -> bool:
    """True where an image's name begins with a registry's host."""
    first, slash, _ = name.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")
