"""Tests of the vm runtime on a simulated QEMU: real agent, wrk and server on this host, and the failures of a guest."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import builders
import ports
import psutil
import pytest
from builders import run as made_up_run
from fixtures import fake_qemu
from waits import PATIENCE_S, until

from zoo.bench.display import Display
from zoo.bench.session import Session
from zoo.bench.window import Bench, Clock
from zoo.cli.checkout import ROOT
from zoo.core import capacity
from zoo.core.condition import Condition
from zoo.core.defaults import EMULATED
from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.runtime.base import Launch
from zoo.runtime.vm import guest, machine
from zoo.runtime.vm.machine import GuestKernel, GuestMachine, VmError, choose_accelerator, memory_of
from zoo.runtime.vm.runtime import Patience, VmRuntime

FAKE_SERVER = ROOT / "contract" / "suite_proof" / "fake" / "fake.py"
SHORT = replace(EMULATED, sleep_warmup_s=1, sleep_delay_s=2, idle_s=0.1, rest_s=0.1)
PATIENCE = Patience(boot=PATIENCE_S, ready=PATIENCE_S, answer=PATIENCE_S, alive=PATIENCE_S, times=10)
PORT = ports.claim()

MANIFEST = """
name = "fake"
title = "A server of one file"
language = "rust"
port = PORT

[build]
command = ["true"]
makes = ["server.toml"]
sources = ["server.toml"]

[run]
command = ["PYTHON", "SCRIPT"]

