"""What a run says of the program that measured it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from zoo.host.revision import revision


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("server", "results"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text("as committed\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "a state"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(("changed", "dirty"), [("server/a", True), ("results/a", False), ("server/new", False)])
def test_changed_results_leave_the_program_as_committed(checkout: Path, changed: str, dirty: bool) -> None:
    (checkout / changed).write_text("anew\n")
    commit, said = revision(checkout)
    assert commit is not None
    assert said is dirty


def test_outside_a_checkout_nothing_is_said(tmp_path: Path) -> None:
    assert revision(tmp_path) == (None, None)
