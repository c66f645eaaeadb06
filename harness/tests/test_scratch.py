"""Temporary folders of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from zoo.host import scratch
from zoo.host.marked import RUN


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left_by(mark: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file in it, as a killed run of this mark leaves it."""
    monkeypatch.setenv(RUN, mark)
    with scratch.folder("wrk") as folder:
        kept = Path(f"{folder}kept")
    kept.mkdir()
    (kept / "0.json").touch()
    return kept


def test_a_folder_goes_with_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN, raising=False)
    with scratch.folder("wrk") as folder:
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_those_of_a_killed_run_go_and_no_others(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [left_by(mark, monkeypatch) for mark in ("1:23.", "1:3.", "11:2.")]
    (elsewhere / "zoo-of-a-person").mkdir()
    left = left_by("1:2.", monkeypatch)
    scratch.clear()
    assert not left.exists()
    assert sorted(elsewhere.iterdir()) == sorted([*others, elsewhere / "zoo-of-a-person"])
