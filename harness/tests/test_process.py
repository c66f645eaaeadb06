"""Tests with real child processes: tiny servers in their own folders, started, stopped and built by their manifests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from textwrap import dedent

import builders
import ports
import psutil
import pytest
from waits import PATIENCE_S, until

from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Entry, Manifest, Server
from zoo.runtime import process
from zoo.runtime import server as hosting
from zoo.runtime.base import Launch
from zoo.runtime.process import HostedProcess, ProcessRuntime, command

READY = """
import os, signal, sys, time
def ready():
    e = os.environ
    print(f"listening on http://{e['HOST']}:{e['PORT']} (it:{e['VARIANT']})", flush=True)
"""
PORT = ports.claim()


def made(tmp_path: Path, script: str, **changes: object) -> Entry:
    """Return an entry whose server is this Python script."""
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "it.py").write_text(READY + dedent(script), encoding="utf-8")
    run = {"command": [sys.executable, "it.py"]}
    variants = [{"name": "async", "model": "async-task", "summary": "a test", "env": {"SETTING": "variant"}}]
    given: dict[str, object] = {"run": run, "variants": variants, **changes}
    table = builders.manifest("it", PORT, language="rust", **given)
    server = Server(folder, Manifest.model_validate(table))
    return Entry(server, server.manifest.variants[0])


class Starter:
    """Starter of entries that kills whatever a test leaves behind."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "logs" / "it.log"
        self.started: list[HostedProcess] = []

    def __call__(self, entry: Entry, ready_timeout_s: float = PATIENCE_S, **env: str) -> HostedProcess:
        launch = Launch(entry, self.log, env)
        self.started.append(ProcessRuntime(None).start(launch, ready_timeout_s))
        return self.started[-1]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    for hosted in starter.started:
        hosted.kill()


