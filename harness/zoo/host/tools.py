"""The programs the zoo uses, and their versions."""

import re
import shutil
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from zoo.model.host import Tools

# wrk and Docker's client have their own way to be asked; `docker version` would wait for the engine.
COMMANDS = {
    "wrk": ["wrk", "-v"],
    "cargo": ["cargo", "--version"],
    "rustc": ["rustc", "--version"],
    "maven": ["mvn", "--version"],
    "docker": ["docker", "--version"],
}
ENGINE = ["docker", "version", "--format", "{{.Server.Version}}"]


def parse_version(text: str) -> str | None:
    """The first version in what a tool prints: `wrk debian/4.1.0-3+b2 [epoll]` -> `4.1.0-3+b2`.

    A wrk built from a clone without tags names a commit, one built from an archive nothing.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = re.search(r"(?<![0-9.])[0-9]+\.[0-9]+[0-9A-Za-z.+~-]*", plain)
    if found:
        return found.group(0).rstrip(".-")
    wrk = re.match(r"wrk (\S*) \[", plain)
    return wrk.group(1) or "unknown" if wrk else None


def find_tools() -> Tools:
    """Asks all of them at once; none is waited for longer than a few seconds."""
    with ThreadPoolExecutor() as pool:
        engine = pool.submit(_engine)
        versions = dict(zip(COMMANDS, pool.map(_version, COMMANDS.values()), strict=True))
        return Tools(**versions, engine=engine.result())


def rust_needed(root: Path) -> str | None:
    """The oldest version of Rust that builds the servers below this folder, as their Cargo.toml say."""
    named = [tomllib.loads(path.read_text(encoding="utf-8"))["package"] for path in root.glob("*/Cargo.toml")]
    return max((package["rust-version"] for package in named if "rust-version" in package), default=None)


def _version(command: list[str]) -> str | None:
    return parse_version(_ask(command, 10))


def _engine() -> str | None:
    """The engine's version if one answers. Without one Docker prints an error, sometimes with exit code 0."""
    return parse_version(_ask(ENGINE, 3, errors=False))


def _ask(command: list[str], timeout_s: float, errors: bool = True) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr if errors else done.stdout
