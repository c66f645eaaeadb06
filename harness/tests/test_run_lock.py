"""Tests that only one run can be active, on any file system; and of a run's temporary folders."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from zoo.core.errors import BenchError
from zoo.host import run_lock
from zoo.host.run_lock import RUN


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isolate the test from the environment and the temporary folder of other tests."""
    monkeypatch.setenv(RUN, "restored at the end")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def refuse(monkeypatch: pytest.MonkeyPatch, number: int, below: Path) -> None:
    """Make this file system reject locks below a folder, as NFS may."""
    locked = fcntl.flock

    def refusing(file: int, operation: int) -> None:
        if Path(f"/proc/self/fd/{file}").readlink().is_relative_to(below):
            raise OSError(number, os.strerror(number))
        locked(file, operation)

    monkeypatch.setattr(fcntl, "flock", refusing)


def test_a_second_run_is_refused_while_the_first_one_lasts(tmp_path: Path) -> None:
    run_lock.acquire_run_lock(tmp_path)
    with pytest.raises(BenchError, match="another run is being measured"):
        run_lock.acquire_run_lock(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_without_locks_in_the_checkout_one_of_this_machine_is_taken(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("clone", "another"):
        (tmp_path / name).mkdir()
        refuse(monkeypatch, number, tmp_path / name)
    run_lock.acquire_run_lock(tmp_path / "clone")
    with pytest.raises(BenchError, match="another run is being measured"):
        run_lock.acquire_run_lock(tmp_path / "clone")
    run_lock.acquire_run_lock(tmp_path / "another")


def test_where_nothing_can_be_locked_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errno.ENOLCK, tmp_path)
    with pytest.raises(BenchError) as caught:
        run_lock.acquire_run_lock(tmp_path)
    assert "another run" not in str(caught.value)
    assert f"cannot lock {tmp_path / 'results/.lock'}: {os.strerror(errno.ENOLCK)}" in str(caught.value)
    assert "TMPDIR" in str(caught.value)


def left_by(mark: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a file in it, as a killed run with this mark leaves it."""
    monkeypatch.setenv(RUN, mark)
    with run_lock.scratch_folder("wrk") as folder:
        kept = Path(f"{folder}kept")
    kept.mkdir()
    (kept / "0.json").touch()
    return kept


def test_a_folder_goes_with_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN, raising=False)
    with run_lock.scratch_folder("wrk") as folder:
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_those_of_a_killed_run_go_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    others = [left_by(mark, monkeypatch) for mark in ("1:23.", "1:3.", "11:2.")]
    (temporary / "zoo-of-a-person").mkdir()
    left = left_by("1:2.", monkeypatch)
    run_lock.clear_scratch()
    assert not left.exists()
    assert sorted(temporary.iterdir()) == sorted([*others, temporary / "zoo-of-a-person"])
