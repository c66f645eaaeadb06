"""What this machine allows, and what would mend it."""

from __future__ import annotations

import shutil

import typer

from zoo.cli import checkout
from zoo.cli.screen import console
from zoo.host import doctor as doctors
from zoo.host import facts
from zoo.host.doctor import Check
from zoo.host.engine import Engine, EngineError
from zoo.host.jdk import JdkError, find_jdk
from zoo.load.vegeta import BUILT
from zoo.model.host import EngineFacts
from zoo.runtime.vm import machine


def command() -> None:
    """What this machine allows, tier by tier, and what would mend it. Changes nothing."""
    try:
        jdk = find_jdk()
    except JdkError:
        jdk = None
    here, lacking = facts.gather(jdk), machine.missing()
    guest = doctors.virtual_host(here, lacking, None if lacking else machine.qemu_version(), machine.has_device())
    found = [
        *doctors.checks(here, facts.rust_needed(checkout.ROOT)),
        _generators(),
        doctors.container_engine(here, _engine()),
        guest,
    ]
    doctors.show(found, console)
    raise typer.Exit(1 if doctors.worst(found) == "bad" else 0)


def _engine() -> EngineFacts | EngineError:
    """What a run in containers would find."""
    try:
        return Engine().usable()
    except EngineError as error:
        return error


def _generators() -> Check:
    """Those that scenarios need besides wrk."""
    there = {"vegeta": BUILT.exists() or shutil.which("vegeta"), "ab": shutil.which("ab")}
    return doctors.load_generators({name: bool(path) for name, path in there.items()})
