"""The environment of measured programs: chosen here, independent of the caller's shell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

FOLDER = "{folder}"
"""Placeholder for a program's temporary folder in a stored environment."""
CALLER_VALUE = "{caller's}"
"""Placeholder for a value that is not stored because it may be a secret."""

PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

DISTURBING = {
    *("DEBUG", "TRACE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JAVA_OPTS"),
    *("GLIBC_TUNABLES", "RUST_LOG"),
}
"""Variables that change how a server runs and that people may have set in their shells."""

DISTURBING_PREFIXES = ("SPRING_", "SERVER_", "LOGGING_", "MANAGEMENT_", "MALLOC_", "_RJEM_MALLOC_", "TOKIO_", "LD_")
OWN = {"SERVER_ADDRESS", "SERVER_CPUS", "SERVER_MEMORY", "SERVER_PIDS"}
"""Settings of the harness whose names begin like a framework's."""


def base_environment(folder: str) -> dict[str, str]:
    """Return the variables that every measured program gets; `folder` is its home and its temporary folder."""
    return {"PATH": PATHS, "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def describe_disturbing(environ: Mapping[str, str], reaching: Iterable[str] = ()) -> str | None:
    """Return a line that names the disturbing variables of the caller's shell; None if there are none.

    `reaching` names the variables that a server's manifest lets through.
    """
    found = sorted(
        name
        for name in set(environ) - OWN - set(reaching)
        if name in DISTURBING or name.startswith(DISTURBING_PREFIXES)
    )
    if not found:
        return None
    return (
        f"not passed on to servers: {', '.join(found)}. To measure their effect, use VARY=flags=… for "
        "a JVM's flags and properties; list any other variable in a variant's settings in server.toml"
    )
