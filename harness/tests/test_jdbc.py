"""Tests of database runs: plan, JMH's output as records, a session with a simulated launcher, and the report."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import builders
import pytest
from typer.testing import CliRunner

from zoo.cli import app
from zoo.core.blocks import blocks_of
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.entry_id import is_aa
from zoo.core.jdbc import FLOOD, JDBC, PROTOCOL, Flood, JdbcCell, measures_databases, plan_facts, record_subject
from zoo.core.record import Failure, Record, Trial
from zoo.core.run import Run
from zoo.core.run_folder import Store
from zoo.core.trial_results import FloodResult, JdbcResult
from zoo.host.engine import EngineError
from zoo.reference.documents import refresh_documents
from zoo.report.page import svg
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.report.text.records_csv import to_csv
from zoo.runtime.databases import RunningDatabase
from zoo.scenarios.jdbc import launcher as java_jdbc
from zoo.scenarios.jdbc import spec as plan
from zoo.scenarios.jdbc.charts import groups
from zoo.scenarios.jdbc.launcher import LaunchFailure
from zoo.scenarios.jdbc.published import TABLES
from zoo.scenarios.jdbc.spec import Choice
from zoo.scenarios.jdbc.trial import JdbcSession
from zoo.scenarios.jdbc.view import profiles, results
from zoo.stats.databases import OPS, compare, compare_runs
from zoo.stats.metrics import Word
from zoo.stats.pairs import Kind
from zoo.stats.two_runs import find_slower

PLAIN = ChartTools(library=lambda: "/* Vega */", svg=lambda spec: "<svg></svg>")

WIRE = JdbcCell(
    database="postgresql", executor="virtual", query="find-by-code", pool=10, max_connections=100, latency="wire-10"
)
OPS_OF = {"cached": 600.0, "virtual": 850.0, "fixed-10": 500.0}


def output(arguments: Sequence[str], ops: float, bound: float | None = 930.0) -> list[dict[str, Any]]:
    """Return JMH's JSON for one fork of the cell that the arguments request."""
    asked = [word for flag, word in pairwise(arguments) if flag == "-p"]
    metrics = {
        "pool.connections": 10.0,
        "pinned.events": 0.0,
        "pinned.time": 0.0,
        "threads.peak": 31.0,
        "memory.peak": 204800.0,
        "gc.count": 3.0,
        "gc.time": 12.0,
        "cpu.client": 80.5,
        "cpu.database": 60.25,
        "roundtrip.direct": 0.06,
        "roundtrip.added": 10.75,
    }
    if bound is not None:
        metrics["bound"] = bound
    return [
        {
            "jmhVersion": "1.37",
            "benchmark": "zoo.JdbcBenchmark.standing",
            "jvm": "/somewhere/bin/java",
            "jvmArgs": [
                "-Xmx1g",
                "-Dzoo.url=jdbc:x",
                "-Dzoo.credentials=/tmp/x",
                "-Dzoo.server=PostgreSQL 16 (embedded)",
            ],
            "vmName": "VM",
            "vmVersion": "25",
            "params": dict(word.split("=") for word in asked),
            "primaryMetric": {"score": ops, "rawData": [[ops - 1, ops + 1]]},
            "secondaryMetrics": {name: {"score": value} for name, value in metrics.items()},
        }
    ]


DIED = "the database ended in mid-run"