class WithSleep:
    """The module `time` with another sleep."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self.sleep = sleep


def children() -> set[int]:
    """Return the direct children: a browser that another test left running starts further ones at any time."""
    return {child.pid for child in psutil.Process().children()}


def interrupted(spawn: Callable[..., subprocess.Popen[bytes]], *args: object) -> subprocess.Popen[bytes]:
    child = spawn(*args)
    signal.raise_signal(signal.SIGINT)
    return child


# --- the command


def test_placeholders_become_words_of_the_command() -> None:
    jvm = {"base": ["-XX:+ExitOnOutOfMemoryError", "-Da=b"], "heap": ["-Xmx{heap}"]}
    entry = Entry(server := builders.server("java-a", 8101, "virtual-thread", jvm=jvm), server.manifest.variants[0])
    assert command(entry, Path("/jdk/bin/java"), ("-Xmx1g",)) == [
        "/jdk/bin/java",
        "-XX:+ExitOnOutOfMemoryError",
        "-Da=b",
        "-Xmx1g",
        "-jar",
        "it.jar",
    ]
    assert command(builders.entry("java-a:virtual"), Path("/j")) == ["/j", "-jar", "it.jar"]


def test_a_java_server_without_a_jdk_is_refused_a_native_one_needs_none() -> None:
    with pytest.raises(RuntimeFailure, match="java-a:virtual needs a JDK"):
        command(builders.entry("java-a:virtual"), None)
    assert command(builders.entry("rust-n:bare"), None) == ["./it"]


# --- start


def test_an_interrupt_in_the_middle_of_a_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = Launch(made(tmp_path, "time.sleep(600)"), tmp_path / "it.log")
    before = children()
    runtime = ProcessRuntime(None)
    monkeypatch.setattr(process, "spawn", partial(interrupted, process.spawn))
    with pytest.raises(KeyboardInterrupt), closing(runtime):
        runtime.start(launch)
    assert children() == before


@pytest.mark.parametrize("end", [HostedProcess.kill, HostedProcess.stop])
def test_what_a_server_leaves_in_its_temporary_folder_goes_with_it(
    tmp_path: Path, start: Starter, end: Callable[[HostedProcess], object]
) -> None:
    entry = made(
        tmp_path,
        """
        import tempfile
        print("made", tempfile.mkdtemp())
        ready()
        time.sleep(60)
        """,
    )
    hosted = start(entry)
    [folder] = [Path(line.split()[1]) for line in hosted.log_tail().splitlines() if line.startswith("made")]
    assert folder.is_dir()
    end(hosted)
    assert not folder.exists()


def test_a_server_runs_in_its_folder_with_its_settings(tmp_path: Path, start: Starter) -> None:
    entry = made(
        tmp_path,
        """
        print(os.getcwd(), os.environ["SETTING"], os.environ["MAX_THREADS"])
        ready()
        time.sleep(60)
        """,
    )
    begun = time.monotonic()
    hosted = start(entry, MAX_THREADS="50")
    assert hosted.is_alive()
    assert hosted.url == f"http://127.0.0.1:{PORT}"
    assert hosted.ready_s is not None
    assert 0 < hosted.ready_s < time.monotonic() - begun
    assert hosted.log_tail().splitlines() == [
        f"{tmp_path / 'it'} variant 50",
        f"listening on http://127.0.0.1:{PORT} (it:async)",
    ]
    assert hosted.log_tail(1) == f"listening on http://127.0.0.1:{PORT} (it:async)"


def test_what_a_person_sets_goes_before_what_the_variant_sets(tmp_path: Path, start: Starter) -> None:
    hosted = start(made(tmp_path, 'print(os.environ["SETTING"]); ready(); time.sleep(60)'), SETTING="person")
    assert hosted.log_tail().startswith("person\n")


def test_a_server_that_ends_at_once_is_told_with_its_code_and_last_words(tmp_path: Path, start: Starter) -> None:
    entry = made(tmp_path, 'sys.exit("cannot listen on 127.0.0.1:8199: address already in use")')
    with pytest.raises(RuntimeFailure) as caught:
        start(entry)
    assert caught.value.kind == "not_started"
    why = "cannot listen on 127.0.0.1:8199: address already in use"
    assert caught.value.message == f"ended with exit code 1 before it listened: {why}"
    assert caught.value.log_tail == why


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ready to serve",
        "listening on http://127.0.0.1:PORT (it:other)",
        "listening on http://127.0.0.1:81 (it:async)",
    ],
    ids=["nothing", "something else", "another variant", "another port"],
)
def test_a_server_that_never_says_the_line_is_ended(tmp_path: Path, start: Starter, line: str) -> None:
    before = children()
    line = line.replace("PORT", str(PORT))
    entry = made(tmp_path, f"print({line!r}, flush=True); time.sleep(60)")
    with pytest.raises(RuntimeFailure) as caught:
        start(entry, ready_timeout_s=0.3)
    assert caught.value.kind == "not_started"
    assert caught.value.message.startswith("did not listen within")
    assert children() == before


def test_a_command_that_is_not_there_is_named(tmp_path: Path, start: Starter) -> None:
    entry = made(tmp_path, "", run={"command": ["./nowhere"]})
    with pytest.raises(RuntimeFailure, match=r"\./nowhere: No such file or directory"):
        start(entry)


def test_ctrl_c_while_a_server_starts_leaves_no_process(
    tmp_path: Path, start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interrupt comes after the harness has looked for the line, while it waits to look again.
    before = children()
    seen: list[set[int]] = []

    def interrupted(seconds: float) -> None:
        seen.append(children() - before)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(hosting, "time", WithSleep(interrupted))
    with pytest.raises(KeyboardInterrupt):
        start(made(tmp_path, "time.sleep(60)"))
    assert [len(started) for started in seen] == [1]
    assert children() == before


def test_a_ctrl_c_of_the_terminal_does_not_reach_the_server(tmp_path: Path, start: Starter) -> None:
    hosted = start(made(tmp_path, "ready(); time.sleep(60)"))
    assert os.getpgid(hosted.pid) != os.getpgid(0)


def test_a_server_shares_the_session_of_the_generator(tmp_path: Path, start: Starter) -> None:
    # The kernel may divide the processors between sessions.
    hosted = start(made(tmp_path, "ready(); time.sleep(60)"))
    with subprocess.Popen(["sleep", "60"], process_group=0) as generator:  # as zoo.load.execute starts wrk
        assert os.getsid(hosted.pid) == os.getsid(generator.pid) == os.getsid(0)
        generator.kill()


# --- stop


def test_a_server_that_drains_gives_its_code(tmp_path: Path, start: Starter) -> None:
    script = """
    def drain(*_):  # past the buffer: the signal may come while `ready` still holds it, which print refuses
        os.write(1, b"drained")
        sys.exit(0)
    signal.signal(signal.SIGTERM, drain)
    ready()
    time.sleep(60)
    """
    hosted = start(made(tmp_path, script))
    assert hosted.stop() == 0
    assert not hosted.is_alive()
    assert hosted.log_tail().endswith("drained")
    assert hosted.stop() == 0  # stopping twice does no harm


DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); ready(); time.sleep(60)"


def test_a_server_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path, start: Starter) -> None:
    hosted = start(made(tmp_path, DEAF))
    begun = time.monotonic()
    assert hosted.stop(grace_s=0.3) is None
    assert time.monotonic() - begun >= 0.3
    assert not hosted.is_alive()


def test_ctrl_c_while_a_server_drains_kills_it(tmp_path: Path, start: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    hosted = start(made(tmp_path, DEAF))
    assert hosted.is_alive()

    def interrupted(timeout: float) -> None:
        monkeypatch.undo()
        assert timeout == 30
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(hosted._child, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hosted.stop(grace_s=30)
    assert not hosted.is_alive()


def test_a_product_that_is_built_again_during_a_run_is_not_measured(tmp_path: Path) -> None:
    build = {"command": ["true"], "makes": ["it.py"], "sources": ["src"]}
    entry = made(tmp_path, "ready(); time.sleep(60)", build=build)
    runtime = ProcessRuntime(None)
    launch = Launch(entry, tmp_path / "it.log", {})
    for _ in range(2):
        runtime.start(launch, PATIENCE_S).kill()
    with (entry.server.folder / "it.py").open("a", encoding="utf-8") as product:
        product.write("# of other sources\n")
    with pytest.raises(RuntimeFailure, match="it was rebuilt after this run began") as caught:
        runtime.start(launch, PATIENCE_S).kill()
    assert caught.value.kind == "rebuilt"


def test_a_server_that_crashed_is_not_alive_and_keeps_its_log(tmp_path: Path, start: Starter) -> None:
    hosted = start(made(tmp_path, 'ready(); sys.stderr.write("OutOfMemoryError\\n"); sys.exit(3)'))
    until(lambda: not hosted.is_alive())
    assert hosted.stop() == 3
    assert hosted.log_tail(1) == "OutOfMemoryError"


def test_a_log_that_is_no_text_can_be_shown(tmp_path: Path, start: Starter) -> None:
    hosted = start(made(tmp_path, 'sys.stdout.buffer.write(b"\\xff\\xfe\\n"); ready(); time.sleep(60)'))
    assert hosted.log_tail().splitlines()[0] == "\ufffd\ufffd"
