"""What conditions can be met here: releases of a server's framework, and processors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zoo.catalog.manifest import Entry, Server
from zoo.host.processors import ALLOWED
from zoo.model.condition import Condition
from zoo.model.cores import Cores
from zoo.model.errors import UserError
from zoo.model.jdk import MINIMUM, major_of


class ConditionError(UserError):
    """A condition that cannot be met; the message says why, and what can."""


def release_settings(entries: Sequence[Entry]) -> list[str]:
    """Variables that name a release of a server of these."""
    return list(dict.fromkeys(r.setting for e in entries if (r := e.server.manifest.release)))


def checked(condition: Condition, entries: Sequence[Entry]) -> Condition:
    """The condition, if a release that it names goes with its JDK, and if there are so many processors."""
    for server in {e.server.name: e.server for e in entries}.values():
        _check_release(server, condition)
    if condition.runtime == "process" and condition.cpus is not None:
        _check_processors(condition.cpus, condition.cores)
    return condition


def check_release_setting(setting: str, entries: Sequence[Entry]) -> None:
    """Entries that it does not concern would be measured twice under one condition."""
    for entry in entries:
        release = entry.server.manifest.release
        if release is None or release.setting != setting:
            raise ConditionError(f"{setting} does not concern {entry.server.name}: choose by --server whom it does")


def _check_release(server: Server, condition: Condition) -> None:
    release = server.manifest.release
    version = condition.env.get(release.setting) if release else None
    if release is None or version is None:
        return
    if condition.runtime == "vm":
        raise ConditionError(f"{release.setting} is for processes and containers")
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        raise ConditionError(f'{release.setting} must be a release such as 1.2.3, got "{version}"')
    newest = release.newest_java(version)
    if newest is None or condition.jdk is None or major_of(condition.jdk) <= newest:
        return
    title = f"{server.manifest.title} {version}"
    if newest < MINIMUM:
        raise ConditionError(f"{title} supports Java up to {newest}, and the zoo needs {MINIMUM}")
    raise ConditionError(f"{title} supports Java up to {newest}, not {condition.jdk}: choose one by JDK={newest}")


def _check_processors(cpus: float, cores: Cores | None) -> None:
    here = len(cores.server if cores else ALLOWED)
    if not cpus.is_integer() or not 1 <= cpus <= here:
        raise ConditionError(f"a process can have 1 to {here} whole processors here, not {cpus:g}")