class Launcher:
    """A launcher that writes what java-jdbc would, and fails for cells whose arguments contain a given word."""

    def __init__(self, fails: str | None = None, words: str = DIED) -> None:
        self.calls: list[list[str]] = []
        self.envs: list[dict[str, str]] = []
        self._fails = fails
        self._words = words

    def run(self, arguments: Sequence[str], log: Path, timeout_s: float, serving: RunningDatabase) -> None:
        self.calls.append(list(arguments))
        self.envs.append(dict(serving.env))
        log.write_text("a log\n", encoding="utf-8")
        if self._fails and self._fails in arguments:
            raise LaunchFailure(Failure(kind="failed", message=self._words))
        executor = next(w for w in arguments if w.startswith("executor=")).removeprefix("executor=")
        data = output(arguments, OPS_OF[executor] + len(self.calls))
        Path(arguments[arguments.index("-rff") + 1]).write_text(json.dumps(data), encoding="utf-8")

    def flood(self, flood: Flood, latency: str, log: Path, serving: RunningDatabase) -> FloodResult:
        self.calls.append([str(flood), latency])
        self.envs.append(dict(serving.env))
        return flood_output(flood.executor)


@dataclass
class Databases:
    """Databases that record the calls, and fail when told to."""

    refuses: str | None = None
    asked: list[tuple[str, int | None, str]] = field(default_factory=list)
    ended: int = 0

    @contextmanager
    def serving(self, database: str, max_connections: int | None, latency: str) -> Iterator[RunningDatabase]:
        self.asked.append((database, max_connections, latency))
        if self.refuses:
            raise EngineError(self.refuses)
        try:
            yield RunningDatabase({"JDBC_URL": f"jdbc:{database}://x/zoo"})
        finally:
            self.ended += 1


def measured(store: Store, launcher: Launcher | None = None) -> Store:
    """Run a whole session, and return its store."""
    JdbcSession(launcher or Launcher(), Databases(), store, lambda _: None).run()
    return store


def flood_output(executor: str) -> FloodResult:
    died = executor == "cached"
    return FloodResult(
        pool=10,
        server="PostgreSQL 16 (embedded)",
        added_ms=10.7,
        heap="512m",
        memory_limit_mb=2048,
        outcome="crashed with exit code 1" if died else "finished",
        seconds=7.5,
        peak_rss_kb=900_000 if died else 150_000,
        peak_threads=5_010 if died else 30,
        log_tail="java.lang.OutOfMemoryError: unable to create native thread" if died else "5000 tasks in 6.9 s",
    )


def run_of(cells: list[JdbcCell], rounds: int = 3) -> Run:
    host, used = builders.run(["x:y"]).host, plan.find_profile("short", rounds)
    return Run(
        protocol=PROTOCOL,
        id="20260102-030405-jdbc-short",
        started_at="2026-01-02T03:04:05+00:00",
        commit="0123456789abcdef",
        dirty=False,
        harness="0.1.0",
        plan=plan_facts(
            [*cells, *plan.floods("short", "postgresql")[:2]],
            times=used.times(),
            rounds=rounds,
            seed=7,
            condition=Condition(jdk="25.0.1+8"),
        ),
        host=host,
    )


def two() -> list[JdbcCell]:
    return [WIRE, WIRE.model_copy(update={"executor": "cached"})]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "results", run_of(two()), "latest-jdbc")


# --- the plan


def test_every_published_figure_has_its_cell_and_no_cell_stands_twice() -> None:
    cells = plan.cells()
    assert len(cells) == len(set(cells))
    for table in TABLES:
        assert set(table.cells(100)) <= set(cells)


def test_a_pool_of_a_thousand_is_measured_with_both_limits_of_the_server() -> None:
    big = [c for c in plan.cells() if c.pool == 1000]
    assert {c.max_connections for c in big} == {100, 1100}


def test_the_default_takes_twelve_minutes_and_says_what_it_gives_up() -> None:
    planned = run_of(plan.cells("short")).plan
    assert 8 * 60 < plan.seconds(planned) < 13 * 60
    assert plan.OMISSIONS[plan.DEFAULT]
    assert set(plan.cells("short")) < set(plan.cells())
    for table in TABLES:
        assert {table.cell(executor, 100) for executor in ("cached", "virtual")} <= set(plan.cells("short"))
        assert set(table.cells(100)) <= set(plan.cells())
    assert {c.executor for c in plan.cells()} == set(plan.EXECUTORS)


