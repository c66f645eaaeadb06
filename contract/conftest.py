"""Options and fixtures: every test that takes `target` or `server` runs once for each entry."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from kit.compose import Compose
from kit.container import ContainerRuntime
from kit.deviations import deviation
from kit.docker import DockerFailed
from kit.paths import ZOO
from kit.process import ProcessRuntime
from kit.rules import info
from kit.scheduling import ByServer
from kit.server import Runtime, Server, Unusable
from kit.shared import LongSleep, SmallPool
from kit.targets import Target, manifest_targets, zoo_targets
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

TARGETS = pytest.StashKey[list[Target]]()
RUNTIME = pytest.StashKey[Runtime]()
RUN = pytest.StashKey[str]()

POLITE = (signal.SIGINT, signal.SIGTERM)
"""What ends the suite, but lets it clean up."""

ELSEWHERE = {
    "process": ("test_container.py", "test_container_suite_can_fail.py"),
    "container": ("test_readmes.py", "test_suite_can_fail.py"),
}
"""Files that say nothing about a runtime: what is promised of containers alone, or of processes alone."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contract")
    group.addoption("--entry", action="append", default=[], metavar="SERVER:VARIANT", help="only this entry (repeat)")
    group.addoption("--server", action="append", default=[], metavar="SERVER", help="only this server (repeat)")
    group.addoption("--list-entries", action="store_true", help="print the entries and end")
    group.addoption("--root", type=Path, default=ZOO, help="the folder that holds the servers' folders")
    group.addoption("--manifest", type=Path, help="test the server of this server.toml instead of the zoo's")
    group.addoption("--runtime", choices=sorted(ELSEWHERE), default="process", help="how servers are started")
    group.addoption("--run", metavar="NAME", help="the run's name, in the label of its containers (default: random)")


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background job has it ignored, and so would every server that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "process_only(reason): makes no sense for a container")
    config.stash[TARGETS] = chosen_targets(config)
    config.stash[RUN] = workerinput(config).get("run") or config.getoption("--run") or uuid.uuid4().hex[:8]
    config.stash[RUNTIME] = chosen_runtime(config)


def chosen_targets(config: pytest.Config) -> list[Target]:
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
    return [
        target
        for target in targets
        if (not chosen or target.id in chosen) and (not servers or target.server in servers)
    ]


def chosen_runtime(config: pytest.Config) -> Runtime:
    if config.getoption("--runtime") == "process":
        return ProcessRuntime()
    if config.getoption("--manifest"):
        raise pytest.UsageError("--runtime container starts the services of docker-compose.yml, not a --manifest")
    for number in POLITE:
        signal.signal(number, interrupt_once)
    return ContainerRuntime(Compose(config.getoption("--root").resolve(), config.stash[RUN]))


def interrupt_once(number: int, frame: FrameType | None) -> None:
    """As Ctrl-C; another signal does not cut off the cleaning up (`timeout` sends two)."""
    for polite in POLITE:
        signal.signal(polite, lambda *_: None)
    raise KeyboardInterrupt


def workerinput(config: pytest.Config) -> dict[str, str]:
    """What the controller tells a worker of pytest-xdist; nothing where this process is no worker."""
    told: dict[str, str] = getattr(config, "workerinput", {})
    return told


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput["run"] = node.config.stash[RUN]


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.getoption("--list-entries"):
        return None
    for target in config.stash[TARGETS]:
        print(f"{target.id}  {target.model}")
    return 0


def pytest_sessionstart(session: pytest.Session) -> None:
    if workerinput(session.config):
        return
    try:
        session.config.stash[RUNTIME].prepare(session.config.stash[TARGETS])
    except Unusable as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Iterator[None]:
    """After all workers and whatever they did: what an interruption left goes, and else nothing may be left."""
    try:
        yield
    finally:
        if not workerinput(session.config):
            clean_up(session, exitstatus)


def clean_up(session: pytest.Session, exitstatus: int) -> None:
    try:
        left = session.config.stash[RUNTIME].finish()
    except DockerFailed as error:
        complaint = f"not all is cleaned up: {error}"
    else:
        if not left or exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        complaint = f"tests left behind, now removed: {', '.join(left)}"
    print(f"\n{complaint}")
    session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByServer:
    return ByServer(config, log, {target.server for target in config.stash[TARGETS]})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What concerns only some entries is not asked of others, nor of a runtime what is another's."""
    runtime = config.stash[RUNTIME].name
    others = [item for item in items if item.path.name in ELSEWHERE[runtime] or not _concerned(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    for item in items:
        mark = item.get_closest_marker("process_only")
        if mark and runtime != "process":
            item.add_marker(pytest.mark.skip(reason=mark.args[0]))
        if reason := deviation(item.name):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _concerned(item: pytest.Item) -> bool:
    match item.path.name:
        case "test_tomcat.py":
            return "[java-tomcat:" in item.name
        case "test_self_tuning.py":
            chosen: Target = item.callspec.params["target"]  # type: ignore[attr-defined]
            return chosen.self_tuning
    return True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run for each entry, or for each server."""
    targets = metafunc.config.stash[TARGETS]
    if "target" in metafunc.fixturenames:
        metafunc.parametrize("target", targets, indirect=True, ids=[t.id for t in targets], scope="session")
    elif "folder_target" in metafunc.fixturenames:
        firsts = {t.server: t for t in reversed(targets)}
        metafunc.parametrize("folder_target", list(firsts.values()), indirect=True, ids=list(firsts))


@pytest.fixture(scope="session")
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return request.config.stash[RUNTIME]


@pytest.fixture(scope="session")
def containers(runtime: Runtime) -> ContainerRuntime:
    """For tests that run with containers only."""
    assert isinstance(runtime, ContainerRuntime)
    return runtime


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Target:
    chosen: Target = request.param
    return chosen


@pytest.fixture
def folder_target(request: pytest.FixtureRequest) -> Target:
    chosen: Target = request.param
    return chosen


@pytest.fixture(scope="session")
def any_target(request: pytest.FixtureRequest) -> Target:
    """One entry, quick to start, for what does not differ between entries."""
    targets = request.config.stash[TARGETS]
    return min(targets, key=lambda target: target.jvm)


@pytest.fixture(scope="session")
def running(target: Target, runtime: Runtime) -> Iterator[tuple[Server, LongSleep]]:
    env = {"MAX_THREADS": "200"} if target.self_tuning else {}
    with runtime.serving(target, env, low_nofile=True) as started:
        sleep = LongSleep()
        sleep.start(started.port)
        yield started, sleep


@pytest.fixture(scope="session")
def server(running: tuple[Server, LongSleep]) -> Server:
    """The one server that most tests of an entry share; started with a low soft descriptor limit.

    A pool that finds its own size is given the size that others have by default, or nothing about it could be foretold.
    """
    return running[0]


@pytest.fixture(scope="session")
def long_sleep(running: tuple[Server, LongSleep]) -> LongSleep:
    return running[1]


@pytest.fixture(scope="session")
def small_pool(target: Target, runtime: Runtime) -> Iterator[SmallPool]:
    threads, backlog = 4, 1000
    with runtime.serving(target, {"MAX_THREADS": str(threads), "BACKLOG": str(backlog)}) as started:
        yield SmallPool(started.port, threads, backlog, info(started.port))


@pytest.fixture(scope="session")
def port(server: Server) -> int:
    return server.port
