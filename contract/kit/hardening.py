"""Checks of a container's permissions and settings; each returns the violations it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kit.docker import execute, inspect
from kit.rules import DRAIN, info

USER = "10001"
FILTERED = "2"
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
ROOTS_PROBE = (
    'for folder in / /etc /opt /usr /var; do if (: >"$folder/.probe") 2>/dev/null; then echo "$folder"; fi; done'
)
OWN_PROBE = (
    r"find / \( -path /proc -o -path /sys -o -path /dev -o -path /tmp \) -prune -o ! -type l -writable -print"
    " 2>/dev/null | head -n 5"
)
TMP_PROBE = "(: >/tmp/.probe) 2>/dev/null && rm /tmp/.probe && echo writable || true"


def violations(container: str, port: int) -> list[str]:
    """Return everything that is wrong with a running container whose server is reachable at `port`."""
    facts = inspect(container)
    status = _fields(execute(container, "cat", "/proc/1/status"))
    return [
        *of_user(status),
        *of_privileges(status),
        *of_files(container),
        *of_first_process(port),
        *of_reach(facts),
        *of_limits(facts),
        *of_life(facts),
    ]


def of_user(status: Mapping[str, str]) -> Iterator[str]:
    for key in ("Uid", "Gid"):
        if set(status[key].split()) != {USER}:
            yield f"{key} is {status[key]}, not {USER}"
    if not set(status["Groups"].split()) <= {USER}:
        yield f"Groups are {status['Groups']}"


def of_privileges(status: Mapping[str, str]) -> Iterator[str]:
    for key in CAPABILITY_SETS:
        if int(status[key], 16):
            yield f"{key} is {status[key]}, not 0"
    if status["NoNewPrivs"] != "1":
        yield f"NoNewPrivs is {status['NoNewPrivs']}, not 1"
    if status.get("Seccomp", FILTERED) != FILTERED:  # a kernel without seccomp has no such line
        yield f"Seccomp is {status['Seccomp']}, not {FILTERED}: the engine's filter of system calls is off"


def of_files(container: str) -> Iterator[str]:
    """Try to write as the server and as root, which only a read-only file system stops."""
    for folder in execute(container, "sh", "-c", ROOTS_PROBE, user="0").split():
        yield f"root can write to {folder}"
    for path in execute(container, "sh", "-c", OWN_PROBE).splitlines():
        yield f"the server can write to {path}"
    if execute(container, "sh", "-c", TMP_PROBE) != "writable\n":
        yield "the server cannot write to /tmp"


def of_first_process(port: int) -> Iterator[str]:
    pid = info(port)["pid"]
    if pid != 1:
        yield f"the server is process {pid}, not 1, so that signals reach it only through another"


def of_reach(facts: Mapping[str, Any]) -> Iterator[str]:
    """Check which addresses reach the container, and which parts of the host it can reach."""
    for found in facts["NetworkSettings"]["Ports"].values():
        for binding in found or []:
            if binding["HostIp"] != "127.0.0.1":
                yield f"a port is published on {binding['HostIp'] or 'every address'}"
    for key in ("NetworkMode", "PidMode", "IpcMode", "UTSMode"):
        if facts["HostConfig"][key] == "host":
            yield f"{key} is the host's"
    for mount in facts["Mounts"]:
        if mount["Type"] != "tmpfs":
            yield f"a {mount['Type']} is mounted at {mount['Destination']}"


def of_limits(facts: Mapping[str, Any]) -> Iterator[str]:
    """Check the process limit. Only the environment limits memory, because a fixed limit would affect measurements."""
    if (facts["HostConfig"]["PidsLimit"] or 0) <= 0:
        yield "processes and threads are not limited"


def of_life(facts: Mapping[str, Any]) -> Iterator[str]:
    grace = facts["Config"].get("StopTimeout") or 10
    if grace <= DRAIN:
        yield f"{grace} s until it is killed do not hold the {DRAIN} s of draining"
    if facts["HostConfig"]["RestartPolicy"]["Name"] in ("", "no"):
        yield "it is not started again after a crash"
    check = " ".join((facts["Config"].get("Healthcheck") or {}).get("Test") or ["NONE"])
    if check == "NONE":
        yield "there is no health check"
    if "curl" in check or "wget" in check:
        yield f"the health check needs a tool that servers do not: {check}"


def without_common_base(layers: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the images whose first layer differs from that of the first image."""
    base = next(iter(layers.values()))[0]
    return [image for image, own in layers.items() if own[0] != base]


def _fields(text: str) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