def test_a_cell_takes_longer_where_something_bounds_it() -> None:
    used = plan.find_profile("short")
    free = WIRE.model_copy(update={"latency": "none"})
    asleep = WIRE.model_copy(update={"latency": "sleep-10", "executor": "forkjoin"})
    many = free.model_copy(update={"pool": 1000, "max_connections": 1100})
    for longer in (WIRE, asleep, many):
        assert plan.cell_seconds(longer, used) > plan.cell_seconds(free, used)


def test_a_round_trip_takes_as_long_as_the_wire_says() -> None:
    # A task of the pool of 10 makes one round trip, and an iteration waits for 5,000 tasks.
    assert plan.wire_s("none") == plan.wire_s("sleep-10") == 0
    short, usual = (WIRE.model_copy(update={"latency": latency}) for latency in ("wire-2", "wire-10"))
    assert plan.invocation_seconds(usual) - plan.invocation_seconds(short) == pytest.approx(5000 * 0.008 / 10)
    assert {str(cell) for cell in plan.cells("medium") if cell.latency == "wire-2"} >= {
        "postgresql find-by-code wire-2 10/100 forkjoin-15",
        "postgresql find-by-code wire-2 1000/1100 virtual",
        "postgresql update-and-group wire-2 1000/100 cached",
    }


def test_even_rounds_reverse_the_odd_ones() -> None:
    planned = run_of(plan.cells(), rounds=4).plan
    by_round: dict[int, list[JdbcCell]] = {}
    for block in blocks_of(planned):
        if block.scenario == JDBC:
            by_round.setdefault(block.round, []).append(JdbcCell.of(*plan.names(block)))
    assert by_round[2] == by_round[1][::-1]
    assert by_round[4] == by_round[3][::-1]
    assert by_round[1] != by_round[3]
    assert set(by_round[1]) == set(plan.cells())


def test_a_choice_that_takes_nothing_names_what_there_is() -> None:
    assert {c.latency for c in plan.select_cells("smoke", Choice(latency=["wire-10"]))} == {"wire-10"}
    assert len(plan.select_cells("smoke", Choice())) == 2
    with pytest.raises(PlanError, match="executor: cached, virtual"):
        plan.select_cells("short", Choice(executor=["green"]))


def test_cells_are_chosen_by_the_names_that_a_plan_prints(store: Store) -> None:
    code, out, _ = zoo("jdbc", "plan", "--cell", "mariadb find-by-code none 10/100 cached")
    assert code == 0
    assert out.startswith("mariadb find-by-code none 10/100 cached, ")
    assert "1 cell × 3 rounds and 0 floods" in out
    code, _, said = zoo("jdbc", "plan", "--cell", "mariadb")
    assert (code, said) == (2, 'zoo: there is no cell "mariadb"; `zoo jdbc plan --profile article` lists them all\n')


def test_floods_are_planned_alone(store: Store) -> None:
    _, out, _ = zoo("jdbc", "plan", "--profile", "medium", "--only-floods")
    assert "0 cells × 3 rounds and 6 floods" in out


def test_another_server_keeps_its_own_limit() -> None:
    cells = plan.on_another_server(plan.cells(), "mariadb")
    assert cells
    assert {(c.database, c.max_connections) for c in cells} == {("mariadb", None)}
    assert not [
        w for w in java_jdbc.arguments(cells[0], plan.find_profile("short"), "out") if w.startswith("maxConnections")
    ]


# --- JMH's output


def test_the_output_of_one_fork_becomes_a_measurement() -> None:
    words = java_jdbc.arguments(WIRE, plan.find_profile("short"), "out.json")
    found = java_jdbc.measurement(json.dumps(output(words, 780.0)), WIRE, "raw/x.json.gz")
    assert found.ops_per_s == 780.0
    assert found.iterations == [779.0, 781.0]
    assert (found.connections, found.max_connections, found.memory_peak_kb) == (10, 100, 204800)
    assert found.server == "PostgreSQL 16 (embedded)"
    assert found.jvm_args == ["-Xmx1g"]


