"""Tests of `/info`: it has exactly the specified keys, and its values are true, above all the thread model."""

import json
import re

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from kit.delays import LONGER, begin, connections
from kit.rules import info, openapi
from kit.server import Server
from kit.shared import Life, SmallPool
from kit.targets import Target
from kit.wire import Wire, fetch, request

SLEEPERS = 150


def test_keys_and_types(port: int) -> None:
    schema = openapi()["components"]["schemas"]["Info"]
    errors = [f"{list(error.path)}: {error.message}" for error in Draft202012Validator(schema).iter_errors(info(port))]
    assert not errors, f"/info does not match its schema: {errors}"


@pytest.mark.smoke(each_variant=True)
def test_says_which_entry_it_is(port: int, target: Target, server: Server) -> None:
    told = info(port)
    assert told["server"] == target.server
    assert told["variant"] == target.variant
    assert told["model"] == target.model
    assert told["pid"] == server.own_pid


def test_thread_is_virtual_exactly_where_the_variant_says_so(port: int, target: Target) -> None:
    virtual = target.model == "virtual-thread"
    with Wire(port) as wire:
        for _ in range(20):
            told = json.loads(wire.get("/info").body)
            assert told["virtual"] is virtual, f"handled on {told['thread']!r}, virtual: {told['virtual']}"


def test_os_threads_grow_with_sleepers_exactly_on_platform_threads(port: int, server: Server, target: Target) -> None:
    """Check that 150 active sleepers hold 150 OS threads if each holds one; otherwise the count hardly changes."""
    before = _threads(server)
    for delay in LONGER[1:]:
        with connections(port, SLEEPERS) as wires:
            begin(port, wires, request(f"/sleep?ms={delay * 1000:.0f}"))
            during = _threads(server)
            if all(wire.silent for wire in wires) and (during >= SLEEPERS or not target.bounded):
                break
    if target.bounded:
        assert during >= SLEEPERS, f"{SLEEPERS} sleepers on {during} OS threads: not a thread each"
    else:
        assert during - before < SLEEPERS // 2, f"{before} OS threads became {during} with {SLEEPERS} sleepers"


@pytest.mark.smoke
def test_limits_are_raised(port: int, server: Server, target: Target) -> None:
    """Check that the server has raised its soft limit of 1,024 descriptors to the hard limit."""
    limits = info(port)["limits"]
    soft, hard = _nofile(server)
    assert soft >= hard - 1, "soft descriptor limit was not raised"  # Go's runtime stops one below the hard limit
    assert limits["backlog"] == 65535
    assert limits["max_connections"] is None or limits["max_connections"] > 25_000
    _check_max_threads(limits["max_threads"], target, 200)


def test_limits_by_default(bare: Life, folder_target: Target) -> None:
    """Check that a self-tuning pool has no bound by default; all other tests set MAX_THREADS for it."""
    assert bare.limits["backlog"] == 65535
    if folder_target.self_tuning:
        assert bare.limits["max_threads"] is None
    else:
        _check_max_threads(bare.limits["max_threads"], folder_target, 200)


@pytest.mark.smoke
def test_limits_follow_the_environment(small_pool: SmallPool, target: Target) -> None:
    limits = small_pool.first_info["limits"]
    assert limits["backlog"] == small_pool.backlog
    _check_max_threads(limits["max_threads"], target, small_pool.threads)


def test_requests_are_counted(small_pool: SmallPool) -> None:
    """Check that the count starts at one and includes every response. No other test uses this process meanwhile."""
    first = small_pool.first_info["requests"]
    assert first == 1, f"the first request is counted as {first}"
    before = info(small_pool.port)["requests"]
    asked = [("/", "GET"), ("/", "HEAD"), ("/bytes?n=1", "GET"), ("/nope", "GET"), ("/", "POST"), ("/cpu", "GET")]
    for path, method in asked:
        fetch(small_pool.port, path, method)
    counted = info(small_pool.port)["requests"] - before
    assert counted == len(asked) + 1, f"{len(asked) + 1} requests are counted as {counted}"


def test_runtime_facts(port: int, target: Target) -> None:
    told = info(port)
    for key in ("framework", "framework_version", "runtime", "runtime_version", "thread"):
        assert told[key].strip(), f"{key} is blank"
    assert re.search(r"[0-9]+\.[0-9]+", told["framework_version"]), told["framework_version"]
    assert re.match(r"[0-9]+(\.[0-9]+)*", told["runtime_version"]), told["runtime_version"]
    if target.jvm:
        assert 0 < told["heap_used"] <= told["heap_committed"] <= told["heap_max"]
        assert told["gc"], "a JVM must list its garbage collectors"
    else:
        assert (told["heap_used"], told["heap_committed"], told["heap_max"]) == (None, None, None)
        assert (told["gc"], told["gc_count"], told["gc_time_ms"]) == ([], 0, 0)


def test_transport_is_the_one_in_use(port: int, server: Server, target: Target) -> None:
    """Check that a JVM has loaded Netty's native library exactly if it reports epoll; otherwise the JDK is used."""
    transport = info(port)["transport"]
    if target.jvm:
        native = "libnetty_transport_native_epoll" in server.proc("maps")
        assert (transport == "epoll") is native, f"transport is {transport!r}, native library loaded: {native}"


def _check_max_threads(told: int | None, target: Target, asked: int) -> None:
    if target.model in ("platform-thread", "async-servlet"):
        assert told == asked, f"max_threads is {told}, not {asked}"
    else:
        assert told is None, f"max_threads is {told}, but {target.model} has no such bound"


def _threads(server: Server) -> int:
    found = re.search(r"^Threads:\s+(\d+)", server.proc("status"), re.MULTILINE)
    assert found
    return int(found[1])


def _nofile(server: Server) -> tuple[int, int]:
    """Return the soft and the hard limit of file descriptors."""
    found = re.search(r"^Max open files\s+(\d+)\s+(\d+)", server.proc("limits"), re.MULTILINE)
    assert found
    return int(found[1]), int(found[2])
