"""Tests of the commands in each server's README, run as printed, except for the build, which `make build` runs."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from signal import SIGTERM

import pytest
from kit.ports import free_port
from kit.process import ProcessServer
from kit.readme import ReadmeError, Step, steps
from kit.server import CONTRACT_VARIABLES, Environment
from kit.targets import Target, java_home

from zoo.host import network

CURL_PATIENCE = 60
QUIET = {"-q", "--quiet"}
PREPARED = (
    "import os, sys; from zoo.host import network; network.prepare_namespace(); os.execvp(sys.argv[1], sys.argv[1:])"
)


def plan_of(target: Target) -> list[Step]:
    readme = target.folder / "README.md"
    assert readme.is_file(), f"{target.server} has no README.md"
    plan = steps(readme.read_text(encoding="utf-8"))
    for kind in ("build", "start", "curl"):
        assert kind in [step.kind for step in plan], f"{readme} has no block marked <!-- test: {kind} -->"
    return plan


def test_readme_builds_with_the_manifests_command(folder_target: Target) -> None:
    """Check that the README and the manifest have the same build command, apart from options that reduce output."""
    for step in plan_of(folder_target):
        if step.kind == "build":
            assert loud(step.script.split()) == loud(folder_target.build)


def loud(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in QUIET]


def test_readme_commands_work_as_printed(folder_target: Target) -> None:
    """Run each start block, and compare the output of each curl example, on a port that no concurrent run uses."""
    with free_port() as port, ExitStack() as running:
        for step in plan_of(folder_target):
            script = step.script.replace(f":{folder_target.port}", f":{port}")
            if step.kind == "start":
                running.close()  # stops the previous server
                running.enter_context(started(folder_target, port, script.strip()))
            elif step.kind == "curl":
                compare(step, output_of(folder_target, script))


@pytest.mark.skipif(network.namespace_command() is None, reason="this system refuses network namespaces")
def test_the_printed_port_is_the_servers_default(folder_target: Target) -> None:
    """Start the server in a separate network namespace, where nothing else listens and loopback is up."""
    alone = [*(network.namespace_command() or ()), sys.executable, "-I", "-c", PREPARED]
    env: Environment = {"VARIANT": None, "PORT": None, "HOST": "0.0.0.0"}
    with ProcessServer(folder_target, folder_target.port, env, within=alone) as server:
        server.wait_ready()
        assert server.stdout.startswith(f"listening on http://0.0.0.0:{folder_target.port} (")


@contextmanager
def started(target: Target, port: int, command: str) -> Iterator[None]:
    """Run the server in the foreground of a separate shell until the block ends."""
    assert "\n" not in command, f"a start block must be one line, not {command!r}"
    shell = replace(target, argv=lambda: ("bash", "-c", command), env={})
    reader = {name: value for name, value in os.environ.items() if name not in CONTRACT_VARIABLES}
    own: Environment = {"VARIANT": None, "PORT": str(port)}
    env: Environment = {**reader, **own, **with_java(target)}
    with ProcessServer(shell, port, env) as server:
        server.wait_ready()
        yield
        server.signal(SIGTERM)
        server.wait()


def with_java(target: Target) -> dict[str, str]:
    """Return the environment of a reader who has set up the JDK that the servers are built for."""
    if not target.jvm:
        return {}
    return {"JAVA_HOME": str(java_home()), "PATH": f"{java_home() / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def output_of(target: Target, script: str) -> str:
    """Return the block's standard output; fail if the block fails."""
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=target.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CURL_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode} of {script!r}: {done.stdout}{done.stderr}"
    return done.stdout


def compare(step: Step, output: str) -> None:
    """Compare the output exactly, except for the final line feed, which a block must have and a response has not."""
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