def test_what_linux_does_not_tell_is_unknown_and_not_zero() -> None:
    words = java_jdbc.arguments(WIRE, plan.find_profile("short"), "out.json")
    results = output(words, 780.0, bound=None)
    for name in ("memory.peak", "cpu.database"):
        del results[0]["secondaryMetrics"][name]
    found = java_jdbc.measurement(json.dumps(results), WIRE, "raw/x.json.gz")
    assert (found.memory_peak_kb, found.database_cpu_us, found.bound_ops_per_s) == (None, None, None)


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json"])
def test_output_without_a_result_is_an_error(text: str) -> None:
    with pytest.raises(LaunchFailure):
        java_jdbc.measurement(text, WIRE, "raw/x.json.gz")


def test_the_result_of_another_cell_is_an_error() -> None:
    other = WIRE.model_copy(update={"executor": "cached"})
    text = json.dumps(output(java_jdbc.arguments(other, plan.find_profile("short"), "out.json"), 1.0))
    with pytest.raises(LaunchFailure, match="requested"):
        java_jdbc.measurement(text, WIRE, "raw/x.json.gz")


# --- a session


def test_every_cell_and_flood_gives_a_record_and_its_raw_file(store: Store) -> None:
    told: list[Record] = []
    JdbcSession(Launcher(), Databases(), store, told.append).run()
    records = store.records()
    assert records == told
    assert [r.scenario for r in records] == [JDBC] * 6 + [FLOOD] * 2
    for record in records[:6]:
        assert (store.folder / result_of(record).raw).exists()


def result_of(record: Record) -> JdbcResult:
    assert record.trial
    assert isinstance(record.trial.result, JdbcResult)
    return record.trial.result


def test_a_failed_cell_is_recorded_and_the_rest_goes_on(store: Store) -> None:
    measured(store, Launcher(fails="executor=cached"))
    cells = [r for r in store.records() if r.scenario == JDBC]
    assert [r.entry for r in cells if r.failure] == ["java-jdbc:cached"] * 3
    assert [r.entry for r in cells if r.trial] == ["java-jdbc:virtual"] * 3


def test_a_resumed_session_measures_what_is_missing(store: Store) -> None:
    measured(store)
    lines = (store.folder / "records.ndjson").read_text(encoding="utf-8").splitlines(keepends=True)
    (store.folder / "records.ndjson").write_text("".join(lines[:4]), encoding="utf-8")
    launcher = Launcher()
    measured(store, launcher)
    assert len(launcher.calls) == 4
    assert len(store.records()) == 8


def test_a_cell_gets_a_database_of_its_own_and_is_told_where_it_is(store: Store) -> None:
    launcher, databases = Launcher(), Databases()
    JdbcSession(launcher, databases, store, lambda _: None).run()
    assert databases.asked == [("postgresql", 100, "wire-10")] * 8
    assert databases.ended == 8
    assert launcher.envs == [{"JDBC_URL": "jdbc:postgresql://x/zoo"}] * 8


def test_an_engine_that_refuses_is_a_failed_cell_with_its_words(store: Store) -> None:
    JdbcSession(Launcher(), Databases(refuses="no space left\nmore of it"), store, lambda _: None).run()
    failures = [r.failure for r in store.records()]
    assert failures == [Failure(kind="engine", message="no space left", log_tail="more of it")] * 8


def test_a_run_of_databases_is_told_from_one_of_servers(store: Store, tmp_path: Path) -> None:
    servers = Store.create(tmp_path / "results", builders.run(["x:y"]))
    assert measures_databases(store.run())
    assert not measures_databases(servers.run())
    assert (tmp_path / "results" / "latest").resolve() == servers.folder.resolve()
    assert (tmp_path / "results" / "latest-jdbc").resolve() == store.folder.resolve()


# --- the report


