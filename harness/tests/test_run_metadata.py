"""Tests of what a run records about the program that measured it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from zoo.cli import checkout
from zoo.host import run_lock
from zoo.host.run_metadata import revision
from zoo.runtime import orphans


def committed(folder: Path) -> Path:
    for name in ("server", "results"):
        (folder / name).mkdir()
        (folder / name / "a").write_text("as committed\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "a state"]):
        git(folder, *words)
    return folder


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a checkout in a folder with a space in its name."""
    (tmp_path / "the zoo").mkdir()
    return committed(tmp_path / "the zoo")


@pytest.mark.parametrize(("changed", "dirty"), [("server/a", True), ("results/a", False), ("server/new", False)])
def test_changed_results_leave_the_program_as_committed(own: Path, changed: str, dirty: bool) -> None:
    (own / changed).write_text("anew\n")
    found = revision(own)
    assert (found.commit, found.dirty, found.unknown) == (git(own, "rev-parse", "HEAD"), dirty, None)


def test_outside_a_checkout_the_reason_is_given(tmp_path: Path) -> None:
    found = revision(tmp_path)
    assert (found.commit, found.dirty) == (None, None)
    assert found.unknown is not None
    assert found.unknown.startswith("fatal: not a git repository")


def test_a_folder_in_another_repository_has_none_of_its_commits(own: Path) -> None:
    inner = own / "vendor" / "zoo"
    inner.mkdir(parents=True)
    (inner / "Makefile").touch()
    git(own, "add", ".")
    git(own, "commit", "--quiet", "--message", "a copy of the zoo")
    found = revision(inner)
    assert (found.commit, found.dirty) == (None, None)
    assert found.unknown is not None


def test_a_checkout_of_another_owner_has_its_commit(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(own, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(subprocess.CalledProcessError):
        git(own, "rev-parse", "HEAD")
    found = revision(own)
    assert (found.commit, found.dirty, found.unknown) == (commit, False, None)


def test_the_variables_of_a_hook_name_another_repository(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own.parent / "other").mkdir()
    other = committed(own.parent / "other")
    (other / "server" / "a").write_text("anew\n")
    git(own, "commit", "--quiet", "--amend", "--message", "another state")
    commit = git(own, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    found = revision(own)
    assert (found.commit, found.dirty) == (commit, False)


def test_a_worktree_has_the_commit_that_is_checked_out_there(own: Path) -> None:
    git(own, "worktree", "add", "--quiet", "--detach", str(own / "below"))
    (own / "server" / "a").write_text("anew\n")
    found = revision(own / "below")
    assert (found.commit, found.dirty) == (git(own, "rev-parse", "HEAD"), False)


@pytest.mark.parametrize("words", [(), ("pack-refs", "--all"), ("checkout", "--quiet", "--detach")])
def test_without_git_the_commit_is_read_but_changes_are_unknown(
    own: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = git(own, "rev-parse", "HEAD")
    if words:
        git(own, *words)
    monkeypatch.setenv("PATH", str(own))
    found = revision(own)
    assert (found.commit, found.dirty, found.unknown) == (commit, None, "git: No such file or directory")


def test_without_git_and_a_checkout_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision(tmp_path).commit is None


def test_a_run_without_a_commit_is_announced(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkout, "ROOT", own)
    monkeypatch.setattr(run_lock, "acquire_run_lock", lambda root: [])
    monkeypatch.setattr(orphans, "remove_leftovers", lambda engine: [])
    checkout.acquire_run_lock(own)
    assert "commit" not in capsys.readouterr().out
    shutil.rmtree(own / ".git")
    checkout.acquire_run_lock(own)
    assert "the run is stored without a commit: fatal: not a git repository" in capsys.readouterr().out
