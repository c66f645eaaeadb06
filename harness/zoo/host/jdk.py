"""Discovery of the JDKs on this machine."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from zoo.core.errors import UserError
from zoo.core.host_facts import MINIMUM_JDK, Jdk, feature_release, version_key
from zoo.host.files import read_text

# Folders in which Debian, RHEL, SUSE, container images, SDKMAN, asdf, mise and IDEs put JDK homes.
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

# The launchers in /usr/bin are only links to a JDK.
NOT_A_HOME = Path("/usr")

HOW_TO_GET_ONE = (
    "install one (Debian/Ubuntu: apt install openjdk-{n}-jdk, Fedora/RHEL: dnf install java-{n}-openjdk-devel, "
    "or Eclipse Temurin with SDKMAN: sdk install java), or set JAVA_HOME"
)


PREBUILT = "ZOO_PREBUILT"
"""Variable that says where the servers were built if this machine has no compilers for them, as in the image `zoo`."""


class JdkError(UserError):
    """The failure to find a suitable JDK."""


def parse_release(text: str) -> dict[str, str]:
    """Return the key="value" lines of a JDK's `release` file."""
    return {key: value for key, value in re.findall(r'^(\w+)="?([^"\n]*)"?\s*$', text, re.MULTILINE) if value}


def parse_java_version(text: str) -> str | None:
    """Return the version that `java -version` prints: the build if there is one, otherwise the quoted version."""
    build = re.search(r"\(build ([^\s)]+)\)", text)
    quoted = re.search(r'version "([^"]+)"', text)
    found = build or quoted
    return tidy_version(found.group(1)) if found else None


def tidy_version(text: str) -> str | None:
    """Remove a vendor's suffix from a version; None if it does not begin with a number.

    `25.0.1+8-LTS` -> `25.0.1+8`, `17.0.15+6-Debian-1` -> `17.0.15+6`, `1.8.0_402-b06` -> `1.8.0_402`.
    """
    found = re.match(r"[0-9]+(?:\.[0-9]+)*(?:_[0-9]+)?(?:-ea)?(?:\+[0-9]+)?", text.strip())
    return found.group(0) if found else None


def find_jdks() -> list[Jdk]:
    """Return every JDK found: first JAVA_HOME's, then the one on PATH, then those in the usual folders."""
    found: dict[Path, Jdk] = {}
    for home in _candidate_homes():
        try:
            real = home.resolve()
            jdk = None if real in found else read_jdk(real)
        except (OSError, RuntimeError):  # a folder that may not be read, or a loop of links
            continue
        if jdk:
            found[real] = jdk
    return list(found.values())


def read_jdk(home: Path) -> Jdk | None:
    """Return the JDK at `home`; None if there is none, or only a runtime although servers are built here."""
    java = home / "bin" / "java"
    compiles = PREBUILT in os.environ or _is_executable(home / "bin" / "javac")
    if home == NOT_A_HOME or not _is_executable(java) or not compiles:
        return None
    release = parse_release(read_text(home / "release"))
    # JAVA_RUNTIME_VERSION includes the build; older JDKs and some vendors have only JAVA_VERSION
    named = (release.get(key, "") for key in ("JAVA_RUNTIME_VERSION", "SEMANTIC_VERSION", "JAVA_VERSION"))
    version = next(filter(None, map(tidy_version, named)), None) or parse_java_version(_java_version_output(java))
    if version is None:
        return None
    return Jdk(home, java, version, feature_release(version), release.get("IMPLEMENTOR", "unknown"))


def find_jdk(wanted: str | int | None = None) -> Jdk:
    """Return JAVA_HOME's JDK if it is suitable, otherwise the newest suitable one."""
    return choose_jdk(find_jdks(), wanted, _java_home())


def choose_jdk(jdks: list[Jdk], wanted: str | int | None = None, java_home: Path | None = None) -> Jdk:
    """Return the best match; `wanted` is a feature release (25), the start of a version (25.0.1), or a JDK's folder."""
    fit = [jdk for jdk in jdks if jdk.major >= MINIMUM_JDK and (wanted is None or _matches(jdk, str(wanted)))]
    if not fit:
        raise JdkError(_explain_no_jdk(jdks, wanted, java_home))
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


def _explain_no_jdk(jdks: list[Jdk], wanted: str | int | None, java_home: Path | None) -> str:
    found = "found " + ", ".join(jdk.label for jdk in jdks) if jdks else "found no JDK"
    if java_home and java_home.resolve() not in (jdk.home for jdk in jdks):
        found = f"JAVA_HOME ({java_home}) is not a JDK; {found}"
    need = (
        f"the zoo needs {MINIMUM_JDK} or newer"
        if wanted is None
        else f"JDK {wanted} was requested, and the zoo needs {MINIMUM_JDK} or newer"
    )
    digits = re.match(r"[0-9]+", str(wanted or ""))
    release = max(MINIMUM_JDK, int(digits.group(0)) if digits else MINIMUM_JDK)
    return f"{found}; {need}: {HOW_TO_GET_ONE.format(n=release)}"


def _candidate_homes() -> Iterator[Path]:
    if java_home := _java_home():
        yield java_home
    if java := shutil.which("java"):
        yield _home_of(Path(java).resolve())
    sdkman = os.environ.get("SDKMAN_DIR")
    for pattern in (*FOLDERS, *([f"{sdkman}/candidates/java/*"] if sdkman else [])):
        # unlike Path's equivalents, these fail neither without a home nor at an unreadable folder
        path = os.path.expanduser(pattern)  # noqa: PTH111
        yield from map(Path, sorted(glob(path)) if path.startswith("/") else [])  # noqa: PTH207


def _java_home() -> Path | None:
    value = os.environ.get("JAVA_HOME")
    return Path(value).expanduser() if value else None


def _home_of(java: Path) -> Path:
    """Return the JDK's home for a launcher; Java 8 keeps its launcher in jre/bin."""
    home = java.parent.parent
    return home.parent if home.name == "jre" else home


def _is_executable(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


def _java_version_output(java: Path) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stderr + done.stdout
