"""Tests of a clone in which git writes CRLF, as on Windows: files that run on Linux keep their line endings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ("Makefile", "harness/setup.sh", ".ci/run", "wrk-scripts/a.lua", "harness/zoo/a.py", "java-x/pom.xml")


def test_text_has_lf_whatever_git_is_set_to(tmp_path: Path) -> None:
    shutil.copy(ROOT / ".gitattributes", tmp_path)
    for name in TEXTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"one\ntwo\n")
    settings = ("user.name=a", "user.email=a@localhost", "core.autocrlf=true", "core.safecrlf=false", "core.eol=crlf")
    git = ["git", *(word for setting in settings for word in ("-c", setting))]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "a state"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    subprocess.run([*git, "clone", "--quiet", str(tmp_path), str(tmp_path / "clone")], check=True)
    assert {(tmp_path / "clone" / name).read_bytes() for name in TEXTS} == {b"one\ntwo\n"}


def test_every_file_in_the_repository_is_stored_with_lf() -> None:
    told = subprocess.run(["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert [line for line in told.splitlines() if line.startswith(("i/crlf", "i/mixed"))] == []
