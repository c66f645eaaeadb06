"""Tests of the Python environment: it works with any pip and Python settings, and each clone has its own."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {"PATH": os.environ["PATH"], "PYTHON": sys.executable}
METADATA = {
    "thing.py": "",
    "thing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
    "thing-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "thing-1.0.dist-info/RECORD": "",
}


def clone(at: Path) -> Path:
    """Create a checkout whose harness prints where its code is."""
    (at / "harness" / "zoo").mkdir(parents=True)
    (at / "harness" / "zoo" / "__init__.py").touch()
    (at / "harness" / "zoo" / "__main__.py").write_text("import thing; print(__file__)", encoding="utf-8")
    (at / "harness" / "requirements.lock").touch()
    (at / "harness" / "requirements-dev.lock").touch()
    shutil.copy(ROOT / "harness" / "setup.sh", at / "harness")
    shutil.copy(ROOT / "Makefile", at)
    return at


def locked(at: Path, wheel: Path) -> Path:
    """Lock this package as a requirement of the clone, and return the clone."""
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in METADATA.items():
            archive.writestr(name, text)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (at / "harness" / "requirements.lock").write_text(f"thing==1.0 --hash=sha256:{digest}\n", encoding="utf-8")
    return at


def run(at: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=at, env={**PLAIN, **env}, capture_output=True, text=True, check=False)


def setup(at: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run(at, "sh", "harness/setup.sh", ".venv", **env)


def source(at: Path, **env: str) -> str:
    """Return the file of the harness that the environment in this clone runs."""
    done = run(Path("/"), str(at / ".venv" / "bin" / "zoo"), **env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return settings each of which breaks an environment, next to a mirror that is needed: the folder `wheels`."""
    home = tmp_path_factory.mktemp("home")
    (home / ".config" / "pip").mkdir(parents=True)
    (home / "wheels").mkdir()
    named = f"[global]\nuser = true\nno-index = true\nfind-links = {home}/wheels\n"
    (home / "named.conf").write_text(named, encoding="utf-8")
    text = f"[global]\nuser = true\n[install]\ntarget = {home}/target\nuser = true\n"
    (home / ".config" / "pip" / "pip.conf").write_text(text, encoding="utf-8")
    (home / "own" / "zoo").mkdir(parents=True)
    (home / "own" / "zoo" / "__init__.py").touch()
    broken = {"PYTHONPATH": str(home / "own"), "PYTHONHOME": str(home), "PIP_USER": "1", "PIP_PREFIX": f"{home}/prefix"}
    return {**broken, "HOME": str(home), "PIP_CONFIG_FILE": f"{home}/named.conf"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, hostile: Mapping[str, str]) -> Path:
    """Create a clone with its environment under these settings, in a folder with a space in its name."""
    wheel = Path(hostile["HOME"], "wheels", "thing-1.0-py3-none-any.whl")
    at = locked(clone(tmp_path_factory.mktemp("made") / "the zoo"), wheel)
    done = setup(at, **hostile)
    assert done.returncode == 0, done.stderr
    return at


def test_an_environment_is_made_and_used_whatever_pip_and_python_are_set_to(
    made: Path, hostile: Mapping[str, str]
) -> None:
    assert source(made, **hostile) == str(made / "harness" / "zoo" / "__main__.py")


def test_a_copied_clone_runs_its_own_code(made: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(made, tmp_path / "a copy", symlinks=True))
    assert source(copy) == str(copy / "harness" / "zoo" / "__main__.py")


def test_a_moved_clone_runs_and_so_does_a_link_to_its_command(made: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(made, tmp_path / "first", symlinks=True))
    moved = copy.rename(tmp_path / "second")
    (tmp_path / "zoo").symlink_to(moved / ".venv" / "bin" / "zoo")
    done = run(Path("/"), str(tmp_path / "zoo"))
    assert done.stdout.strip() == str(moved / "harness" / "zoo" / "__main__.py")


def test_a_folder_that_cannot_be_written_is_the_reason_given(tmp_path: Path) -> None:
    at = clone(tmp_path / "it")
    (at / "file").touch()
    done = run(at, "sh", "harness/setup.sh", "file/.venv")
    assert done.returncode == 2
    assert done.stderr.startswith("setup: cannot write the environment: ")
    assert "Not a directory" in done.stderr
    assert "venv module" not in done.stderr


def test_another_system_than_linux_is_the_reason_given(tmp_path: Path) -> None:
    uname = tmp_path / "bin" / "uname"
    uname.parent.mkdir()
    uname.write_text("#!/bin/sh\necho Darwin\n", encoding="utf-8")
    uname.chmod(0o755)
    done = setup(clone(tmp_path / "it"), PATH=f"{uname.parent}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 2
    assert done.stderr.startswith("setup: the harness needs Linux")


def test_a_python_without_venv_is_the_reason_given(tmp_path: Path) -> None:
    lacking = tmp_path / "python"
    lacking.write_text('#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; esac\n', encoding="utf-8")
    lacking.chmod(0o755)
    done = setup(clone(tmp_path / "it"), PYTHON=str(lacking))
    assert done.returncode == 2
    assert "the venv module is missing; on Debian or Ubuntu: apt-get install python3-venv" in done.stderr


# --- the environment in make

STUB = """
[ "${2:-}" != development ] || { echo "development in $PWD" && touch .venv/.development && exit; }
mkdir -p .venv/bin && touch .venv/bin/python .venv/bin/zoo && chmod +x .venv/bin/*
echo "in $PWD" && pwd -P >.venv/.ready
"""


@pytest.fixture
def stubbed(tmp_path: Path) -> Path:
    """Create a clone whose environment is created in no time."""
    at = clone(tmp_path / "the zoo")
    (at / "harness" / "setup.sh").write_text(STUB, encoding="utf-8")
    return at


def listed(at: Path) -> list[str]:
    """Return where environments were created before the command."""
    done = run(at, "make", "list")
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("in ") for line in done.stdout.splitlines() if line.startswith("in ")]


def test_make_sets_up_once(stubbed: Path) -> None:
    assert [listed(stubbed), listed(stubbed)] == [[str(stubbed)], []]


def test_make_sets_up_again_in_a_copied_clone_and_where_python_is_gone(stubbed: Path, tmp_path: Path) -> None:
    listed(stubbed)
    copy = Path(shutil.copytree(stubbed, tmp_path / "a copy"))
    assert [listed(copy), listed(copy)] == [[str(copy)], []]
    (copy / ".venv" / "bin" / "python").unlink()
    assert listed(copy) == [str(copy)]


def test_only_tests_and_lint_add_the_packages_of_development(stubbed: Path) -> None:
    def added(*goals: str) -> list[str]:
        done = run(stubbed, "make", *goals)
        return [line for line in done.stdout.splitlines() if line.startswith(("in ", "development in "))]

    assert added("list") == [f"in {stubbed}"]
    assert added("lint-python") == [f"development in {stubbed}"]
    assert added("lint-python") == []
    (stubbed / "harness" / "requirements.lock").touch()
    assert added("lint-python") == [f"in {stubbed}", f"development in {stubbed}"]


def test_the_locks_have_nothing_in_common_and_users_get_no_tool_of_development() -> None:
    used, developing = (
        set(re.findall(r"^([a-z][a-z0-9_-]*)==", (ROOT / "harness" / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert not used & developing
    assert {"mypy", "pytest", "ruff", "selenium", "schemathesis", "hypothesis"} <= developing
