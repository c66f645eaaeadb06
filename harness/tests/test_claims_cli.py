"""Tests of `zoo claims show`, `plan` and `run`, on a zoo with one native server."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import builders
import pytest
from claimed import NOISY, records, times
from test_cli import MANIFEST
from typer.testing import CliRunner

from zoo.cli import app, checkout, child_process, claims, display
from zoo.core.record import PROTOCOL
from zoo.core.run_folder import Store
from zoo.reference import runs

ASYNC, PLATFORM = "rust-a:async", "rust-a:platform"
LEDGER = """
[article]
key = "Q"
about = "Tasks and threads"

[[claims]]
id = "Q1"
says = "Tasks are faster."
runs = ["claims/tasks"]

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
says = "Tasks of the copy are fast."
copies = { rust-b = "rust-a" }
runs = ["copies"]

[claims.cells]
tasks = { scenario = "hello", entry = "rust-b:async", tier = "100" }

[[claims.rules]]
rule = "recorded"
quantity = "requests"
of = "tasks"
"""
TABLE = """
[[runs]]
name = "claims/tasks"
command = "bench --scenario hello --connections 100 --rounds 3"
env = { MAX_THREADS = "7" }
quoted_by = ["docs/claims.md"]

[[runs]]
name = "copies"
command = "bench --variant rust-b:async --scenario hello --connections 100"
by_hand = "rust-b is not in the tree"
quoted_by = ["docs/claims.md"]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rust-a").mkdir()
    (tmp_path / "rust-a" / "server.toml").write_text(MANIFEST.format(name="rust-a", port=8201), encoding="utf-8")
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "Q.toml").write_text(LEDGER, encoding="utf-8")
    (tmp_path / runs.COMMITTED).mkdir(parents=True)
    (tmp_path / runs.TABLE).write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(display.console, "width", 200)
    return tmp_path


