"""A folder that is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from zoo.catalog.manifest import BUILT, Build, CatalogError, Language, Server
from zoo.model.jdk import Jdk


@dataclass(frozen=True)
class Project:
    """A folder, how it is built, and for Java with which JDK."""

    name: str
    folder: Path
    build: Build
    language: Language
    jdk: Jdk | None

    @property
    def sources(self) -> list[Path]:
        """All files that the build depends on, the manifest among them."""
        manifest = self.folder / "server.toml"
        return [*([manifest] if manifest.is_file() else []), *files(self.folder, self.build.sources)]

    @property
    def products(self) -> list[Path]:
        return [self.folder / made for made in self.build.makes]

    @property
    def target(self) -> Path | None:
        """The folder for everything that the build makes, if it is named as Maven and Cargo name it."""
        parts = Path(self.build.makes[0]).parts
        ends = (n for n, part in enumerate(parts, start=1) if part == BUILT or part.startswith(f"{BUILT}-"))
        return next((self.folder.joinpath(*parts[:end]).resolve() for end in ends), None)

    @property
    def is_cargo_build(self) -> bool:
        words = self.build.command
        return Path(words[0]).name == "cargo" and "build" in words


def project_of(server: Server, jdk: Jdk | None) -> Project | None:
    """The server's folder as a project; None where its manifest has nothing to build."""
    build = server.manifest.build
    return Project(server.label, server.folder, build, server.manifest.language, jdk) if build else None


def files(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the files with these names in a folder, and all those in the folders with these names.

    `CatalogError` for a name without a file: nobody would notice that the sources changed.
    """
    for name in names:
        path = folder / name
        found = [p for p in (path, *path.rglob("*")) if p.is_file()]
        if not found:
            raise CatalogError(
                f'{folder}: no file at "{name}", which build.sources names; correct the name or remove it'
            )
        yield from found
