"""Tests of which committed run the README quotes."""

from __future__ import annotations

from pathlib import Path

import builders
from test_experiments import tried
from test_jdbc import measured, run_of, two
from test_pool_size import pool_result

from zoo.core.run_folder import Store
from zoo.reference import readmes
from zoo.reference.runs import COMMITTED, Reference

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"


def told(root: Path) -> str:
    builders.list_runs(root, "bench-all")
    Store.create(root / COMMITTED, builders.run().model_copy(update={"id": "bench-all"}))
    catalog = builders.catalog()
    committed = Reference(root, catalog)
    return readmes.render_answers([*committed.matching("bench-all"), *committed.matching("*")], catalog)


def commit_pools(root: Path, name: str, started_at: str, rounds: int, served: int) -> None:
    run = builders.run([PLATFORM, VIRTUAL], ["pool-size"], ["1k"], rounds=rounds)
    made = Store.create(root / "made", run.model_copy(update={"started_at": started_at}))
    for number in range(1, rounds + 1):
        made.append(tried("pool-size", pool_result(200, served), PLATFORM, "current", "1k", number))
        made.append(tried("pool-size", pool_result(None, 1_000), VIRTUAL, "virtual", "1k", number))
    builders.list_runs(root, name)
    to = root / COMMITTED / name
    to.parent.mkdir(parents=True, exist_ok=True)
    made.folder.rename(to)


def commit_databases(root: Path, name: str, started_at: str, rounds: int) -> None:
    run = run_of(two(), rounds).model_copy(update={"started_at": started_at})
    made = measured(Store.create(root / "made", run))
    builders.list_runs(root, name, command="jdbc bench")
    to = root / COMMITTED / name
    to.parent.mkdir(parents=True, exist_ok=True)
    made.folder.rename(to)


def test_of_several_runs_of_a_database_cell_the_one_with_most_rounds_is_quoted(tmp_path: Path) -> None:
    commit_databases(tmp_path, "claims/old", "2026-01-01T00:00:00+00:00", rounds=8)
    commit_databases(tmp_path, "newer", "2026-01-02T00:00:00+00:00", rounds=3)
    commit_databases(tmp_path, "newest", "2026-01-03T00:00:00+00:00", rounds=3)
    assert "([run](results/reference/claims/old), earlier build)" in told(tmp_path)


def test_of_equal_runs_of_a_database_cell_the_newest_is_quoted(tmp_path: Path) -> None:
    commit_databases(tmp_path, "z", "2026-01-02T00:00:00+00:00", rounds=3)
    commit_databases(tmp_path, "a", "2026-01-03T00:00:00+00:00", rounds=3)
    assert "([run](results/reference/a), earlier build)" in told(tmp_path)


def test_waiting_requests_are_quoted_from_the_answer_with_most_rounds(tmp_path: Path) -> None:
    commit_pools(tmp_path, "scenarios/pools", "2026-01-03T00:00:00+00:00", rounds=3, served=198)
    commit_pools(tmp_path, "answers/fewer", "2026-01-02T00:00:00+00:00", rounds=1, served=199)
    commit_pools(tmp_path, "answers/pools", "2026-01-01T00:00:00+00:00", rounds=2, served=150)
    text = told(tmp_path)
    assert "Switch to virtual threads. A pool of 200: 150 (78.1 MB); virtual threads: all" in text
    assert "([run](results/reference/answers/pools), earlier build)" in text
