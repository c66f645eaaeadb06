"""Finds the JDKs of this machine."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from zoo.host.cgroup import read_text
from zoo.model.errors import UserError
from zoo.model.host import MINIMUM, Jdk, major_of, version_key

# Where Debian, RHEL, SUSE, container images, SDKMAN, asdf, mise and IDEs put JDK homes.
FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/lib64/jvm/*",
    "/usr/java/*",
    "/usr/local/java/*",
    "/opt/*",
    "/opt/java/*",
    "~/.sdkman/candidates/java/*",
    "~/.asdf/installs/java/*",
    "~/.local/share/mise/installs/java/*",
    "~/.jdks/*",
)

# Its launchers only link to a JDK.
NOT_A_HOME = Path("/usr")

HOW_TO_GET_ONE = (
    "install one (Debian/Ubuntu: apt install openjdk-{n}-jdk, Fedora/RHEL: dnf install java-{n}-openjdk-devel, "
    "or Eclipse Temurin by SDKMAN: sdk install java) or set JAVA_HOME to one"
)


class JdkError(UserError):
    """No JDK fits."""


def parse_release(text: str) -> dict[str, str]:
    """Return the key="value" lines of a JDK's `release` file."""
    return {key: value for key, value in re.findall(r'^(\w+)="?([^"\n]*)"?\s*$', text, re.MULTILINE) if value}


def parse_java_version(text: str) -> str | None:
    """Return the version from what `java -version` prints: the build if it is there, else the quoted version."""
    build = re.search(r"\(build ([^\s)]+)\)", text)
    quoted = re.search(r'version "([^"]+)"', text)
    found = build or quoted
    return tidy_version(found.group(1)) if found else None


def tidy_version(text: str) -> str | None:
    """`25.0.1+8-LTS` -> `25.0.1+8`, `17.0.15+6-Debian-1` -> `17.0.15+6`, `1.8.0_402-b06` -> `1.8.0_402`."""
    found = re.match(r"[0-9]+(?:\.[0-9]+)*(?:_[0-9]+)?(?:-ea)?(?:\+[0-9]+)?", text.strip())
    return found.group(0) if found else None


def find_jdks() -> list[Jdk]:
    """Return every JDK found: JAVA_HOME's first, then the one on PATH, then those of the usual folders."""
    found: dict[Path, Jdk] = {}
    for home in _homes():
        try:
            real = home.resolve()
            jdk = None if real in found else read_jdk(real)
        except (OSError, RuntimeError):  # a folder closed to us, a loop of links
            continue
        if jdk:
            found[real] = jdk
    return list(found.values())


def read_jdk(home: Path) -> Jdk | None:
    """Return the JDK at `home`; None when there is none, or only a runtime without a compiler."""
    java = home / "bin" / "java"
    if home == NOT_A_HOME or not _runs(java) or not _runs(home / "bin" / "javac"):
        return None
    release = parse_release(read_text(home / "release"))
    # JAVA_RUNTIME_VERSION names the build too; older JDKs and some vendors have only JAVA_VERSION
    named = (release.get(key, "") for key in ("JAVA_RUNTIME_VERSION", "SEMANTIC_VERSION", "JAVA_VERSION"))
    version = next(filter(None, map(tidy_version, named)), None) or parse_java_version(_ask(java))
    if version is None:
        return None
    return Jdk(home, java, version, major_of(version), release.get("IMPLEMENTOR", "unknown"))


def find_jdk(wanted: str | int | None = None) -> Jdk:
    """Return JAVA_HOME's JDK if it will do, else the newest that will."""
    return choose(find_jdks(), wanted, _java_home())


def choose(jdks: list[Jdk], wanted: str | int | None = None, java_home: Path | None = None) -> Jdk:
    """Return the best fit; `wanted` is a feature release (25), the start of a version (25.0.1), or a JDK's folder."""
    fit = [jdk for jdk in jdks if jdk.major >= MINIMUM and (wanted is None or _matches(jdk, str(wanted)))]
    if not fit:
        raise JdkError(_complaint(jdks, wanted, java_home))
    preferred = java_home.resolve() if java_home else None
    return max(fit, key=lambda jdk: (jdk.home == preferred, version_key(jdk.version)))


def _matches(jdk: Jdk, wanted: str) -> bool:
    if wanted.isdecimal():
        return jdk.major == int(wanted)
    return (
        wanted in (jdk.version, jdk.home.name)
        or re.match(rf"{re.escape(wanted)}[.+]", jdk.version) is not None
        or ("/" in wanted and Path(wanted).expanduser().resolve() == jdk.home)
    )


def _complaint(jdks: list[Jdk], wanted: str | int | None, java_home: Path | None) -> str:
    found = "found " + ", ".join(jdk.label for jdk in jdks) if jdks else "found no JDK"
    if java_home and java_home.resolve() not in (jdk.home for jdk in jdks):
        found = f"JAVA_HOME ({java_home}) is not a JDK; {found}"
    need = f"need {MINIMUM} or newer" if wanted is None else f"asked for {wanted}, need {MINIMUM} or newer"
    digits = re.match(r"[0-9]+", str(wanted or ""))
    release = max(MINIMUM, int(digits.group(0)) if digits else MINIMUM)
    return f"{found}; {need}: {HOW_TO_GET_ONE.format(n=release)}"


def _homes() -> Iterator[Path]:
    if java_home := _java_home():
        yield java_home
    if java := shutil.which("java"):
        yield _home_of(Path(java).resolve())
    sdkman = os.environ.get("SDKMAN_DIR")
    for pattern in (*FOLDERS, *([f"{sdkman}/candidates/java/*"] if sdkman else [])):
        # unlike those of Path, these fail neither without a home nor at a closed folder
        path = os.path.expanduser(pattern)  # noqa: PTH111
        yield from map(Path, sorted(glob(path)) if path.startswith("/") else [])  # noqa: PTH207


def _java_home() -> Path | None:
    value = os.environ.get("JAVA_HOME")
    return Path(value).expanduser() if value else None


def _home_of(java: Path) -> Path:
    """Java 8 keeps its launcher in jre/bin."""
    home = java.parent.parent
    return home.parent if home.name == "jre" else home


def _runs(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


def _ask(java: Path) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stderr + done.stdout
