"""Discovery of the zoo's servers: reads and validates their `server.toml` files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from zoo.core.manifest import Catalog, CatalogError, Language, Manifest, Server

T = TypeVar("T", bound=BaseModel)


def read_toml(path: Path, model: type[T], error: type[Exception]) -> T:
    """Read and validate a TOML file; raise `error` with one line for each fault."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise error(f"{path}: {fault}") from fault
    except RecursionError:
        raise error(f"{path}: nested too deeply") from None
    try:
        return model.model_validate(data)
    except ValidationError as fault:
        lines = []
        for one in fault.errors():
            got = one.get("input")
            shown = "" if one["type"] == "missing" or isinstance(got, dict | list) else f", got {got!r}"
            lines.append(f"{path}: {'.'.join(map(str, one['loc'])) or '(top level)'}: {one['msg']}{shown}")
        raise error("\n".join(lines)) from None


def load_manifest(path: Path) -> Manifest:
    """Read and validate one manifest; the error names the file, the key and what was expected."""
    manifest = read_toml(path, Manifest, CatalogError)
    if manifest.name != path.parent.name:
        raise CatalogError(f'{path}: name: expected the folder\'s name "{path.parent.name}", got "{manifest.name}"')
    if manifest.language is Language.JAVA and "{java}" not in manifest.run.command:
        raise CatalogError(f'{path}: run.command: expected the placeholder "{{java}}" in a Java server\'s command')
    return manifest


def load_catalog(root: Path, guests: Path | None = None) -> Catalog:
    """Return all servers in the folders directly below `root`, ordered by name, followed by the guests.

    `guests` is a server's own folder, or a folder that contains such folders. Names and ports must differ.
    """
    servers = tuple(Server(path.parent, load_manifest(path)) for path in sorted(root.glob("*/server.toml")))
    if guests is not None:
        servers += tuple(Server(path.parent, load_manifest(path), guest=True) for path in _manifests(guests))
    ports: dict[int, str] = {}
    names: set[str] = set()
    for server in servers:
        port = server.manifest.port
        if server.name in names:
            raise CatalogError(f"{server.folder / 'server.toml'}: name: the zoo already has a server {server.name}")
        names.add(server.name)
        if port in ports:
            raise CatalogError(f"{server.folder / 'server.toml'}: port: {ports[port]} already uses {port}")
        ports[port] = server.name
    return Catalog(servers)


def _manifests(folder: Path) -> list[Path]:
    own = folder.resolve() / "server.toml"
    found = [own] if own.is_file() else sorted(folder.resolve().glob("*/server.toml"))
    if not found:
        raise CatalogError(f"{folder}: expected a server.toml in this folder or in its subfolders")
    return found