def zoo(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app.app_for(["claims"]), ["claims", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def measured(below: Path, ratio: float = 2.0) -> Path:
    """Store a run in which the async tasks are `ratio` times as fast."""
    store = Store.create(below, builders.run([ASYNC, PLATFORM]).model_copy(update={"id": "20260102-030405-full"}))
    for record in records(ASYNC, times(1000 * ratio, NOISY), "100") + records(PLATFORM, [1000.0] * 3, "100"):
        store.append(record)
    return store.folder


def kept(root: Path, ratio: float = 2.0) -> Path:
    """Store the run as `zoo claims run` would leave it."""
    to = root / "results/claims/claims/tasks"
    to.parent.mkdir(parents=True)
    return measured(root / "elsewhere", ratio).rename(to)


def bench_that(
    monkeypatch: pytest.MonkeyPatch, code: int, *, makes: bool = True
) -> list[tuple[list[str], dict[str, str]]]:
    """Replace `zoo` with one that exits with this code. Return the list of commands it is given."""
    called: list[tuple[list[str], dict[str, str]]] = []

    def bench(words: list[str], env: dict[str, str], _: Path) -> int:
        called.append((words, env))
        if makes:
            measured(Path(words[-1]))
        return code

    monkeypatch.setattr(child_process, "run", bench)
    return called


def test_plan_names_the_runs_that_are_missing_and_touches_nothing(root: Path) -> None:
    before = sorted(root.rglob("*"))
    code, out, _ = zoo("plan")
    assert code == 0
    assert "2 of 2 runs for 2 claims are not measured on this machine. To measure them takes about" in out
    assert re.search(r"claims/tasks +Q1 +\d+", out)
    assert re.search(r"copies +Q2 +–", out)
    assert "copies: rust-b is not in the tree" in out
    assert sorted(root.rglob("*")) == before


def test_plan_leaves_out_what_was_measured(root: Path) -> None:
    kept(root)
    assert "0 of 1 runs for 1 claim are not measured on this machine." in zoo("plan", "--claim", "Q1")[1]


def test_show_judges_the_runs_that_were_made_here(root: Path) -> None:
    kept(root)
    code, out, _ = zoo("show")
    assert code == 0
    assert "1 holds, 1 not measured." in out
    folder = root / "results" / "claims"
    assert {"badge.svg", "ledger.html", "ledger.md"} <= {path.name for path in folder.iterdir()}
    assert "[1](claims/tasks/)" in (folder / "ledger.md").read_text(encoding="utf-8")


def test_show_rests_neither_on_committed_runs_nor_on_others(root: Path) -> None:
    measured(root / "results")
    (root / runs.COMMITTED / "claims").mkdir()
    measured(root / "elsewhere").rename(root / runs.COMMITTED / "claims/tasks")
    assert "2 not measured." in zoo("show")[1]


def test_a_verdict_is_printed_with_its_interval_however_narrow_the_terminal(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(root)
    monkeypatch.setattr(display.console, "width", 80)
    out = zoo("show", "--claim", "Q1")[1]
    assert re.search(r"×2\.0\d\s\[[12]\.\d\d,\s2\.\d\d\]", out)


def test_runs_of_another_protocol_are_left_out_and_named(root: Path) -> None:
    folder = kept(root)
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(text.replace(f'"protocol": {PROTOCOL}', '"protocol": 1', 1), encoding="utf-8")
    _, out, _ = zoo("show")
    assert "left out: tasks: protocol 1, but only 2 or 3 or 4 or 5 or 6 can be compared here" in out
    assert "2 not measured." in out


def test_run_measures_what_is_missing_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = bench_that(monkeypatch, 0)
    code, out, _ = zoo("run", "--yes")
    assert code == 0
    [(words, env)] = called
    assert " ".join(words[:-1]) == "bench --scenario hello --connections 100 --rounds 3 --runtime process --results"
    assert env == {"MAX_THREADS": "7"}
    assert "1 holds, 1 not measured." in out
    assert (root / "results/claims/claims/tasks/run.json").is_file()
    assert zoo("run", "--yes")[0] == 0
    assert len(called) == 1, "all of it was there"


def test_show_names_what_is_missing_and_how_to_measure_it(root: Path) -> None:
    assert "2 of 2 runs are not measured on this machine: make claims-plan" in zoo("show")[1]
    kept(root)
    assert "make claims-run" not in zoo("show", "--claim", "Q1")[1]


@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_run_asks_before_it_measures(typed: str, code: int, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = bench_that(monkeypatch, 0)
    monkeypatch.setattr(claims, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    done = CliRunner().invoke(app.app_for(["claims"]), ["claims", "run", "--claim", "Q1"], input=f"{typed}\n")
    assert done.exit_code == code
    assert re.search(r"Measure 1 run for about .+\? \[y/N\]", done.output)
    assert len(called) == (code == 0)


def test_run_measures_nothing_without_a_terminal_unless_told_to(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = bench_that(monkeypatch, 0)
    code, out, err = zoo("run", "--claim", "Q1")
    assert (code, called) == (2, [])
    assert "To measure them takes about" in out
    assert err.startswith("zoo: nothing was measured: this takes about ")
    assert err.endswith("add --yes (YES=1)\n")
    kept(root)
    assert zoo("run", "--claim", "Q1")[0] == 0


def test_a_run_with_failed_cells_is_judged_and_told_at_the_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench_that(monkeypatch, 1)
    code, out, _ = zoo("run", "--yes", "--claim", "Q1")
    assert code == 1
    assert "1 holds." in out
    assert out.endswith("incomplete runs: claims/tasks\n")


@pytest.mark.parametrize(("code", "makes"), [(1, False), (2, True)])
def test_a_command_that_made_no_whole_run_is_carried_out_again(
    code: int, makes: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = bench_that(monkeypatch, code, makes=makes)
    assert [zoo("run", "--yes", "--claim", "Q1")[0] for _ in range(2)] == [1, 1]
    assert len(called) == 2
    assert "1 not measured." in zoo("show", "--claim", "Q1")[1]


def test_an_interrupted_run_ends_the_whole_command_and_is_measured_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench_that(monkeypatch, child_process.INTERRUPTED)
    assert zoo("run", "--yes", "--claim", "Q1")[0] == 130
    assert "1 of 1 runs for 1 claim are not measured" in zoo("plan", "--claim", "Q1")[1]
    bench_that(monkeypatch, 0)
    assert zoo("run", "--yes", "--claim", "Q1")[0] == 0


def test_a_mistake_is_told_in_plain_words(root: Path) -> None:
    assert zoo("plan", "--article", "Z") == (2, "", 'zoo: there is no article or claim "Z"; articles: Q\n')
    path = root / "claims/Q.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"claims/tasks"', '"tasks"'), encoding="utf-8")
    complaint = 'results/reference/runs.toml lists no run "tasks"; zoo reference status shows all names'
    assert zoo("plan") == (2, "", f"zoo: {complaint}\n")
