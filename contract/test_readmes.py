"""The commands in each server's README, run as they stand there."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from kit.ports import free_port
from kit.readme import ReadmeError, Step, steps
from kit.server import CONTRACT_VARIABLES
from kit.targets import Target, java_home

BUILD_PATIENCE = 600
START_PATIENCE = 60


class Shell:
    """Runs a README's blocks in its server's folder; `port` stands in for a default port that is taken."""

    def __init__(self, target: Target, port: int) -> None:
        self.folder = target.folder
        self.default_port = target.port
        self.port = port
        self.env = {name: value for name, value in os.environ.items() if name not in CONTRACT_VARIABLES}
        if port != target.port:
            self.env["PORT"] = str(port)
        if target.jvm:
            self.env["JAVA_HOME"] = str(java_home())
            self.env["PATH"] = f"{java_home() / 'bin'}{os.pathsep}{self.env['PATH']}"

    def run(self, script: str, patience: float) -> str:
        """The block's standard output; it must succeed."""
        if self.port != self.default_port:
            script = script.replace(f":{self.default_port}", f":{self.port}")
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode} of {script!r}: {done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def started(self, script: str) -> Iterator[None]:
        """The server, in the foreground of a shell of its own, until the block ends."""
        command = script.strip()
        assert "\n" not in command, f"a start block is one line, not {command!r}"
        with tempfile.TemporaryFile() as log:
            child = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                self._wait_ready(child, log.fileno(), command)
                yield
            finally:
                _end(child)

    def _wait_ready(self, child: subprocess.Popen[bytes], log: int, command: str) -> None:
        deadline = time.monotonic() + START_PATIENCE
        while b"listening on" not in (said := os.pread(log, 100_000, 0)):
            assert child.poll() is None, f"{command!r} ended with {child.returncode}: {said.decode()}"
            assert time.monotonic() < deadline, f"{command!r} is not ready after {START_PATIENCE} s: {said.decode()}"
            time.sleep(0.02)


def _end(child: subprocess.Popen[bytes]) -> None:
    """The whole session, so that a server behind a shell ends too; its port is free when the group is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + 12
        while time.monotonic() < deadline:
            try:
                os.killpg(child.pid, number)
            except ProcessLookupError:
                return
            child.poll()
            time.sleep(0.05)


@contextmanager
def port_for(target: Target) -> Iterator[int]:
    """The default port as printed in the README, or another one where that is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", target.port))
            taken = False
        except OSError:
            taken = True
    if not taken:
        yield target.port
        return
    with free_port() as port:
        yield port


def test_readme_commands_work_as_printed(folder_target: Target) -> None:
    """Build, start, and each curl example with exactly the output that stands below it."""
    readme = folder_target.folder / "README.md"
    assert readme.is_file(), f"{folder_target.server} has no README.md"
    plan = steps(readme.read_text(encoding="utf-8"))
    kinds = [step.kind for step in plan]
    for kind in ("build", "start", "curl"):
        assert kind in kinds, f"{readme} has no block marked <!-- test: {kind} -->"
    with port_for(folder_target) as port:
        follow(plan, Shell(folder_target, port))


def follow(plan: list[Step], shell: Shell) -> None:
    """Carry the steps out; a start ends the server that was started before."""
    with ExitStack() as running:
        up = False
        for step in plan:
            match step.kind:
                case "build":
                    shell.run(step.script, BUILD_PATIENCE)
                case "start":
                    running.close()
                    running.enter_context(shell.started(step.script))
                    up = True
                case "curl":
                    assert up, f"a curl example stands above every start block: {step.script!r}"
                    compare(step, shell.run(step.script, patience=30))


def compare(step: Step, output: str) -> None:
    """Exact but for one line end, which a block must have and an answer has not."""
    if step.output is not None:
        assert output.removesuffix("\n") == step.output.removesuffix("\n"), f"output of {step.script!r}"


GOOD = """# x
<!-- test: build -->
```sh
make
```
<!-- test: curl -->
```sh
curl -s localhost
```

```text
Hello, World!
```
<!-- test: curl -->
```sh
curl -i localhost
```
"""


def test_marked_blocks_are_found() -> None:
    expected = [
        Step("build", "make\n"),
        Step("curl", "curl -s localhost\n", "Hello, World!\n"),
        Step("curl", "curl -i localhost\n"),
    ]
    assert steps(GOOD) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<!-- test: curl -->\n```java\n```\n",
        "<!-- test: curls -->\n```sh\n```\n",
        "<!-- test: curl -->\nx\n```sh\n```\n",
    ],
    ids=["other-language", "unknown-mark", "text-between"],
)
def test_wrong_marks_are_errors(text: str) -> None:
    with pytest.raises(ReadmeError):
        steps(text)


def test_wrong_output_is_an_error() -> None:
    with pytest.raises(AssertionError):
        compare(Step("curl", "true\n", "Hello\n"), "Hello \n")
