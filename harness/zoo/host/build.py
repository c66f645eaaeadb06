"""Building of servers with the toolchains they need, and hashes of their sources."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from zoo import ROOT
from zoo.core.condition import IN_IMAGES, Condition
from zoo.core.errors import UserError
from zoo.core.host_facts import Jdk
from zoo.core.manifest import BUILD_FOLDER, Build, CatalogError, Entry, Language, Server
from zoo.host.jdk import PREBUILT


@dataclass(frozen=True)
class Project:
    """A folder and how it is built, for Java with the JDK to use."""

    name: str
    folder: Path
    build: Build
    language: Language
    jdk: Jdk | None

    @property
    def sources(self) -> list[Path]:
        """Return all files that the build depends on, including the manifest."""
        manifest = self.folder / "server.toml"
        return [*([manifest] if manifest.is_file() else []), *source_files(self.folder, self.build.sources)]

    @property
    def products(self) -> list[Path]:
        return [self.folder / made for made in self.build.makes]

    @property
    def target(self) -> Path | None:
        """Return the folder for everything that the build makes, if it has the name that Maven and Cargo give it."""
        parts = Path(self.build.makes[0]).parts
        ends = (
            n for n, part in enumerate(parts, start=1) if part == BUILD_FOLDER or part.startswith(f"{BUILD_FOLDER}-")
        )
        return next((self.folder.joinpath(*parts[:end]).resolve() for end in ends), None)

    @property
    def is_cargo_build(self) -> bool:
        words = self.build.command
        return Path(words[0]).name == "cargo" and "build" in words


def project_of(server: Server, jdk: Jdk | None) -> Project | None:
    """Return the server's folder as a project; None if its manifest has nothing to build."""
    build = server.manifest.build
    return Project(server.label, server.folder, build, server.manifest.language, jdk) if build else None


def source_files(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the files with these names in a folder, and all files in the folders with these names.

    Raise `CatalogError` for a name without a file, because changes of those sources would go unnoticed.
    """
    for name in names:
        path = folder / name
        found = [p for p in (path, *path.rglob("*")) if p.is_file()]
        if not found:
            raise CatalogError(
                f'{folder}: build.sources names "{name}", but no file matches: correct the name or remove it'
            )
        yield from found


OUTPUT_VARIABLES = frozenset({"CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_TARGET"})
"""Variables that would make a build put its products in an unexpected place."""

SETTINGS = re.compile(
    r"CARGO_(BUILD|PROFILE|TARGET)_\w+|(CARGO_ENCODED_)?RUSTFLAGS|RUSTC\w*|RUSTUP_TOOLCHAIN|JEMALLOC_SYS_\w+"
    r"|((HOST|TARGET)_)?(CC|CXX|AR|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)(_\w+)?|MAVEN_(ARGS|OPTS)|GO[A-Z0-9]+|CGO_\w+"
)
"""Variables that change what a build makes."""

FILES = (".cargo/config.toml", ".cargo/config", ".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml")
"""Configuration files that build tools read in a project's folder and in its parents."""

HOME_FILES = (".m2/settings.xml", ".mavenrc")


def cargo_executables(output: bytes) -> list[Path]:
    """Return the programs in Cargo's JSON, whether it built them now or found them up to date."""
    messages = (json.loads(line) for line in output.splitlines() if line.startswith(b'{"reason":"compiler-artifact"'))
    return [Path(message["executable"]) for message in messages if message.get("executable")]


def build_environment(project: Project) -> Mapping[str, str]:
    """Return the caller's environment without target folders, and for Java with the chosen JDK first."""
    env = _inherited_environment()
    if project.is_cargo_build and project.target is not None:
        env["CARGO_TARGET_DIR"] = _command_output(["sh", "harness/cargo-target.sh", str(project.target)], ROOT)
    if project.language is Language.JAVA and project.jdk is not None:
        path = f"{project.jdk.home / 'bin'}{os.pathsep}{env.get('PATH', '')}"
        env |= {"JAVA_HOME": str(project.jdk.home), "PATH": path}
    return env


def _inherited_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OUTPUT_VARIABLES}


def toolchain_text(project: Project) -> str:
    """Return the compiler and the build settings as text, which changes if one of them does."""
    if elsewhere := os.environ.get(PREBUILT):
        return elsewhere
    set_here = sorted(f"{name}={value}" for name, value in _inherited_environment().items() if SETTINGS.fullmatch(name))
    read = {str(path): path.read_text(encoding="utf-8", errors="replace") for path in _settings_files(project.folder)}
    return json.dumps([_compiler_version(project), set_here, read])


def _compiler_version(project: Project) -> str:
    if project.language is Language.JAVA:
        return f"{project.jdk.vendor} {project.jdk.version}" if project.jdk else ""
    if project.language is Language.RUST:
        return _command_output([os.environ.get("RUSTC", "rustc"), "-vV"], project.folder)
    tool = shutil.which(project.build.command[0])
    return f"{tool} {Path(tool).stat().st_size} {Path(tool).stat().st_mtime_ns}" if tool else ""


def _settings_files(folder: Path) -> Iterator[Path]:
    above = [at / name for at in [folder.resolve(), *folder.resolve().parents] for name in FILES]
    own = []
    with suppress(RuntimeError):  # a user without a home
        home = Path.home()
        cargo = Path(os.environ.get("CARGO_HOME") or home / ".cargo")
        own = [cargo / "config.toml", cargo / "config", *(home / name for name in HOME_FILES)]
    yield from (path for path in dict.fromkeys([*above, *own]) if path.is_file())


def _command_output(words: Sequence[str], folder: Path) -> str:
    """Return what a command prints; empty if it fails, because the build then reports the failure."""
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


