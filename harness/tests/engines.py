"""Additional container engines, each with its own network, as if on its own host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from zoo.cli.checkout import ROOT
from zoo.host.engine import ROLE, Engine

NETWORK = "10.77.0"
"""Network of the joined engines, without the last number."""


class SpareEngine:
    """Second engine, in a folder as `containers/engine.sh` creates it.

    It runs in its own network namespace, because an engine with `--bridge=none` removes any bridge it finds, including
    the bridge of another engine.
    """

    def __init__(self, folder: Path, name: str = "spare") -> None:
        self.name = name
        self.host = f"unix://{folder}/docker.sock"
        self._folder = folder
        self.engine = Engine(where=("--host", self.host))

    def start(self) -> None:
        folder = self._folder
        with (folder / "dockerd.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                ["unshare", "--net", "--uts", "sh", "-c", 'hostname "$0" && exec dockerd "$@"', self.name,
                 f"--host={self.host}", f"--pidfile={folder}/dockerd.pid", f"--data-root={folder}/data",
                 f"--exec-root={folder}/exec", "--bridge=none", "--iptables=false",
                 f"--insecure-registry={NETWORK}.0/24"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while not self.engine.is_reachable():
            assert self._daemon.poll() is None, (folder / "dockerd.log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "it does not answer"
            time.sleep(0.2)

    @property
    def pid(self) -> int:
        return self._daemon.pid

    def network(self, *command: str) -> None:
        """Run a command in the engine's network namespace."""
        subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", *command], check=True)

    def end(self, number: signal.Signals) -> None:
        self._daemon.send_signal(number)
        self._daemon.wait(60)

    def sweep(self) -> None:
        subprocess.run([str(ROOT / "containers/engine.sh"), "stop", str(self._folder)], check=True)


@contextmanager
def engine_folder() -> Iterator[Path]:
    """Yield a folder for an engine of `containers/engine.sh`, with the plugins of this host's client."""
    if os.geteuid() or not shutil.which("dockerd") or not shutil.which("unshare"):
        pytest.skip("needs root, dockerd and unshare")
    # A socket's path must be short, and the paths of pytest's folders are too long.
    folder = Path(tempfile.mkdtemp(prefix="zoo-engine-"))
    (folder / "env").touch()
    plugins = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker", "cli-plugins")
    if plugins.exists():
        shutil.copytree(plugins, folder / "config/cli-plugins")
    yield folder
    assert _running_in(folder) == []
    assert not folder.exists()


@contextmanager
def spare_engine(*images: str, name: str = "spare") -> Iterator[SpareEngine]:
    """Run an engine with these images and this host name, and remove everything of it afterwards."""
    with engine_folder() as folder:
        engine = SpareEngine(folder, name)
        try:
            engine.start()
            if images:
                Engine().copy_images(images, engine.engine)
            yield engine
        finally:
            engine.sweep()


def _running_in(folder: Path) -> list[str]:
    """Return the command lines of an engine's processes, including its containers' shims."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [line.decode(errors="replace") for line in lines if b"containerd" in line and bytes(folder) in line]


@contextmanager
def joined_engines(count: int, *images: str) -> Iterator[list[SpareEngine]]:
    """Run engines with these images on one network. Engine n is called `host-n` and has the address `address(n)`."""
    with ExitStack() as stack:
        made = [stack.enter_context(spare_engine(*images, name=f"host-{number}")) for number in range(count)]
        first = made[0]
        first.network("ip", "link", "add", "hosts", "type", "bridge")
        for number, engine in enumerate(made[1:], 1):
            engine.network("ip", "link", "set", "lo", "up")
            peer = ("peer", "name", "hosts", "netns", str(engine.pid))
            first.network("ip", "link", "add", f"to-{number}", "type", "veth", *peer)
            first.network("ip", "link", "set", f"to-{number}", "master", "hosts", "up")
        for number, engine in enumerate(made):
            engine.network("ip", "address", "add", f"{address(number)}/24", "dev", "hosts")
            engine.network("ip", "link", "set", "hosts", "up")
        first.network("ip", "link", "set", "lo", "up")
        yield made


@contextmanager
def registry(engine: SpareEngine) -> Iterator[str]:
    """Run a registry on the host of an engine, the first of the joined ones. Yield the prefix of its image names."""
    program = ROOT / ".tools/docker-registry"
    if not program.exists():
        pytest.skip("no docker-registry (`make registry`)")
    host = f"{address(0)}:5000"
    with tempfile.TemporaryDirectory(prefix="zoo-registry-") as folder:
        settings = Path(folder, "config.yml")
        settings.write_text(
            f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/images}}}}\nhttp: {{addr: '{host}'}}\n",
            encoding="utf-8",
        )
        with Path(folder, "log").open("wb") as log:
            serving = subprocess.Popen(
                ["nsenter", f"--net=/proc/{engine.pid}/ns/net", program, "serve", settings], stdout=log, stderr=log
            )
        try:
            yield f"{host}/zoo"
        finally:
            serving.terminate()
            serving.wait(30)


def swarm_of(engines: Sequence[SpareEngine], roles: Sequence[str]) -> None:
    """Join engines into one swarm, with the first as its manager and the others with their roles."""
    manager = engines[0].engine
    manager.call("swarm", "init", f"--advertise-addr={address(0)}", f"--listen-addr={address(0)}:2377")
    token = manager.call("swarm", "join-token", "--quiet", "worker").strip()
    for number, worker in enumerate(engines[1:], 1):
        worker.engine.call("swarm", "join", f"--token={token}", f"--advertise-addr={address(number)}", address(0))
    for engine, role in zip(engines, roles, strict=True):
        manager.call("node", "update", f"--label-add={ROLE}={role}", engine.name)


def address(number: int) -> str:
    """Return the address of a joined engine, numbered from 0."""
    return f"{NETWORK}.{number + 1}"
