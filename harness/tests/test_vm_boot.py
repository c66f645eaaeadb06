"""Tests with a real guest on a real QEMU: it boots, holds connections and leaves nothing behind. Run by `make test-vm`.

They need rust-axum built. An emulated guest takes a minute or two, more on a busy machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.runtime.vm import machine

pytestmark = pytest.mark.vm

PATIENCE_S = 900
BENCH = [
    *(sys.executable, "-m", "zoo", "bench", "--runtime", "vm", "--scenario", "sleep", "--connections", "1k"),
    *("--server", "rust-axum", "--variant", "hyper"),
]


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    left = guests(tmp_path)
    for guest in left:
        guest.kill()
    assert not left


def guests(results: Path) -> list[psutil.Process]:
    """Return guests whose console is below this folder."""
    found = psutil.process_iter(["name", "cmdline"])
    return [p for p in found if "qemu" in (p.info["name"] or "") and str(results) in " ".join(p.info["cmdline"] or [])]


def bench(results: Path, memory: str = "2g") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCH, "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", "VM_MEMORY": memory},
    )


def only(results: Path) -> Record:
    [record] = Store.open(results / "latest").records()
    return record


def test_a_guest_holds_a_thousand_connections(results: Path) -> None:
    run = bench(results)
    output, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, output
    record = only(results)
    seen = record.measurement
    assert seen is not None
    assert record.condition.accelerator in ("kvm", "tcg")
    connections = seen.connections
    assert connections.actual == 1_000
    # A few connections of the warm-up may still be open, and are counted as such.
    assert 1_000 <= (connections.established or 0) <= 1_000 + (connections.left_open or 0)
    assert seen.load.goodput >= 1_000
    assert seen.load.errors.connect == seen.load.errors.timeout == 0
    assert seen.memory is not None
    assert seen.memory.rss_peak_kb > seen.memory.rss_idle_kb
    assert seen.memory.hwm_kb
    assert seen.memory.socket_peak_kb is not None
    assert (seen.load.goodput_rps is None) == record.condition.emulated
    host = Store.open(results / "latest").run().host
    assert host.limits.nofile_hard == 1_048_576
    assert host.cores == machine.cores()
    assert "QEMU" in (host.virtualization or "")


def test_a_guest_without_enough_memory_says_so(results: Path) -> None:
    # With a little more memory, a guest neither boots nor ends for minutes. With this much, its kernel ends before it
    # has a console.
    run = bench(results, memory="48m")
    output, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 2, output
    assert "the guest does not boot with 48m of memory (set VM_MEMORY= to change it): the guest ended" in output


def test_a_guest_that_dies_is_a_failed_cell(results: Path) -> None:
    run = bench(results)
    deadline = time.monotonic() + PATIENCE_S
    while not (found := guests(results)):
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.2)
    found[0].kill()
    output, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1, output
    failure = only(results).failure
    assert failure is not None
    assert failure.kind in ("not_started", "crashed")


def test_ctrl_c_leaves_no_guest(results: Path) -> None:
    run = bench(results)
    deadline = time.monotonic() + PATIENCE_S
    while not guests(results):
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130, output
    assert not guests(results)