STAMP = ".zoo-built"
PROGRAM_SOURCES = {"java-hello": ["src"], "java-jdbc": ["pom.xml", "src/main"]}
"""Sources of the measured programs that are not servers, by folder."""


class BuildError(UserError):
    """A failed build; the message ends with the tool's last lines."""


def source_hash(server: Server) -> str:
    """Return a hash of everything that a server's figures depend on.

    These are the files that its manifest names as sources, and how they are built and run. The hash does not depend on
    Git, so a checkout and a copy of it have the same hash.
    """
    how = server.manifest.model_dump_json(include={"build", "run", "jvm", "release"})
    build = server.manifest.build
    return _hash_files(server.folder, source_files(server.folder, build.sources) if build else (), how)


def program_hash(root: Path, name: str) -> str:
    """Return the hash of the sources of a program that is not a server; its folder is below `root`."""
    return _hash_files(root / name, source_files(root / name, PROGRAM_SOURCES[name]))


def _hash_files(folder: Path, files: Iterable[Path], start: str = "") -> str:
    digest = hashlib.sha256(start.encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_built(project: Project) -> bool:
    """Return True if the products are those of the last build, and its sources and settings have not changed since."""
    try:
        return _stamp_file(project).read_text(encoding="utf-8") == _inputs_hash(project) + products_hash(project)
    except OSError:
        return False


def build(project: Project) -> None:
    """Run the build command; raise `BuildError` if it fails or does not make the products in the manifest.

    The existing products are put aside first, so that any product found afterwards comes from this build.
    """
    _stamp_file(project).unlink(missing_ok=True)
    inputs = _inputs_hash(project)
    with _put_aside(project):
        _mark_as_changed(project)
        output = _run(project)
        for product in project.products:
            if not product.exists():
                _copy_product(product, project, cargo_executables(output))
    if _inputs_hash(project) != inputs:
        raise BuildError(f"{project.name}: its sources or build settings changed during the build: build it again")
    _stamp_file(project).write_text(inputs + products_hash(project), encoding="utf-8")


def adopt(project: Project) -> None:
    """Record products that were built elsewhere, from these sources, as built; `BuildError` if one is missing."""
    missing = [str(product) for product in project.products if not product.exists()]
    if missing:
        raise BuildError(f"{project.name}: there is no {', '.join(missing)}")
    _stamp_file(project).write_text(_inputs_hash(project) + products_hash(project), encoding="utf-8")


@contextmanager
def _put_aside(project: Project) -> Iterator[None]:
    """Rename the products that are files; those that the build does not make again get their names back."""
    products = (path for path in project.products if path.is_file() and path not in project.sources)
    aside = {path: path.with_name(f".{path.name}.before") for path in products}
    for path, before in aside.items():
        path.replace(before)
    try:
        yield
    finally:
        for path, before in aside.items():
            if path.exists():
                before.unlink()
            else:
                before.replace(path)


def _mark_as_changed(project: Project) -> None:
    """Set the sources' modification time to now, because build tools consider a file restored from a copy old."""
    try:
        for path in project.sources:
            path.touch()
    except OSError as error:
        raise BuildError(
            f"{project.name}: cannot set the modification time of {error.filename}: {error.strerror}"
        ) from error
    if project.target is not None:
        # Maven keeps resources there after their source was removed
        shutil.rmtree(project.target / "classes", ignore_errors=True)


def _run(project: Project) -> bytes:
    command = project.build.command
    # makes Cargo report the paths of its products
    json_wanted = ["--message-format=json-render-diagnostics"] if project.is_cargo_build else []
    try:
        done = subprocess.run(
            [*command, *json_wanted],
            cwd=project.folder,
            env=build_environment(project),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise BuildError(
            f"{project.name}: cannot run {command[0]}: {error.strerror} (zoo doctor shows how to install it)"
        ) from error
    if done.returncode:
        messages = (line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(b'{"reason":'))
        tail = b"\n".join(list(messages)[-30:]).decode(errors="replace")
        raise BuildError(f"{project.name}: {' '.join(command)} ended with exit code {done.returncode}\n{tail}")
    return done.stdout


def _copy_product(product: Path, project: Project, executables: Iterable[Path]) -> None:
    """Copy a program from where Cargo put it, because a target in a user's configuration adds a folder to the path."""
    found = next((path for path in executables if path.name == product.name), None)
    if found is None:
        name = product.relative_to(project.folder)
        raise BuildError(
            f"{project.name}: `{' '.join(project.build.command)}` succeeded but did not "
            f"create {name}: correct build.makes in server.toml"
        )
    product.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(found, product)


def _stamp_file(project: Project) -> Path:
    return project.products[0].parent / STAMP


def _inputs_hash(project: Project) -> str:
    return _hash_files(project.folder, project.sources, toolchain_text(project))


def products_hash(project: Project) -> str:
    """Return a hash of the products, and of the libraries next to a jar even if the manifest does not list them."""
    products = project.products
    libraries = [path.with_name("lib") for path in products if path.suffix == ".jar"]
    files = {p for path in [*products, *libraries] for p in ([path] if path.is_file() else path.rglob("*"))}
    missing = [path.name for path in products if not path.exists()]
    return _hash_files(project.folder, (p for p in files if p.is_file() and p.name != STAMP), " ".join(missing))


def servers_to_build(entries: Sequence[Entry], conditions: Iterable[Condition]) -> list[Server]:
    """Return the servers that this host must build for these conditions, at the releases they name, each once."""
    found = (e.server.with_release(c.env) for c in conditions if c.runtime not in IN_IMAGES for e in entries)
    return list({server.label: server for server in found}.values())
