"""Build servers with the toolchains they need, and hash what each is built from."""

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
from zoo.catalog.manifest import BUILT, Build, CatalogError, Entry, Language, Server
from zoo.model.condition import IN_IMAGES, Condition
from zoo.model.errors import UserError
from zoo.model.host import Jdk


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


ELSEWHERE = frozenset({"CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_TARGET"})
"""Variables with which a build would put its products where nobody looks for them."""

SETTINGS = re.compile(
    r"CARGO_(BUILD|PROFILE|TARGET)_\w+|(CARGO_ENCODED_)?RUSTFLAGS|RUSTC\w*|RUSTUP_TOOLCHAIN|JEMALLOC_SYS_\w+"
    r"|((HOST|TARGET)_)?(CC|CXX|AR|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)(_\w+)?|MAVEN_(ARGS|OPTS)|GO[A-Z0-9]+|CGO_\w+"
)
"""Variables with which a build makes something else."""

FILES = (".cargo/config.toml", ".cargo/config", ".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml")
"""Configuration that build tools read in a project's folder and in those above it."""

HOME_FILES = (".m2/settings.xml", ".mavenrc")


def executables(output: bytes) -> list[Path]:
    """The programs that Cargo's JSON names, whether it made them now or found them up to date."""
    messages = (json.loads(line) for line in output.splitlines() if line.startswith(b'{"reason":"compiler-artifact"'))
    return [Path(message["executable"]) for message in messages if message.get("executable")]


def build_environment(project: Project) -> Mapping[str, str]:
    """The caller's environment without target folders, and for Java with the chosen JDK first."""
    env = _inherited()
    if project.is_cargo_build and project.target is not None:
        env["CARGO_TARGET_DIR"] = _said(["sh", "harness/cargo-target.sh", str(project.target)], ROOT)
    if project.language is Language.JAVA and project.jdk is not None:
        path = f"{project.jdk.home / 'bin'}{os.pathsep}{env.get('PATH', '')}"
        env |= {"JAVA_HOME": str(project.jdk.home), "PATH": path}
    return env


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ELSEWHERE}


def toolchain_text(project: Project) -> str:
    """The compiler and the build settings, as text that changes when one of them does."""
    set_here = sorted(f"{name}={value}" for name, value in _inherited().items() if SETTINGS.fullmatch(name))
    read = {str(path): path.read_text(encoding="utf-8", errors="replace") for path in _settings_files(project.folder)}
    return json.dumps([_compiler(project), set_here, read])


def _compiler(project: Project) -> str:
    if project.language is Language.JAVA:
        return f"{project.jdk.vendor} {project.jdk.version}" if project.jdk else ""
    if project.language is Language.RUST:
        return _said([os.environ.get("RUSTC", "rustc"), "-vV"], project.folder)
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


def _said(words: Sequence[str], folder: Path) -> str:
    """What a command prints; empty when it does not work, as the build then says."""
    try:
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


STAMP = ".zoo-built"
PROGRAM_SOURCES = {"java-hello": ["src"], "java-jdbc": ["pom.xml", "src/main"]}
"""What is measured and is no server: its folder, and the sources in it."""


class BuildError(UserError):
    """A build that failed; the message ends with the tool's last lines."""


def source_hash(server: Server) -> str:
    """Return a hash of what a server's figures depend on: the files that its manifest names as sources, and how they
    are built and run. Git has no part in it, so a checkout and a copy of it have the same hash."""
    how = server.manifest.model_dump_json(include={"build", "run", "jvm", "release"})
    build = server.manifest.build
    return _digest(server.folder, files(server.folder, build.sources) if build else (), how)


def program_hash(root: Path, name: str) -> str:
    """The same of a program that is no server, whose folder lies below `root`."""
    return _digest(root / name, files(root / name, PROGRAM_SOURCES[name]))


def _digest(folder: Path, files: Iterable[Path], start: str = "") -> str:
    digest = hashlib.sha256(start.encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_built(project: Project) -> bool:
    """True when the products are those of the last build, and its sources and settings are those of today."""
    try:
        return _stamp(project).read_text(encoding="utf-8") == _inputs(project) + products_hash(project)
    except OSError:
        return False


def build(project: Project) -> None:
    """Run the build command; `BuildError` when it fails or does not make what the manifest promises.

    The products are put aside first, so that those found afterwards come from this build.
    """
    _stamp(project).unlink(missing_ok=True)
    inputs = _inputs(project)
    with _put_aside(project):
        _mark_as_changed(project)
        output = _run(project)
        for product in project.products:
            if not product.exists():
                _fetch(product, project, executables(output))
    if _inputs(project) != inputs:
        raise BuildError(f"{project.name}: its sources or build settings changed during the build: build it again")
    _stamp(project).write_text(inputs + products_hash(project), encoding="utf-8")


@contextmanager
def _put_aside(project: Project) -> Iterator[None]:
    """Rename the products that are files; those that the build does not make get their names back."""
    made = (path for path in project.products if path.is_file() and path not in project.sources)
    aside = {path: path.with_name(f".{path.name}.before") for path in made}
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
    """Give the sources the present time: build tools take a file that was restored from a copy for an old one."""
    try:
        for path in project.sources:
            path.touch()
    except OSError as error:
        raise BuildError(f"{project.name}: {error.filename} cannot be given a new time: {error.strerror}") from error
    if project.target is not None:
        # Maven keeps resources there whose source was removed
        shutil.rmtree(project.target / "classes", ignore_errors=True)


def _run(project: Project) -> bytes:
    command = project.build.command
    # Cargo then reports the paths of its products
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
        raise BuildError(f"{project.name}: {command[0]}: {error.strerror} (zoo doctor says how to get it)") from error
    if done.returncode:
        said = (line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(b'{"reason":'))
        tail = b"\n".join(list(said)[-30:]).decode(errors="replace")
        raise BuildError(f"{project.name}: {' '.join(command)} ended with exit code {done.returncode}\n{tail}")
    return done.stdout


def _fetch(product: Path, project: Project, executables: Iterable[Path]) -> None:
    """Copy a program from where Cargo put it: a target in a user's configuration adds a folder to the path."""
    found = next((path for path in executables if path.name == product.name), None)
    if found is None:
        made = product.relative_to(project.folder)
        raise BuildError(f"{project.name}: {' '.join(project.build.command)} did not make {made}")
    product.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(found, product)


def _stamp(project: Project) -> Path:
    return project.products[0].parent / STAMP


def _inputs(project: Project) -> str:
    return _digest(project.folder, project.sources, toolchain_text(project))


def products_hash(project: Project) -> str:
    products = project.products
    files = [p for path in products for p in ([path] if path.is_file() else path.rglob("*"))]
    missing = [path.name for path in products if not path.exists()]
    return _digest(project.folder, (p for p in files if p.is_file() and p.name != STAMP), " ".join(missing))


def built_here(entries: Sequence[Entry], conditions: Iterable[Condition]) -> list[Server]:
    """The servers that these conditions start from what this host builds, at the releases that they name; each once."""
    found = (e.server.at(c.env) for c in conditions if c.runtime not in IN_IMAGES for e in entries)
    return list({server.label: server for server in found}.values())
