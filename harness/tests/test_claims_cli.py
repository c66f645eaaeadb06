"""`zoo claims plan`, `run` and `verdict`, on a zoo of one native server."""

from __future__ import annotations

import re
from pathlib import Path

import builders
import pytest
from claimed import STEADY, records, times
from test_cli import MANIFEST
from typer.testing import CliRunner

from zoo.cli import app, checkout, child_process, screen
from zoo.store.run_folder import Store

ASYNC, PLATFORM = "rust-a:async", "rust-a:platform"
LEDGER = """
[article]
key = "Q"
about = "Tasks and threads"

[[claims]]
id = "Q1"
says = "Tasks are faster."
runs = ["tasks-hello"]

[claims.cells]
tasks = { scenario = "hello", entry = "rust-a:async", tier = "100" }
threads = { scenario = "hello", entry = "rust-a:platform", tier = "100" }

[[claims.rules]]
rule = "ratio"
quantity = "requests"
of = "tasks"
over = "threads"
at_least = 1.5

[[claims]]
id = "Q2"
says = "Tasks are quicker through space."
runs = ["tasks-warp"]

[claims.cells]
tasks = { scenario = "warp", entry = "rust-a:async", tier = "100" }

[[claims.rules]]
rule = "recorded"
quantity = "requests"
of = "tasks"
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rust-a").mkdir()
    (tmp_path / "rust-a" / "server.toml").write_text(MANIFEST.format(name="rust-a", port=8201), encoding="utf-8")
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "Q.toml").write_text(LEDGER, encoding="utf-8")
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(screen.console, "width", 200)
    return tmp_path


def zoo(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app.of(["claims"]), ["claims", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def measured(root: Path, ratio: float = 2.0, name: str = "20260102-030405-full") -> Path:
    store = Store.create(root / "results", builders.run([ASYNC, PLATFORM]).model_copy(update={"id": name}))
    for record in records(ASYNC, times(1000 * ratio, STEADY), "100") + records(PLATFORM, [1000.0] * 3, "100"):
        store.append(record)
    return store.folder


def test_plan_names_the_runs_that_are_missing_and_touches_nothing(root: Path) -> None:
    before = sorted(root.rglob("*"))
    code, out, _ = zoo("plan")
    assert code == 0
    assert "3 cells for 2 claims, 3 of them in no run; about" in out
    assert (
        "zoo bench --variant rust-a:async --variant rust-a:platform --scenario hello --tiers 100 --rounds 3 --aa" in out
    )
    assert "no scenario `warp` in this harness" in out
    assert sorted(root.rglob("*")) == before


def test_verdict_judges_the_runs_that_are_there(root: Path) -> None:
    measured(root)
    code, out, _ = zoo("verdict")
    assert code == 0
    assert "1 holds, 1 not measured." in out
    folder = root / "results" / "claims"
    assert sorted(path.name for path in folder.iterdir()) == ["badge.svg", "ledger.html", "ledger.md"]
    assert "[1](../20260102-030405-full/)" in (folder / "ledger.md").read_text(encoding="utf-8")


def test_a_verdict_is_printed_with_its_interval_however_narrow_the_terminal(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(root)
    monkeypatch.setattr(screen.console, "width", 80)
    out = zoo("verdict", "--claim", "Q1")[1]
    assert re.search(r"×2\.0\d\s\[[12]\.\d\d,\s2\.\d\d\]", out)


def test_verdict_takes_the_runs_it_is_given(root: Path) -> None:
    first, second = measured(root, 2.0, "20260102-030405-full"), measured(root, 1.0, "20260103-030405-full")
    assert "1 holds" in zoo("verdict", "--claim", "Q1", "--run", str(first))[1]
    assert "1 not reproduced here" in zoo("verdict", "--claim", "Q1", "--run", str(second))[1]


def test_runs_of_another_protocol_are_left_out_and_named(root: Path) -> None:
    folder = measured(root)
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(text.replace('"protocol": 5', '"protocol": 1', 1), encoding="utf-8")
    _, out, _ = zoo("verdict")
    assert "left out: 20260102-030405-full: protocol 1, and 2 or 3 or 4 or 5 is what is compared here" in out
    assert "2 not measured." in out


def test_run_measures_what_is_missing_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def bench(words: list[str], *_: object) -> int:
        asked.append(words)
        measured(root)
        return 0

    monkeypatch.setattr("zoo.cli.claims.child_process.run", bench)
    code, out, _ = zoo("run", "--claim", "Q1")
    assert code == 0
    assert [words[0] for words in asked] == ["bench"]
    assert "1 holds." in out
    assert zoo("run", "--claim", "Q1")[0] == 0
    assert len(asked) == 1, "all of it was there"


def test_a_run_that_failed_in_part_is_told_at_the_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.cli.claims.child_process.run", lambda *_: 1)
    code, out, _ = zoo("run", "--claim", "Q1")
    assert code == 1
    assert "not all of it was measured: zoo bench --variant rust-a:async" in out


def test_an_interruption_ends_the_whole_command(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.cli.claims.child_process.run", lambda *_: child_process.INTERRUPTED)
    assert zoo("run", "--claim", "Q1")[0] == 130


def test_a_mistake_is_told_in_plain_words(root: Path) -> None:
    assert zoo("plan", "--article", "Z") == (2, "", 'zoo: no article or claim "Z"; articles: Q\n')
