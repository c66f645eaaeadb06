"""The environment that measured programs start with: chosen here, whatever the caller's shell has set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

FOLDER = "{folder}"
"""Stands for a program's temporary folder where an environment is stored."""
CALLERS = "{caller's}"
"""Stands for a value that is not stored, as it may be a secret."""

PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

DISTURBING = {
    *("DEBUG", "TRACE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "JAVA_OPTS"),
    *("GLIBC_TUNABLES", "RUST_LOG"),
}
"""Variables that change how a server runs, and that people have in their shells."""

DISTURBING_PREFIXES = ("SPRING_", "SERVER_", "LOGGING_", "MANAGEMENT_", "MALLOC_", "_RJEM_MALLOC_", "TOKIO_", "LD_")
OWN = {"SERVER_ADDRESS", "SERVER_CPUS", "SERVER_MEMORY", "SERVER_PIDS"}
"""Settings of the harness whose names begin like those of a framework."""


def chosen(folder: str) -> dict[str, str]:
    """Return the variables that every measured program gets; `folder` is its home and temporary folder."""
    return {"PATH": PATHS, "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def left_behind(environ: Mapping[str, str], reaching: Iterable[str] = ()) -> str | None:
    """Return a line that names the disturbing variables of the caller's shell; None where it has none.

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
        f"not passed on to servers: {', '.join(found)}. To measure their effect: VARY=flags=… for a JVM's flags and "
        "properties; any other variable if server.toml lists it in a variant's settings"
    )
