"""Options and fixtures. Every test that takes `target` or `server` runs once per entry."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from kit.compose import Compose
from kit.container import ContainerRuntime
from kit.docker import DockerFailed
from kit.paths import FAKE, ZOO
from kit.process import ProcessRuntime
from kit.scheduling import ByEntry
from kit.server import Runtime, Server, Unusable
from kit.shared import Life, LongSleep, SmallPool, bare_life, few_threads, life_of_small_pool, shared_server
from kit.targets import Target, manifest_targets, zoo_targets
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

TARGETS = pytest.StashKey[list[Target]]()
FIRSTS = pytest.StashKey[dict[str, Target]]()
"""First variant of each selected server, selected or not; tests that run once per server use it."""

RUNTIME = pytest.StashKey[Runtime]()
RUN = pytest.StashKey[str]()

POLITE = (signal.SIGINT, signal.SIGTERM)
"""Signals that end the suite but let it clean up."""

ELSEWHERE = {
    "process": ("test_container.py", "test_container_suite_can_fail.py"),
    "container": ("test_readmes.py", "test_suite_can_fail.py"),
}
"""Test files that do not apply to a runtime, because they test containers only or processes only."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("contract")
    group.addoption("--entry", action="append", default=[], metavar="SERVER:VARIANT", help="only this entry (repeat)")
    group.addoption("--server", action="append", default=[], metavar="SERVER", help="only this server, or all (repeat)")
    group.addoption("--list-entries", action="store_true", help="print the entries and end")
    group.addoption("--root", type=Path, default=ZOO, help="the folder that holds the servers' folders")
    group.addoption("--manifest", type=Path, help="test the server of this server.toml instead of the zoo's")
    group.addoption("--runtime", choices=sorted(ELSEWHERE), default="process", help="how servers are started")
    group.addoption("--all", action="store_true", help="all tests, not the smoke part alone")
    group.addoption("--run", metavar="NAME", help="the run's name, in the label of its containers (default: random)")


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background job ignores SIGINT, and every server started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers",
        "smoke: what a container can break; without --all, all that is tested in containers and, as processes, of a "
        "server that is measured only on request and not named: its first variant, and each one with each_variant",
    )
    config.addinivalue_line("markers", "first_variant: asked of one variant of each server, as dear")
    config.addinivalue_line("markers", "process_only: makes no sense for a container")
    known = known_targets(config)
    config.stash[TARGETS] = chosen_targets(config, known)
    servers = {target.server for target in config.stash[TARGETS]}
    config.stash[FIRSTS] = {t.server: t for t in known if t.server in servers and t.variant == t.variants[0]}
    config.stash[RUN] = workerinput(config).get("run") or config.getoption("--run") or uuid.uuid4().hex[:8]
    config.stash[RUNTIME] = chosen_runtime(config)


def known_targets(config: pytest.Config) -> list[Target]:
    manifest: Path | None = config.getoption("--manifest")
    targets = manifest_targets(manifest) if manifest else zoo_targets(config.getoption("--root"))
    if not manifest and config.getoption("--runtime") == "process":
        targets += manifest_targets(FAKE)
    return targets


def chosen_targets(config: pytest.Config, targets: list[Target]) -> list[Target]:
    chosen: list[str] = config.getoption("--entry")
    known = [target.id for target in targets]
    for name in chosen:
        if name not in known:
            raise pytest.UsageError(f'no entry "{name}"; known: {", ".join(known)}')
    servers: list[str] = config.getoption("--server")
    if "all" in servers:
        servers = []
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
    """Interrupt like Ctrl-C, and ignore further signals during cleanup (`timeout` sends two)."""
    for polite in POLITE:
        signal.signal(polite, lambda *_: None)
    raise KeyboardInterrupt