def test_ratios_are_paired_by_round(store: Store) -> None:
    [pair] = compare(measured(store).records()).of(Kind.MODEL)
    assert (pair.a, pair.b, pair.scenario, pair.tier) == (
        "virtual",
        "cached",
        "postgresql find-by-code wire-10",
        "10/100",
    )
    ours = pair.comparisons[OPS].ratio
    assert ours is not None
    assert ours.rounds == 3
    assert ours.low is not None
    assert ours.high is not None
    assert ours.low < ours.value < ours.high
    assert ours.value == pytest.approx(1.415, abs=0.02)
    assert pair.comparisons[OPS].verdict.word is Word.FASTER


def test_virtual_threads_are_compared_with_each_executor_and_databases_and_pools_with_each_other(
    tmp_path: Path,
) -> None:
    cells = [WIRE.model_copy(update={"executor": name}) for name in OPS_OF]
    cells += [WIRE.model_copy(update={"database": "mariadb"}), WIRE.model_copy(update={"pool": 100})]
    found = compare(measured(Store.create(tmp_path, run_of(cells))).records())
    assert [(p.a, p.b) for p in found.of(Kind.MODEL)] == [("virtual", "cached")]
    assert [(p.a, p.b) for p in found.of(Kind.VARIANT)] == [("virtual", "fixed-10")]
    assert {p.a for p in found.of(Kind.CONDITION)} == {"virtual, PostgreSQL ÷ MariaDB", "virtual, pool of 100 ÷ 10"}


def test_a_cell_measured_twice_gives_the_noise_band_of_its_latency(tmp_path: Path) -> None:
    cells = [*two(), WIRE.model_copy(update={"again": True})]
    records = measured(Store.create(tmp_path, run_of(cells))).records()
    found = compare([faster(r, 2.0) if is_aa(r.entry) else r for r in records])
    assert [p.kind for p in found.pairs] == [Kind.AA, Kind.MODEL]
    [model] = found.of(Kind.MODEL)
    assert found.bands[model.scenario, OPS, True].factor(3) > 1.5
    assert model.comparisons[OPS].verdict.word is Word.FASTER  # the band is shown but vetoes nothing


def test_pools_that_got_different_sizes_are_not_compared(store: Store) -> None:
    records = [changed(r, connections=7) if record_subject(r) == WIRE else r for r in measured(store).records()]
    [pair] = compare(records).of(Kind.MODEL)
    assert pair.comparisons[OPS].verdict.why == "pools of different sizes: 7 and 10 connections"


def changed(record: Record, **update: object) -> Record:
    result = result_of(record).model_copy(update=update)
    return record.model_copy(update={"trial": Trial(result=result)})


def test_two_runs_are_compared_cell_by_cell(store: Store) -> None:
    run, records = measured(store).run(), store.records()
    later = run.model_copy(update={"id": "later", "commit": "fedcba"})
    found = compare_runs(run, records, later, [faster(r, 1.5) for r in records])
    assert found.obstacles == []
    assert found.changes == ["commit: 0123456789ab → fedcba"]
    assert {(p.a, p.comparisons[OPS].verdict.word) for p in found.pairs} == {
        ("virtual", Word.FASTER),
        ("cached", Word.FASTER),
    }
    back = compare_runs(later, [faster(r, 1.5) for r in records], run, records)
    assert len(find_slower(back.pairs, by=0.05)) == 2
    longer = later.model_copy(
        update={"plan": later.plan.model_copy(update={"profile": plan.find_profile("article").times()})}
    )
    assert "JMH iteration_s: 2 → 30" in compare_runs(run, records, longer, records).obstacles


def faster(record: Record, factor: float) -> Record:
    if record.scenario == FLOOD:
        return record
    return changed(record, ops_per_s=factor * result_of(record).ops_per_s)


