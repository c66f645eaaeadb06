"""Tests of `zoo jdbc` as a user runs it, with real databases and JMH.

They first build java-jdbc and test its queries on both databases.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from zoo.bench.display import Display
from zoo.cli.checkout import ROOT
from zoo.cli.prepare import build_projects
from zoo.core.jdbc import JDBC, JdbcCell
from zoo.core.jdbc import PROGRAM as FOLDER
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.core.trial_results import JdbcResult
from zoo.host import build
from zoo.host.jdk import find_jdk
from zoo.runtime.databases import MARIADB, POSTGRESQL, Database, database
from zoo.scenarios.jdbc.launcher import project

SMOKE = [sys.executable, "-m", "zoo", "jdbc", "bench", "--profile", "smoke", "--runtime", "process", "--seed", "1"]
ONE = ["--database", "postgresql", "--executor", "virtual", "--query", "update-and-group", "--pool", "10"]
PATIENCE_S = 600

pytestmark = [
    pytest.mark.run,
    pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="only one run at a time is allowed"),
]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    jdk = find_jdk(wanted=os.environ.get("JDK"))
    build_projects([project(ROOT / FOLDER, jdk)], Display())


def bench(results: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("JDBC_", "TOXIPROXY"))}
    return subprocess.Popen(
        [*SMOKE, "--results", str(results), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**inherited, **env, "COLUMNS": "200"},
    )


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        output, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        run.terminate()
        raise
    return run.returncode, output


def records(results: Path) -> list[Record]:
    return [r for r in Store.open(results / "latest-jdbc").records() if r.scenario == JDBC]


def serving(run: subprocess.Popen[str], results: Path) -> psutil.Process:
    """Return the database server of the run, once JMH's forks are running, which their log shows."""
    deadline = time.monotonic() + PATIENCE_S
    while run.poll() is None and time.monotonic() < deadline:
        logs = (results / "latest-jdbc" / "raw").glob("*.log")
        if any("# Warmup Iteration" in log.read_text(encoding="utf-8") for log in logs):
            for child in psutil.Process(run.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    if child.name() == "postgres" and child.ppid() == run.pid:
                        return child
        time.sleep(0.05)
    raise AssertionError(f"no database was started: {ended(run)}")


def test_the_queries_give_right_answers_on_both_databases() -> None:
    jars, password = ROOT / FOLDER / "target" / "databases", "of both"
    made = project(ROOT / FOLDER, find_jdk(wanted=os.environ.get("JDK")))
    with (
        database(POSTGRESQL, 20, jars, password) as postgresql,
        database(MARIADB, 20, jars, password) as mariadb,
    ):
        urls = {"POSTGRESQL_URL": postgresql.env["JDBC_URL"], "MARIADB_URL": mariadb.env["JDBC_URL"]}
        done = subprocess.run(
            ["mvn", "-q", "-B", "test", "-Dtest=CountriesTest"],
            cwd=ROOT / FOLDER,
            env={**build.build_environment(made), **urls, "JDBC_PASSWORD": password},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    report = (ROOT / FOLDER / "target" / "surefire-reports" / "zoo.CountriesTest.txt").read_text(encoding="utf-8")
    assert "Tests run: 18, Failures: 0, Errors: 0, Skipped: 0" in report


@pytest.mark.parametrize("kind", [POSTGRESQL, MARIADB], ids=lambda kind: kind.label)
def test_a_database_leaves_nothing_behind(kind: Database) -> None:
    with database(kind, 20, ROOT / FOLDER / "target" / "databases") as found:
        server = psutil.Process(int(found.env["JDBC_PID"]))
        assert server.name() == kind.server
        assert server.uids().real != 0
        assert {seen.laddr.ip for seen in server.net_connections() if seen.status == "LISTEN"} == {"127.0.0.1"}
        folder = Path(server.cwd()).parent
        assert found.exit_reason() is None
        server.kill()
        while (said := found.exit_reason()) is None:
            time.sleep(0.05)
        assert said.startswith(f"{kind.label} ended with exit code -9")
    assert not folder.exists()


def test_a_command_gets_a_database() -> None:
    words = [*SMOKE[:4], "exec", "--database", "mariadb", "--", "sh", "-c", "echo $JDBC_USER at $JDBC_URL; exit 7"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert "zoo at jdbc:mariadb://127.0.0.1:" in done.stdout


def test_a_small_run_measures_both_databases_and_reports(tmp_path: Path) -> None:
    code, output = ended(bench(tmp_path))
    assert code == 0, output
    found = {JdbcCell.of(r.entry, r.case, r.tier).database: r.trial for r in records(tmp_path)}
    assert set(found) == {"postgresql", "mariadb"}
    for trial in found.values():
        assert trial
        seen = trial.result
        assert isinstance(seen, JdbcResult)
        assert seen.connections == 10
        assert seen.ops_per_s > 10
        assert seen.client_cpu_us > 0
        assert seen.jvm_args == ["-Xmx1g"]
    report = (tmp_path / "latest-jdbc" / "report.md").read_text(encoding="utf-8")
    assert "2 of 2 cells measured, 0 failed" in report
    assert (tmp_path / "latest-jdbc" / "report.html").exists()


def test_a_server_that_is_not_there_is_a_failed_cell_that_names_it(tmp_path: Path) -> None:
    url = "jdbc:postgresql://127.0.0.1:1/zoo"
    code, output = ended(bench(tmp_path, *ONE, JDBC_URL=url))
    assert code == 1, output
    assert {r.failure.message.partition(": ")[0] for r in records(tmp_path) if r.failure} == {f"cannot use {url}"}


def test_a_database_that_dies_in_mid_run_is_a_failed_cell(tmp_path: Path) -> None:
    run = bench(tmp_path, *ONE)
    serving(run, tmp_path).kill()
    code, output = ended(run)
    assert code == 1, output
    [record] = records(tmp_path)
    assert record.failure
    assert record.failure.message.startswith("postgresql ended with exit code")


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    run = bench(tmp_path, *ONE)
    serving(run, tmp_path)
    started = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    code, output = ended(run)
    assert code == 130, output
    assert "RESUME=1" in output
    assert [p for p in started if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"JDBC_URL": "jdbc:oracle:thin:@x"}, "it must begin with jdbc:postgresql: or jdbc:mariadb:"),
        ({"JDBC_URL": "jdbc:postgresql://x/y", "RUNTIME": "container"}, "JDBC_URL exclude each other"),
        ({"RUNTIME": "pod"}, "RUNTIME must be one of auto, process, container"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(tmp_path: Path, env: dict[str, str], said: str) -> None:
    words = [word for word in SMOKE if word not in ("--runtime", "process")]
    done = subprocess.run(
        [*words, "--results", str(tmp_path)], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