[[variants]]
name = "eventloop"
model = "event-loop"
summary = "one loop"
""".replace("PORT", str(PORT))


class Bed:
    """A server's folder, a store, and a QEMU with the faults that a test chooses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "fake").mkdir()
        text = MANIFEST.replace("PYTHON", sys.executable).replace("SCRIPT", str(FAKE_SERVER))
        (folder / "fake" / "server.toml").write_text(text, encoding="utf-8")
        self.catalog: Catalog = load_catalog(folder)
        self.log = folder / "it.log"

    def runtime(self, mode: str) -> VmRuntime:
        binary = self.folder / "qemu"
        words = shlex.join([sys.executable, fake_qemu.__file__, mode, str(self.folder / "fake")])
        binary.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        binary.chmod(0o755)
        kernel = GuestKernel("0", self.folder / "vmlinuz", ())
        return VmRuntime(self.folder, kernel, GuestMachine("tcg", "1g", 1, str(binary)), patience=PATIENCE)

    def launch(self) -> Launch:
        return Launch(self.catalog.entries[0], self.log)

    def run(self, mode: str, display: Display | None = None) -> Record:
        """Measure one sleep cell in the same session as real ones."""
        self.store = Store.create(self.folder / "results", made_up_run())
        block = builders.blocks(["fake:eventloop"], ["sleep"], [capacity.parse_tier("20")], 1, 7)
        Session(
            catalog=self.catalog,
            runtimes={"": self.runtime(mode)},
            conditions={"": Condition(runtime="vm", network="vm", accelerator="tcg")},
            bench=Bench(guest.limits(), Clock(), self.store, SHORT, display or Display(), threads=2, emulated=True),
        ).run(block)
        return self.store.records()[0]

    def running(self, word: str) -> list[psutil.Process]:
        """Return processes of this test with this word in their command."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            line = " ".join(process.info["cmdline"] or [])
            if word in line and str(self.folder) in line:
                found.append(process)
        return found


class Hurried:
    """The module `time` for a wait that must end: its clock runs fifty times as fast."""

    sleep = staticmethod(time.sleep)

    @staticmethod
    def monotonic() -> float:
        return 50 * time.monotonic()


def folder_of_busybox(parent: Path) -> Path:
    """Return a folder with a stand-in for busybox, which archives the names of the files, and INIT."""
    tools = parent / "tools"
    tools.mkdir()
    (tools / "busybox").write_text("#!/bin/sh\n/bin/cat - init\n", encoding="utf-8")
    (tools / "busybox").chmod(0o755)
    return tools


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    """Yield a bed, and check that no guest is left.

    A guest's server is normally inside it. Here it is not, so the test ends it.

    Nothing waits until few sockets are open on the guest, because the guest is this host, whose other programs have
    some.
    """
    monkeypatch.setattr("zoo.bench.warmup.WORK_OFF_S", 0.0)
    monkeypatch.setenv("PATH", f"{folder_of_busybox(tmp_path)}:{os.environ['PATH']}")
    made = Bed(tmp_path)
    yield made
    for process in psutil.process_iter(["cmdline", "environ"]):
        own = str(PORT) in (process.info["environ"] or {}).values()
        if own and str(FAKE_SERVER) in (process.info["cmdline"] or []):
            process.kill()
    until(lambda: not made.running("fake_qemu"))


# --- a guest that works


def test_a_cell_has_counts_and_memory_and_nothing_that_depends_on_speed(bed: Bed) -> None:
    record = bed.run("well")
    seen = record.measurement
    assert seen is not None, record.failure
    assert seen.connections.established == seen.connections.actual == 20
    assert seen.load.goodput == seen.load.requests >= 20
    assert seen.memory is not None
    assert seen.work is not None
    assert seen.server is not None
    assert seen.memory.rss_peak_kb > 1_000
    assert seen.memory.pss_after_kb
    assert seen.work.threads_peak >= 1
    assert seen.kernel is not None
    assert seen.sampling.sampler == "agent"
    assert seen.warmup.pace
    assert seen.load.delay_s == 2
    assert [seen.load.goodput_rps, seen.load.cpu_s, seen.load.busiest_thread, seen.work.cpu_s, seen.canary_s] == [
        None
    ] * 5
    assert [seen.load.latency.mean_us, seen.load.latency.p50_us, seen.load.latency.max_us] == [None] * 3
    assert [seen.noise.busy_share, seen.noise.foreign_share, seen.server.ready_s, seen.sampling.cpu_share] == [None] * 4
    assert seen.warmup.window_rps == []
    assert [path.name for path in bed.store.raw.iterdir() if "histogram" in path.name] == []


def test_the_log_of_a_start_is_the_console(bed: Bed) -> None:
    hosted = bed.runtime("well").start(bed.launch())
    try:
        assert hosted.is_alive()
        assert hosted.log_tail(1) == f"listening on http://127.0.0.1:{PORT} (fake:eventloop)"
        assert hosted.instruments.is_responsive(hosted.url)
        snapshot = hosted.instruments.snapshot(hosted.pid)
        assert snapshot is not None
        assert snapshot.rss_kb > 1_000
    finally:
        code = hosted.stop()
    assert code == 0
    assert not hosted.is_alive()


# --- a guest that fails


@pytest.mark.parametrize(
    ("mode", "kind", "said"),
    [
        ("panic", "crashed", fake_qemu.PANIC),
        ("memory", "crashed", fake_qemu.KILLED),
        ("hang", "generator_hung", "listening on"),
    ],
)
def test_it_is_a_failed_cell_with_the_last_lines_of_the_console(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, mode: str, kind: str, said: str
) -> None:
    monkeypatch.setattr("zoo.runtime.vm.guest.OVERRUN_S", 1.0)
    if mode == "hang":
        monkeypatch.setattr("zoo.runtime.agent.client.time", Hurried())
    record = bed.run(mode)
    assert record.measurement is None
    assert record.failure is not None
    assert record.failure.kind == kind
    assert said in record.failure.log_tail


@pytest.mark.parametrize(
    ("mode", "boot_s", "said"),
    [("mute", 1, 'no "zoo guest: ready" within 1 s'), ("broken", 60, "the guest ended")],
)
def test_a_guest_that_does_not_come_up_is_told(bed: Bed, mode: str, boot_s: float, said: str) -> None:
    runtime = bed.runtime(mode)
    runtime.patience = replace(PATIENCE, boot=boot_s)
    with pytest.raises(RuntimeFailure, match=said) as caught:
        runtime.start(bed.launch())
    assert caught.value.kind == "not_started"
    assert mode == "mute" or "could not load kernel" in caught.value.log_tail


def test_a_server_that_ends_at_once_is_told_with_its_words(bed: Bed) -> None:
    with pytest.raises(RuntimeFailure, match="exit code 2 before it listened") as caught:
        bed.runtime("well").start(replace(bed.launch(), env={"MAX_THREADS": "many"}))
    assert "MAX_THREADS" in caught.value.log_tail


def test_an_interrupt_leaves_no_guest(bed: Bed) -> None:
    class Impatient(Display):
        def live(self, figures: str) -> None:
            assert bed.running("fake_qemu")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bed.run("well", Impatient())
    assert not bed.running("fake_qemu")


def test_a_guest_does_not_outlive_a_harness_that_is_killed(bed: Bed) -> None:
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path; from test_vm import *\n"
        "bed = Bed(Path(sys.argv[1])); bed.runtime('well').boot(bed.log)\n"
        "print('up', flush=True); time.sleep(60)\n"
    )
    folder = bed.folder / "killed"
    folder.mkdir()
    words = [sys.executable, "-c", script, str(folder), str(Path(__file__).parent)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "up\n"
        assert bed.running("fake_qemu")
        harness.send_signal(signal.SIGKILL)
    until(lambda: not bed.running("fake_qemu"))


# --- requested options


def test_memory_is_half_of_this_machine_unless_told() -> None:
    whole = psutil.virtual_memory().total / 2**30
    assert 1 <= int(memory_of({}).removesuffix("g")) <= max(1, whole / 2)
    assert memory_of({"VM_MEMORY": "512m"}) == "512m"
    for bad in ("lots", "0g", "6", "6 g"):
        with pytest.raises(VmError, match="VM_MEMORY must be an amount"):
            memory_of({"VM_MEMORY": bad})


def test_without_qemu_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VmError, match="RUNTIME=vm does not work here: there is no qemu-system-x86_64 on this machine"):
        choose_accelerator(tmp_path, {})


def test_kvm_is_taken_where_it_runs_a_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A device that can be opened is not enough: some QEMUs abort, some never start.
    device, binary, kernel = tmp_path / "kvm", tmp_path / "qemu", tmp_path / "vmlinuz"
    monkeypatch.setattr("zoo.runtime.vm.machine.DEVICE", device)

    def says(script: str) -> None:
        binary.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        binary.chmod(0o755)

    says("echo 'Kernel panic - not syncing: VFS: Unable to mount root fs'")
    assert machine.accelerator("auto", lambda: kernel, str(binary)) == "tcg"  # there is no device
    device.touch()
    assert machine.accelerator("auto", lambda: kernel, str(binary)) == "kvm"
    assert machine.accelerator("tcg", lambda: kernel, str(binary)) == "tcg"
    says("echo 'failed to set MSR 0x10a' >&2; exit 134")
    assert machine.accelerator("auto", lambda: kernel, str(binary)) == "tcg"
    with pytest.raises(VmError, match="runs no guest on this machine"):
        machine.accelerator("kvm", lambda: kernel, str(binary))
    with pytest.raises(VmError, match='auto, kvm or tcg, got "xen"'):
        machine.accelerator("xen", lambda: kernel, str(binary))


def test_a_guest_cannot_write_to_this_host_has_no_network_and_dies_with_its_parent(tmp_path: Path) -> None:
    words = GuestMachine("tcg", "2g", 2).command(Path("/k"), Path("/f"), tmp_path / "a,b.log")
    assert words[:4] == ["setpriv", "--pdeathsig", "KILL", "--"]
    assert "-nodefaults" in words
    assert not {"-drive", "-netdev", "-nic", "-hda"} & set(words)
    shared = [words[place + 1] for place, word in enumerate(words) if word in ("-fsdev", "-device")]
    assert shared == [
        "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
        "virtio-9p-pci,fsdev=host,mount_tag=host",
    ]
    assert f"file,id=console,path={tmp_path}/a,,b.log,append=on" in words


def test_the_agent_in_the_guest_needs_no_numpy() -> None:
    without = "import sys; sys.modules['numpy'] = sys.modules['scipy'] = None"
    script = f"{without}; import zoo.runtime.vm.guest"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_guest_boots_the_modules_in_order_and_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools, modules = folder_of_busybox(tmp_path), [tmp_path / "virtio.ko", tmp_path / "9p.ko"]
    monkeypatch.setenv("PATH", f"{tools}")
    monkeypatch.setattr(sys, "executable", "/a folder/python")
    for module in modules:
        module.touch()
    machine.write_boot_files(GuestKernel("0", tmp_path / "vmlinuz", tuple(modules)), tmp_path / "archive")
    text = (tmp_path / "archive").read_text(encoding="utf-8")
    assert text.splitlines()[:6] == [
        "bin",
        "bin/busybox",
        "init",
        "modules",
        "modules/00-virtio.ko",
        "modules/01-9p.ko",
    ]
    assert f"export PATH={tools}\n" in text
    assert text.endswith("/new '/a folder/python' -I -m zoo.runtime.vm.guest\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["9p.ko", "archive", "tools", "virtio.ko"]


def test_without_busybox_no_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VmError, match="busybox is not installed; `make qemu` installs it"):
        machine.write_boot_files(GuestKernel("0", tmp_path / "vmlinuz", ()), tmp_path / "archive")