def test_records_are_a_table_for_other_programs(store: Store) -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv(measured(store).records()))))
    assert [(row["scenario"], row["round"]) for row in lines].count((JDBC, "3")) == 2
    for scenario in (JDBC, FLOOD):
        assert {row["entry"] for row in lines if row["scenario"] == scenario} == {
            "java-jdbc:virtual",
            "java-jdbc:cached",
        }


def report(store: Store) -> str:
    return render(report_sections(Summary.of(store.run(), store.records())))


def contents(store: Store) -> Contents:
    return Contents.of(Summary.of(store.run(), store.records()), RawFiles())


def test_the_report_has_the_published_table_beside_ours(store: Store) -> None:
    text = report(measured(store))
    assert "PostgreSQL, 10 ms on the wire · D5 · max_connections 100" in text
    assert "| cached | 627 | 60" in text
    assert "| +22% | +4" in text
    assert "8 of 8 cells measured, 0 failed" in text
    assert "short omits" in text
    assert "crashed with exit code 1: java.lang.OutOfMemoryError: unable to create native thread" in text
    assert "-Xmx512m" in text


def test_a_figure_at_its_bound_is_marked_so(store: Store) -> None:
    text = report(measured(store))
    marked = [line.split(" ")[1] for line in text.splitlines() if "⊤ |" in line]
    assert set(marked) == {"virtual", "postgresql"}  # in the published table and among all cells


def test_a_run_without_a_record_has_a_report_too(store: Store) -> None:
    assert "0 of 8 cells measured, 0 failed, 8 not run yet" in report(store)


def test_the_answer_says_what_the_pool_limited_and_how_floods_ended(store: Store) -> None:
    text = "\n".join(Summary.of(measured(store).run(), store.records()).view_answers)
    assert "virtual vs. cached, ops/s: faster in 1 of 1" in text
    assert re.search(r"postgresql find-by-code wire-10, pool 10/100: cached 6\d% of 930 ops/s, virtual 9\d% .* ⊤", text)
    assert "5,000 tasks at once on virtual: finished, 146 MB, 30 threads." in text


def test_the_page_draws_what_the_report_says_and_loads_nothing(store: Store) -> None:
    measured(store)
    text = render_page(contents(store), PLAIN)
    assert not re.search(r"https?://", text)
    drawn = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[0])
    places = set(re.findall(r'data-chart="([^"]+)"', text))
    assert set(drawn["figures"]) == places == {f.name for f in contents(store).figures}
    assert "PostgreSQL, 10 ms on the wire · D5 · max_connections 100" in text


def test_a_page_shows_no_markup_of_a_log(store: Store) -> None:
    measured(store, Launcher(fails="executor=cached", words="<script>alert(1)</script>\x1b[31m"))
    text = render_page(contents(store), PLAIN)
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_a_page_of_nothing_is_a_page(store: Store) -> None:
    assert "0 of 8 cells measured" in render_page(contents(store), PLAIN)


def test_charts_set_our_ratio_beside_the_published_one_and_pools_beside_their_bound(tmp_path: Path) -> None:
    wide = [c.model_copy(update={"pool": 100, "max_connections": 1100}) for c in two()]
    records = measured(Store.create(tmp_path, run_of([*two(), *wide]))).records()
    figures = {figure.name: figure for group in groups(records) for figure in group.figures}
    assert set(figures) == {
        "gains",
        "pools-postgresql-find-by-code-wire-10",
        "executors-postgresql-find-by-code-wire-10-10-100",
        "executors-postgresql-find-by-code-wire-10-100-1100",
    }
    gains = {d["row"]: d for d in figures["gains"].drawing.points}
    assert gains["postgresql find-by-code wire-10 · 10/100"]["published"] == pytest.approx(1.216, abs=0.001)
    assert gains["postgresql find-by-code wire-10 · 100/1100"]["published"] is None
    text = figures["gains"].description
    assert text.count("published") == 1
    assert ", published ×1.2" in text
    assert {d["executor"] for d in figures["pools-postgresql-find-by-code-wire-10"].drawing.points} == {
        "cached",
        "virtual",
        "bound",
    }
    for figure in figures.values():
        assert svg.render_svg(figure).startswith("<svg")