def workerinput(config: pytest.Config) -> dict[str, str]:
    """Return what the controller of pytest-xdist passed to this worker; empty if this process is not a worker."""
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
    """Clean up after all workers. Unless the run was interrupted, anything left behind fails it."""
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
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByEntry:
    targets = config.stash[TARGETS]
    return ByEntry(config, log, [target.id for target in targets], {target.server for target in targets})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that do not apply to an entry or to the runtime."""
    others = [item for item in items if not (_concerned(item) and _of_runtime(config, item))]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def _of_runtime(config: pytest.Config, item: pytest.Item) -> bool:
    runtime = config.stash[RUNTIME].name
    if item.path.name in ELSEWHERE[runtime]:
        return False
    if runtime == "container" and item.get_closest_marker("process_only"):
        return False
    if not _smoke_alone(config, item) or item.path.name in ELSEWHERE["process"]:
        return True
    smoke = item.get_closest_marker("smoke")
    return smoke is not None and (bool(smoke.kwargs.get("each_variant")) or _of_first_variant(item))


def _smoke_alone(config: pytest.Config, item: pytest.Item) -> bool:
    if config.getoption("--all"):
        return False
    if config.stash[RUNTIME].name == "container":
        return True
    named = config.getoption("--server") or config.getoption("--entry")
    targets = config.stash[TARGETS]
    usual = {target.server for target in targets if not target.on_request}
    on_request = [target.id if target.server in usual else target.server for target in targets if target.on_request]
    return not named and any(_parameters(item).startswith(name) for name in on_request)


def _parameters(item: pytest.Item) -> str:
    return item.name.partition("[")[2]


def _of_first_variant(item: pytest.Item) -> bool:
    """Return True if a test runs on a first variant, on a server or on no target at all."""
    variants = [target.id for target in item.config.stash[TARGETS]]
    firsts = [first.id for first in item.config.stash[FIRSTS].values()]
    return not any(_parameters(item).startswith(id) for id in variants if id not in firsts)


def _concerned(item: pytest.Item) -> bool:
    match item.path.name:
        case "test_tomcat.py":
            return "[java-tomcat" in item.name
        case "test_vertx.py":
            return "[java-vertx" in item.name
        case "test_readmes.py":
            return "[fake]" not in item.name
    return not item.get_closest_marker("first_variant") or _of_first_variant(item)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once per entry, per server, or per distinct start (a JVM server's variants share theirs)."""
    targets, firsts = metafunc.config.stash[TARGETS], metafunc.config.stash[FIRSTS]
    if "target" in metafunc.fixturenames:
        metafunc.parametrize("target", targets, ids=[t.id for t in targets], scope="session")
    elif "starting_target" in metafunc.fixturenames:
        chosen = [*[t for t in firsts.values() if t.jvm], *[t for t in targets if not t.jvm]]
        metafunc.parametrize("starting_target", chosen, ids=[t.id for t in chosen])
    elif "folder_target" in metafunc.fixturenames:
        metafunc.parametrize("folder_target", firsts.values(), ids=list(firsts), scope="session")


@pytest.fixture(scope="session")
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return request.config.stash[RUNTIME]


@pytest.fixture(scope="session")
def containers(runtime: Runtime) -> ContainerRuntime:
    """Return the runtime for tests that run with containers only."""
    assert isinstance(runtime, ContainerRuntime)
    return runtime


@pytest.fixture(scope="session")
def any_target(request: pytest.FixtureRequest) -> Target:
    """Return an entry that starts quickly, for tests of behavior that does not differ between entries."""
    targets = request.config.stash[TARGETS]
    return min(targets, key=lambda target: target.jvm)


@pytest.fixture(scope="session")
def running(target: Target, runtime: Runtime) -> Iterator[tuple[Server, LongSleep]]:
    with shared_server(runtime, target) as both:
        yield both


@pytest.fixture(scope="session")
def server(running: tuple[Server, LongSleep]) -> Server:
    return running[0]


@pytest.fixture(scope="session")
def long_sleep(running: tuple[Server, LongSleep]) -> LongSleep:
    return running[1]


@pytest.fixture(scope="session")
def port(server: Server) -> int:
    return server.port


@pytest.fixture(scope="session")
def small_pool(target: Target, runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallPool]:
    with few_threads(runtime, target, tmp_path_factory.mktemp("tmp")) as pool:
        yield pool


@pytest.fixture(scope="session")
def life(target: Target, runtime: Runtime, small_pool: SmallPool) -> Life:
    return life_of_small_pool(runtime, target, small_pool)


@pytest.fixture(scope="session")
def bare(folder_target: Target, runtime: Runtime) -> Life:
    return bare_life(runtime, folder_target)
