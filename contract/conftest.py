"""Options and fixtures: every test that takes `target` or `server` runs once for each entry."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.paths import ZOO
from kit.process import Server, serving
from kit.rules import info
from kit.scheduling import ByServer
from kit.shared import LongSleep, SmallPool
from kit.targets import Target, manifest_targets, zoo_targets
from xdist.remote import Producer  # type: ignore[import-untyped]

TARGETS = pytest.StashKey[list[Target]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contract")
    group.addoption("--entry", action="append", default=[], metavar="SERVER:VARIANT", help="only this entry (repeat)")
    group.addoption("--server", action="append", default=[], metavar="SERVER", help="only this server (repeat)")
    group.addoption("--list-entries", action="store_true", help="print the entries and end")
    group.addoption("--root", type=Path, default=ZOO, help="the folder that holds the servers' folders")
    group.addoption("--manifest", type=Path, help="test the server of this server.toml instead of the zoo's")


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background job has it ignored, and so would every server that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    manifest: Path | None = config.getoption("--manifest")
    targets = manifest_targets(manifest) if manifest else zoo_targets(config.getoption("--root"))
    chosen: list[str] = config.getoption("--entry")
    known = [target.id for target in targets]
    for name in chosen:
        if name not in known:
            raise pytest.UsageError(f'no entry "{name}"; known: {", ".join(known)}')
    servers: list[str] = config.getoption("--server")
    for name in servers:
        if name not in {target.server for target in targets}:
            raise pytest.UsageError(f'no server "{name}"; known: {", ".join(sorted({t.server for t in targets}))}')
    config.stash[TARGETS] = [
        target
        for target in targets
        if (not chosen or target.id in chosen) and (not servers or target.server in servers)
    ]


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.getoption("--list-entries"):
        return None
    for target in config.stash[TARGETS]:
        print(f"{target.id}  {target.model}")
    return 0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByServer:
    return ByServer(config, log, {target.server for target in config.stash[TARGETS]})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What java-tomcat has besides the contract is not asked of others."""
    others = [item for item in items if item.path.name == "test_tomcat.py" and "[java-tomcat:" not in item.name]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run for each entry, or for each server."""
    targets = metafunc.config.stash[TARGETS]
    if "target" in metafunc.fixturenames:
        metafunc.parametrize("target", targets, indirect=True, ids=[t.id for t in targets], scope="session")
    elif "folder_target" in metafunc.fixturenames:
        firsts = {t.server: t for t in reversed(targets)}
        metafunc.parametrize("folder_target", list(firsts.values()), indirect=True, ids=list(firsts))


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Target:
    chosen: Target = request.param
    return chosen


@pytest.fixture
def folder_target(request: pytest.FixtureRequest) -> Target:
    chosen: Target = request.param
    return chosen


@pytest.fixture(scope="session")
def running(target: Target) -> Iterator[tuple[Server, LongSleep]]:
    with serving(target, low_nofile=True) as started:
        sleep = LongSleep()
        sleep.start(started.port)
        yield started, sleep


@pytest.fixture(scope="session")
def server(running: tuple[Server, LongSleep]) -> Server:
    """The one server process that most tests of an entry share; started with a low soft descriptor limit."""
    return running[0]


@pytest.fixture(scope="session")
def long_sleep(running: tuple[Server, LongSleep]) -> LongSleep:
    return running[1]


@pytest.fixture(scope="session")
def small_pool(target: Target) -> Iterator[SmallPool]:
    threads, backlog = 4, 1000
    with serving(target, {"MAX_THREADS": str(threads), "BACKLOG": str(backlog)}) as started:
        yield SmallPool(started.port, threads, backlog, info(started.port))


@pytest.fixture(scope="session")
def port(server: Server) -> int:
    return server.port
