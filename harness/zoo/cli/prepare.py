"""Commands that come before a run: list the servers, check this machine's limits, and build."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Annotated

import typer

from zoo.bench.display import Display
from zoo.cli import checkout
from zoo.cli.display import console, display
from zoo.cli.json_output import AsJson, print_json
from zoo.cli.options import Servers, Variants
from zoo.core.host_facts import EngineFacts, Jdk
from zoo.core.manifest import ALL, Entry, Language, Server
from zoo.host import build as building
from zoo.host import doctor, facts
from zoo.host.build import Project, is_built, project_of, servers_to_build
from zoo.host.doctor import Check
from zoo.host.engine import Engine, EngineError
from zoo.host.jdk import PREBUILT, JdkError, find_jdk
from zoo.load.vegeta import BUILT
from zoo.report.section import Section, Table, mark_tables
from zoo.report.text import terminal
from zoo.runtime import conditions
from zoo.runtime.vm import machine


def list_command(
    server: Servers = None,
    variant: Variants = None,
    services: Annotated[
        bool,
        typer.Option(
            "--services", help="print the compose file's service, port and variant for each server, for scripts"
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the server variants.

    Examples:
        zoo list
        zoo list --json
        zoo list --server java-tomcat,rust-axum
        zoo list --services --server java-tomcat --variant virtual
    """
    entries = checkout.catalog().select(server or [ALL], variant or ())
    if services:
        firsts: dict[str, Entry] = {}
        for entry in entries:
            if not entry.server.guest:
                firsts.setdefault(entry.id if variant else entry.server.name, entry)
        for entry in firsts.values():
            print(entry.id.replace(":", "-"), entry.server.manifest.port, entry.id)
        return
    if as_json:
        print_json("list", variants=[_variant_data(entry) for entry in entries])
        return
    rows = [
        [entry.id, entry.variant.model, str(entry.server.manifest.port), entry.variant.description] for entry in entries
    ]
    columns = ["variant", "thread model", "port", "description"]
    section = Section("Server variants", tables=[Table("", columns, rows, text=len(columns))])
    terminal.print_sections([mark_tables(section, checkout.catalog().synthetic)], console)


def _variant_data(entry: Entry) -> dict[str, object]:
    """Return a server variant as data."""
    return {
        "id": entry.id,
        "server": entry.server.name,
        "variant": entry.variant.name,
        "thread_model": entry.variant.model,
        "port": entry.server.manifest.port,
        "description": entry.variant.summary,
    }


def doctor_command(as_json: AsJson = False) -> None:
    """Check this machine's limits and suggest fixes, without changing anything.

    Exit with code 1 if a limit prevents measuring.

    Examples:
        zoo doctor
        zoo doctor --json
    """
    try:
        jdk = find_jdk()
    except JdkError:
        jdk = None
    host, builds = facts.gather(jdk), PREBUILT not in os.environ
    found = [*doctor.checks(host, facts.minimum_rust(checkout.ROOT), builds=builds), _check_generators()]
    if builds:
        missing = machine.missing()
        guest = doctor.virtual_host(host, missing, None if missing else machine.qemu_version(), machine.has_device())
        found += [doctor.container_engine(host, _find_engine()), guest]
    if as_json:
        print_json("doctor", checks=found, worst=doctor.worst_state(found))
    else:
        doctor.print_checks(found, console)
    raise typer.Exit(1 if doctor.worst_state(found) == "bad" else 0)


def _find_engine() -> EngineFacts | EngineError:
    """Return the container engine that a run would use, or why none is usable."""
    try:
        return Engine().check_usable()
    except EngineError as error:
        return error


def _check_generators() -> Check:
    """Check for the load generators that scenarios need in addition to wrk."""
    installed = {"vegeta": BUILT.exists() or shutil.which("vegeta"), "ab": shutil.which("ab")}
    return doctor.load_generators({name: bool(path) for name, path in installed.items()})


PARALLEL_BUILDS = 2
"""Number of simultaneous builds: while one build links or resolves dependencies, another can use the idle cores."""


def build_command(
    server: Servers = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="record what was built elsewhere as built", hidden=True)
    ] = False,
) -> None:
    """Build all servers whose sources changed, or those that are named.

    Examples:
        zoo build
        zoo build --server rust-axum
    """
    entries = checkout.catalog().select(server or [ALL])
    condition = conditions.condition_of("process", entries, checkout.ROOT)
    if adopt:
        for one in servers_to_build(entries, [condition]):
            if project := project_of(one, None):
                building.adopt(project)
        return
    build_all(servers_to_build(entries, [condition]), conditions.jdk_for(entries), display)


def build_all(servers: Sequence[Server], jdk: Jdk | None, output: Display) -> None:
    """Build those of the servers that are stale or not built yet."""
    build_projects([project for server in servers if (project := project_of(server, jdk))], output)


def build_projects(projects: Sequence[Project], output: Display) -> None:
    """Build the projects that are stale or not built yet, two at a time; native ones first, as they take longest."""
    todo = sorted((p for p in projects if not is_built(p)), key=lambda p: p.language is Language.JAVA)
    if not todo:
        return
    with output.status(f"building {', '.join(p.name for p in todo)}"), ThreadPoolExecutor(PARALLEL_BUILDS) as pool:
        started = {pool.submit(building.build, project): project for project in todo}
        for done in as_completed(started):
            done.result()
            output.line(f"built {started[done].name}")