def test_the_readme_has_each_published_table_that_was_measured(store: Store) -> None:
    text = results(measured(store).run(), store.records(), "../report.md")
    assert re.search(r"\| PostgreSQL, 10 ms on the wire \(D5\) \| 10 \| \+4\d% ", text), text
    assert "MariaDB" not in text
    assert "Profile short, 3 rounds" in text


def test_a_reference_run_fills_the_readme_and_is_seen_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("<!-- generated: entries -->\n<!-- end -->\n", encoding="utf-8")
    (tmp_path / "java-jdbc").mkdir()
    path = tmp_path / "java-jdbc" / "README.md"
    path.write_text("<!-- generated: results -->\n<!-- end -->\n", encoding="utf-8")
    builders.list_runs(tmp_path, "claims/jdbc", command="jdbc bench")
    reference = run_of(two()).model_copy(update={"id": "jdbc"})
    store = measured(Store.create(tmp_path / "results/reference/claims", reference))
    assert path in refresh_documents(tmp_path, builders.catalog(), write=True)
    assert "Measured in a [committed run](../results/reference/claims/jdbc)" in path.read_text(encoding="utf-8")
    store.append(faster(store.records()[0], 2.0))
    assert refresh_documents(tmp_path, builders.catalog(), write=False) == [path]


def test_the_documents_name_every_profile() -> None:
    text = profiles()
    assert [line.split("`")[1] for line in text.splitlines() if "`" in line] == list(plan.PROFILES)


# --- the command


def zoo(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app.app_for(words), words, env={"JDBC_URL": None, "RUNTIME": None})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_plan_names_cells_and_time(store: Store) -> None:
    code, out, _ = zoo("jdbc", "plan", "--profile", "article", "--pool", "10", "--latency", "wire-10")
    assert code == 0
    assert "postgresql find-by-code wire-10 10/100 virtual, " in out
    assert re.search(r"10 cells × 3 rounds and 0 floods, profile article, databases: process, about \d+ min", out)
    said = zoo("jdbc", "plan", "--profile", "long")[2]
    assert said == 'zoo: there is no profile "long"; known: article, medium, short, smoke\n'


def test_a_run_that_needs_toxiproxy_ends_before_it_begins_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.cli.jdbc.acquire_run_lock", lambda runs: None)
    monkeypatch.setattr("zoo.cli.jdbc.find_toxiproxy", lambda *_: None)
    code, _, said = zoo("jdbc", "bench", "--profile", "smoke", "--latency", "wire-10", "--results", str(tmp_path))
    assert code == 2
    assert re.match(
        r"zoo: cells with network latency \(\d+\) need Toxiproxy, and it is missing: run make toxiproxy ", said
    )
    assert list(tmp_path.iterdir()) == []


def test_the_commands_for_runs_take_one_of_databases(store: Store, tmp_path: Path) -> None:
    folder = str(measured(store).folder)
    assert zoo("report", folder, "--quiet", "--svg", str(tmp_path / "svg"))[0] == 0
    assert (store.folder / "report.md").read_text(encoding="utf-8").startswith("# Run 20260102-030405-jdbc-short")
    assert (store.folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.stem for path in (tmp_path / "svg").iterdir()} == {f.name for f in contents(store).figures}
    assert zoo("export", folder)[1].count("\n") == 9
    code, out, _ = zoo("compare", folder, folder)
    assert code == 0
    assert "the same (within 5%)" in out


def test_a_run_of_databases_is_not_compared_with_one_of_servers(store: Store, tmp_path: Path) -> None:
    servers = Store.create(tmp_path, builders.run(["x:y"]))
    code, _, err = zoo("compare", str(servers.folder), str(store.folder))
    assert (code, err) == (
        2,
        "zoo: these runs cannot be compared: one measured servers, the other databases; choose two of one sort\n",
    )
