"""Tests of the search for missing programs: all of them are named at once, with the command that installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zoo import ROOT

SHELL_TOOLS = ("sh", "id", "sed", "sort", "cut", "dirname", "printf", "basename")


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """Return a folder with what the script itself uses, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in SHELL_TOOLS:
        program = shutil.which(name)
        assert program
        (folder / name).symlink_to(program)
    (folder / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    (folder / "python3").chmod(0o755)
    return folder


def add(folder: Path, name: str, text: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def search(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": str(folder), "HOME": str(folder), "JAVA_HOME": str(folder), **env}
    script = [str(folder / "sh"), str(ROOT / "harness/needs.sh"), *words]
    return subprocess.run(script, env=clean, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_everything_that_is_missing_is_named_at_once(bin_folder: Path) -> None:
    add(bin_folder, "cargo", "echo cargo 1.70.0")
    done = search(bin_folder, "rust", "go", "test")
    assert done.returncode == 2
    for name in ("Rust 1.88 or newer", "a C compiler", "Go", "curl", "strace"):
        assert name in done.stdout
    for package in ("rustup", "gcc libc6-dev", "golang-go", "curl", "strace"):
        assert package in done.stderr


def test_nothing_is_said_if_nothing_is_missing(bin_folder: Path) -> None:
    add(bin_folder, "cargo", "echo cargo 1.99.1")
    for name in ("cc", "go", "curl", "strace", "wrk"):
        add(bin_folder, name)
    done = search(bin_folder, "rust", "go", "test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_toolchain_is_chosen_without_root(bin_folder: Path) -> None:
    add(bin_folder, "cargo", "exit 1")
    add(bin_folder, "rustup", 'echo "rustup $*"')
    for name in ("cc", "wrk"):
        add(bin_folder, name)
    refused = search(bin_folder, "rust")
    assert refused.returncode == 2
    assert "run first: rustup default stable" in refused.stderr
    done = search(bin_folder, "rust", INSTALL="1")
    assert (done.returncode, done.stdout) == (0, "running: rustup default stable\nrustup default stable\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="as root, make installs wrk itself")
def test_a_user_is_told_about_wrk(bin_folder: Path) -> None:
    assert "wrk" in search(bin_folder).stdout
