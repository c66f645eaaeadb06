"""Tests of the command as a user runs it: real server, real wrk, and a network namespace where the system allows one.

They need rust-axum built, and run one after the other, because only one run at a time is allowed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fake_zoo import fake_zoo, measured

from zoo.bench.display import Display
from zoo.cli import prepare
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.host import network

pytestmark = pytest.mark.run

BENCH = [
    *(sys.executable, "-m", "zoo", "bench", "--runtime", "process"),
    *("--server", "rust-axum", "--variant", "hyper", "--quick"),
    *("--seed", "2"),  # an order that starts with hello, by which the tests know where a run is
]
PATIENCE_S = 600


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    assert not left, f"still running: {left}"


def bench(results: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCH, "--results", str(results), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = run.communicate(timeout=PATIENCE_S)
    return run.returncode, output


def records(results: Path) -> list[Record]:
    return Store.open(results / "latest").records()


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended, even if nothing collects its exit code (process 1 may be a plain shell)."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def wait_for_server(run: subprocess.Popen[str]) -> psutil.Process:
    """Return the server process of the run, once its log says that it listens."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert run.poll() is None, run.communicate()[0]
        for child in psutil.Process(run.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # a tool that was asked for its version
                if "rust-axum" in child.name():
                    return child
        time.sleep(0.05)
    raise AssertionError("no server was started")


def test_a_small_run_measures_every_cell_and_reports(results: Path) -> None:
    code, output = ended(bench(results, "--connections", "50,200"))
    assert code == 0, output
    found = records(results)
    assert [(r.scenario, r.tier) for r in found] == [
        ("hello", "50"),
        ("hello", "200"),
        ("sleep", "50"),
        ("sleep", "200"),
    ]
    for record in found:
        seen = record.measurement
        assert seen is not None, record.failure
        assert seen.connections.established == seen.connections.actual == int(record.tier)
        assert seen.load.requests == seen.load.goodput > 0
        assert seen.load.latency.samples == seen.load.requests
        assert seen.memory is not None
        assert seen.work is not None
        assert seen.memory.rss_peak_kb > 1_000
        assert seen.work.threads_peak >= 2
    sleeping = [r.measurement.load for r in found if r.measurement and r.scenario == "sleep"]
    assert all((load.latency.mean_us or 0) >= load.delay_s * 1e6 for load in sleeping)
    report = (results / "latest" / "report.md").read_text(encoding="utf-8")
    assert "4 of 4 cells measured" in report
    assert "rust-axum:hyper" in report


def test_ctrl_c_ends_everything_and_resume_measures_the_rest(results: Path) -> None:
    run = bench(results, "--connections", "50")
    wait_for_server(run)
    deadline = time.monotonic() + PATIENCE_S
    while not (results / "latest" / "raw" / "rust-axum-hyper-hello-50-r1-samples.json.gz").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    server = wait_for_server(run)
    run.send_signal(signal.SIGINT)
    code, output = ended(run)
    assert code == 130, output
    assert "RESUME=1" in output
    assert has_ended(server)
    before = records(results)
    assert [r.scenario for r in before] in (["hello"], []), "it went on measuring"

    code, output = ended(bench(results, "--resume"))
    assert code == 0, output
    assert ("of that is left" in output) is bool(before)
    after = records(results)
    assert after[: len(before)] == before
    assert [(r.scenario, r.tier) for r in after] == [("hello", "50"), ("sleep", "50")]


def test_the_next_start_ends_what_a_killed_run_has_left(results: Path) -> None:
    run = bench(results, "--connections", "50")
    server = wait_for_server(run)
    run.kill()
    assert ended(run)[0] == -signal.SIGKILL
    assert server.is_running(), "a killed harness can end nothing"

    code, output = ended(bench(results, "--resume"))
    assert code == 0, output
    assert "stopped what a killed run had left running: rust-axum" in output
    assert has_ended(server)
    assert [(r.scenario, r.tier) for r in records(results)] == [("hello", "50"), ("sleep", "50")]


def test_a_server_killed_in_mid_run_is_a_failed_cell_and_the_run_goes_on(results: Path) -> None:
    run = bench(results, "--connections", "50")
    wait_for_server(run).kill()
    code, output = ended(run)
    assert code == 1, output
    first, *others = records(results)
    assert first.failure is not None
    assert first.failure.kind in ("crashed", "not_started", "contract")
    assert [r.failure for r in others] == [None] * len(others)
    assert "FAILED" in output


def test_a_second_run_beside_the_first_is_refused(results: Path) -> None:
    first = bench(results, "--connections", "50")
    try:
        wait_for_server(first)
        code, output = ended(bench(results, "--connections", "50"))
        assert code == 2
        assert "another run is being measured" in output
    finally:
        first.send_signal(signal.SIGINT)
        ended(first)
    assert len(list(results.glob("*-quick"))) == 1


def test_a_folder_with_a_manifest_is_all_it_takes_to_add_a_server(results: Path) -> None:
    catalog = fake_zoo(results, {"eventloop": {}})
    assert [entry.id for entry in catalog.entries] == ["fake:eventloop"]
    prepare.build_all([e.server for e in catalog.entries], None, Display())
    found = measured(results, catalog).values()
    assert [(r.entry, r.model, r.failure) for r in found] == [("fake:eventloop", "event-loop", None)]


@pytest.mark.skipif(network.namespace_command() is None, reason="this system refuses network namespaces")
def test_a_namespace_has_loopback_and_wide_limits_and_the_host_keeps_its_own() -> None:
    script = (
        "from zoo.host import facts, network\n"
        "import socket\n"
        "assert network.prepare_namespace() == []\n"
        "server = socket.create_server(('127.0.0.1', 8101))\n"
        "socket.create_connection(('127.0.0.1', 8101), timeout=5)\n"
        "found = facts.read_limits()\n"
        "print(found.port_low, found.port_high, found.somaxconn)\n"
    )
    ports = Path("/proc/sys/net/ipv4/ip_local_port_range")
    before = ports.read_text(encoding="ascii")
    wrapper = network.namespace_command()
    assert wrapper is not None
    done = subprocess.run([*wrapper, sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["10240", "65535", "65535"], done.stderr
    assert ports.read_text(encoding="ascii") == before
