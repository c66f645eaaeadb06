"""Tests of completion in the shells themselves."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from waits import PATIENCE_S

from zoo import COMMAND

BASH = """
source {scripts}/bash
complete -p zoo >&2
COMP_WORDS=({line}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_zoo_completion {zoo}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# the arguments of compadd and _arguments are what zsh would show
ZSH = """
autoload -Uz compinit && compinit -u -D
source {scripts}/zsh
print -r -- "$_comps[zoo]" >&2
_arguments() {{ print -r -- "$@" }}
_describe() {{ print -r -- "$@" }}
words=({zoo} {rest}) CURRENT=${{#words}}
_zoo_completion
"""


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a command named zoo that runs this harness, next to its scripts for both shells."""
    at = tmp_path_factory.mktemp("bin") / "zoo"
    at.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n', encoding="utf-8")
    at.chmod(0o755)
    for shell in ("bash", "zsh"):
        done = subprocess.run([at, "completion", shell], capture_output=True, text=True, check=True)
        at.with_name(shell).write_text(done.stdout, encoding="utf-8")
    return at


def ran(shell: str, script: str) -> subprocess.CompletedProcess[str]:
    options = ["--norc"] if shell == "bash" else ["-f"]
    done = subprocess.run(
        [shell, *options, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert "rror" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("zoo be", {"bench"}),
        ("zoo claims s", {"show"}),
        ("zoo bench --conn", {"--connections"}),
        ("zoo bench --server rust-ax", {"rust-axum"}),
        ("zoo bench --server java-tomcat,rust-ax", {"java-tomcat,rust-axum"}),
        ("zoo plan --scenario hel", {"hello", "held"}),
    ],
)
def test_bash_completes(typed: str, expected: set[str], zoo: Path) -> None:
    done = ran("bash", BASH.format(zoo=zoo, scripts=zoo.parent, line=typed))
    assert "-F _zoo_completion zoo" in done.stderr
    assert set(done.stdout.split()) == expected


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(("typed", "expected"), [("be", "bench"), ("bench --conn", "--connections")])
def test_zsh_completes(typed: str, expected: str, zoo: Path) -> None:
    done = ran("zsh", ZSH.format(zoo=zoo, scripts=zoo.parent, rest=typed))
    assert done.stderr.strip() == "_zoo_completion"
    assert expected in done.stdout


def test_another_shell_is_a_plain_error(zoo: Path) -> None:
    done = subprocess.run([zoo, "completion", "fish"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'bash', 'zsh'" in done.stderr
