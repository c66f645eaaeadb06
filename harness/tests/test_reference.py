"""Tests of the table of committed runs: it is complete, and each command plans what its run measured."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import builders
import pytest
from test_cli import MANIFEST
from typer.testing import CliRunner

from zoo.cli import app, checkout, child_process
from zoo.core.entry_id import server_name
from zoo.core.jdbc import FLOOD, plan_subjects
from zoo.core.manifest_files import load_catalog
from zoo.core.option import parse_options
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.record import PROTOCOL
from zoo.core.run import SOAK_PROTOCOL
from zoo.core.run_folder import Store
from zoo.host.build import source_hash
from zoo.reference import rerun, runs
from zoo.reference.documents import document_parts, find_runs
from zoo.reference.rerun import CommandTime, ServerBuild, TimedBuild
from zoo.reference.runs import COMMITTED, TABLE, CommittedRun, Reference, TableError
from zoo.runtime import conditions
from zoo.scenarios.jdbc import spec as databases
from zoo.scenarios.jdbc.spec import JdbcOptions

REPOSITORY = Path(__file__).parents[2]
LISTED = runs.load(REPOSITORY).runs
DOCUMENTS = sorted({*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("*-*/README.md")})
LINK = re.compile(r"results/reference/([\w./-]*[\w-])")


def of_command(*words: str) -> list[CommittedRun]:
    return [run for run in LISTED if run.words[: len(words)] == list(words) and run.measured]


def by_name(run: CommittedRun) -> str:
    return run.name


# --- the table and the tree


def test_every_committed_run_is_listed() -> None:
    files = [path for path in (REPOSITORY / COMMITTED).rglob("*") if path.is_file() and path != REPOSITORY / TABLE]
    listed = {REPOSITORY / run.path for run in LISTED if run.measured}
    assert [path for path in files if not listed.intersection((path, path.parent))] == []


def test_every_listed_run_is_committed_unless_it_is_marked_as_not_measured() -> None:
    there = {
        run.name for run in LISTED if (REPOSITORY / run.path).is_file() or (REPOSITORY / run.path / "run.json").exists()
    }
    assert there == {run.name for run in LISTED if run.measured}


def test_no_two_runs_of_one_cell_and_build_differ_in_opposite_directions() -> None:
    """Compare only runs of one protocol that stored the hashes of their builds."""
    found: dict[tuple[str, ...], dict[str, bool]] = {}
    for one in Reference(REPOSITORY, load_catalog(REPOSITORY)).matching("*"):
        if one.listing.words[0] == "bench" and one.run.builds:
            for pair in one.summary.compared.pairs:
                builds = [one.run.builds.get(server_name(entry), "") for entry in (pair.a, pair.b)]
                condition = f"protocol {one.run.protocol}, {one.run.plan.condition.model_dump_json()}"
                for metric, comparison in pair.comparisons.items():
                    if all(builds) and comparison.ratio and comparison.verdict.differs:
                        cell = (pair.kind, pair.a, pair.b, pair.scenario, pair.tier, metric.name, condition, *builds)
                        found.setdefault(cell, {})[one.listing.name] = comparison.ratio.value > 1
    assert found
    assert {cell: sides for cell, sides in found.items() if len(set(sides.values())) > 1} == {}


def test_every_link_to_a_committed_run_is_one_of_those_that_the_table_knows() -> None:
    quoted = {(run.name, document) for run in LISTED for document in run.quoted_by}
    for document in DOCUMENTS:
        links = LINK.findall(document.read_text(encoding="utf-8"))
        names = {re.sub(r"/(report|explain)\.\w+$", "", link) for link in links} - {TABLE.name}
        name = document.relative_to(REPOSITORY).as_posix()
        assert {(one, name) for one in names} <= quoted, f"add {name} to quoted_by in {TABLE}"


def test_every_part_has_its_document_and_its_runs() -> None:
    catalog = load_catalog(REPOSITORY)
    committed = Reference(REPOSITORY, catalog)
    for part in document_parts(catalog):
        assert (REPOSITORY / part.document).is_file()
        runs_of_part = find_runs(part.runs, committed)
        planned = any(not run.measured and fnmatchcase(run.name, part.runs[0]) for run in LISTED if part.runs)
        assert runs_of_part is not None or planned, f"{part.document}, {part.marker}: no run is called {part.runs[0]}"


def test_what_the_table_says_of_a_document_is_so() -> None:
    # The document links the run, or has a part that the run is rendered in.
    catalog = load_catalog(REPOSITORY)
    committed = Reference(REPOSITORY, catalog)
    rendered = {
        (run.listing.name, part.document)
        for part in document_parts(catalog)
        for run in find_runs(part.runs, committed) or ()
    }
    rendered |= {
        (run.name, part.document)
        for run in LISTED
        for part in document_parts(catalog)
        if not run.measured and any(fnmatchcase(run.name, name) for name in part.runs)
    }
    for run in LISTED:
        for document in run.quoted_by:
            text = (REPOSITORY / document).read_text(encoding="utf-8")
            assert run.path.as_posix() in text or (run.name, document) in rendered, (
                f"{document} does not quote {run.name}"
            )


# --- the commands


@pytest.mark.parametrize("run", of_command("bench"), ids=by_name)
def test_a_bench_command_plans_the_cells_of_its_run(run: CommittedRun) -> None:
    """Check the plan; the command may add a condition, which the run gets with its next refresh."""
    catalog, wish = run.catalog(REPOSITORY), parse_options(BenchOptions, run.words[1:])
    measured = Store.open(REPOSITORY / run.path).run().plan
    if run.by_hand and set(measured.guests):
        assert list(wish.variants) == measured.entries
        return
    planned = make_plan(wish, catalog, measured.condition, dict.fromkeys(wish.vary, measured.condition))
    assert sorted(planned.entries) == sorted(measured.entries)
    assert planned.scenarios == measured.scenarios
    assert set(planned.variations) >= set(measured.variations)
    assert planned.design == measured.design
    assert planned.programs.keys() == measured.programs.keys()
    assert planned.programs or planned.tiers == measured.tiers
    for name, program in planned.programs.items():
        assert program.tiers == measured.programs[name].tiers
        assert [case.name for case in program.cases] == [case.name for case in measured.programs[name].cases]


@pytest.mark.parametrize("run", of_command("jdbc", "bench"), ids=by_name)
def test_a_database_command_plans_the_cells_of_its_run(run: CommittedRun) -> None:
    wish = parse_options(JdbcOptions, run.words[2:])
    measured = Store.open(REPOSITORY / run.path).run().plan
    planned = databases.make_plan(wish, seed=0)
    assert planned.rounds == measured.rounds
    assert (FLOOD in measured.scenarios) == (wish.only_floods or not wish.choice.is_given)
    if not wish.only_floods:
        assert {str(one) for one in plan_subjects(planned)} == {str(one) for one in plan_subjects(measured)}


# --- the reader


def table(root: Path, text: str) -> Path:
    (root / TABLE).parent.mkdir(parents=True)
    (root / TABLE).write_text(text, encoding="utf-8")
    return root


ONE = '[[runs]]\nname = "a"\ncommand = "bench"\nquoted_by = ["README.md"]\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ONE + ONE, "two runs have the name a"),
        (ONE.replace("command", "comand"), r"runs\.toml: runs\.0\.command: Field required"),
        (ONE.replace('["README.md"]', "[]"), r"runs\.0\.quoted_by: List should have at least 1 item"),
    ],
)
def test_a_wrong_table_is_told_with_its_file(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(TableError, match=complaint):
        runs.load(table(tmp_path, text))


def test_a_run_is_found_by_its_name(tmp_path: Path) -> None:
    found = runs.load(table(tmp_path, ONE + ONE.replace('"a"', '"x/b"') + ONE.replace('"a"', '"x/c"')))
    assert found.matching("a")[0].words == ["bench", "--runtime", "process"]
    assert [run.name for run in found.matching("x/*")] == ["x/b", "x/c"]
    with pytest.raises(TableError, match='no run "b"; zoo reference status shows all names'):
        found.matching("b")


# --- the status


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout of one native server. Its run `a` is current; its run `b` is not measured yet."""
    (tmp_path / "rust-a" / "src").mkdir(parents=True)
    (tmp_path / "rust-a" / "src" / "main").write_text("one\n", encoding="utf-8")
    (tmp_path / "rust-a" / "server.toml").write_text(
        MANIFEST.format(name="rust-a", port=8201).replace('sources = ["server.toml"]', 'sources = ["src"]'),
        encoding="utf-8",
    )
    table(tmp_path, ONE + ONE.replace('"a"', '"b"') + "measured = false\n")
    found = load_catalog(tmp_path)
    run = builders.run([entry.id for entry in found.entries], ["hello"]).model_copy(
        update={"id": "a", "builds": {"rust-a": source_hash(found.servers[0])}}
    )
    Store.create(tmp_path / COMMITTED, run)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    for name in (*conditions.PASSED_ON, "ZOO", "RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def status() -> dict[str, str]:
    """Return the rows of the status by the run's name, its summary, and how long the runs took."""
    done = CliRunner().invoke(app.app_for(["reference"]), ["reference", "status"])
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return {
        name: line
        for line in lines
        for name, mark in {"a": "a ", "b": "b ", "summary": r"\d+ of", "took": "Measuring "}.items()
        if re.match(mark, line)
    }


def test_the_status_tells_current_runs_from_those_that_are_missing(root: Path) -> None:
    found = status()
    assert re.fullmatch(r"a nothing 2026-01-02 \d+", found["a"])
    assert re.fullmatch(r"b – not yet \d+", found["b"])
    assert found["summary"].startswith("1 of 2 runs are current. Refreshing the others takes about ")


def test_the_status_names_the_servers_that_changed_since(root: Path) -> None:
    (root / "rust-a" / "src" / "main").write_text("two\n", encoding="utf-8")
    assert re.fullmatch(r"a rust-a 2026-01-02 \d+", status()["a"])


def test_the_status_names_the_method_if_the_protocol_is_earlier(root: Path) -> None:
    path = root / COMMITTED / "a" / "run.json"
    facts = {**json.loads(path.read_text(encoding="utf-8")), "protocol": PROTOCOL - 1}
    path.write_text(json.dumps(facts), encoding="utf-8")
    assert re.fullmatch(r"a the method 2026-01-02 \d+", status()["a"])


def test_the_status_tells_how_long_each_group_of_documents_took(root: Path) -> None:
    text = (root / TABLE).read_text(encoding="utf-8")
    rest = text.replace('"b"', '"c"').replace('"a"', '"d"').replace("README.md", "docs/claims.md")
    (root / TABLE).write_text(text + rest, encoding="utf-8")
    for name, minutes in {"a": 150, "d": 5}.items():
        facts = json.loads((root / COMMITTED / "a" / "run.json").read_text(encoding="utf-8"))
        ended = datetime.fromisoformat(facts["started_at"]) + timedelta(minutes=minutes)
        (root / COMMITTED / name).mkdir(exist_ok=True)
        (root / COMMITTED / name / "run.json").write_text(json.dumps({**facts, "finished_at": ended.isoformat()}))
    assert status()["took"] == "Measuring them took 2.6 h: 2.5 h for READMEs and findings and 5 min for claims."


@pytest.mark.parametrize(("protocol", "changed"), [(SOAK_PROTOCOL, "nothing"), (SOAK_PROTOCOL - 1, "the method")])
def test_a_soak_is_judged_by_its_own_protocol(root: Path, protocol: int, changed: str) -> None:
    path = root / COMMITTED / "a" / "run.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    soak = {key: found[key] for key in ("started_at", "builds")} | {"kind": "soak", "protocol": protocol}
    path.write_text(json.dumps({**soak, "marks": {entry: [] for entry in found["plan"]["entries"]}}), encoding="utf-8")
    assert re.fullmatch(rf"a {changed} 2026-01-02 \d+", status()["a"])


def test_the_status_says_why_a_run_cannot_be_refreshed(root: Path) -> None:
    path = root / TABLE
    path.write_text(path.read_text(encoding="utf-8").replace("bench", "bench --server gone", 1), encoding="utf-8")
    assert re.fullmatch(r"a nothing 2026-01-02 –", status()["a"])


@pytest.mark.parametrize("run", [run for run in LISTED if not run.by_hand], ids=by_name)
def test_the_time_of_every_command_is_known_or_why_it_cannot_run_here(run: CommittedRun) -> None:
    found = rerun.time_of(run, REPOSITORY)
    assert bool(found.seconds) != bool(found.impossible)
    assert "no option" not in found.impossible


def test_a_command_that_makes_no_committed_run_is_a_fault_of_the_table() -> None:
    run = CommittedRun(name="a", command="doctor", quoted_by=["README.md"])
    with pytest.raises(TableError, match=r"a: .* is not the command of a committed run"):
        rerun.time_of(run, REPOSITORY)


# --- the refresh


def zoo_that_measures(root: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Write a `zoo` that leaves a finished run in its --results folder, and logs its arguments."""
    made = Store.create(root / "made", builders.run(["rust-a:async"]).model_copy(update={"id": "new"}))
    script = f'#!/bin/sh\necho "$MAX_THREADS $@" >>{root}/called\nfor last; do :; done\n'
    script += f'mkdir -p "$last"\ncp -r {made.folder} "$last/new"\nexit {code}\n'
    (root / "zoo").write_text(script, encoding="utf-8")
    (root / "zoo").chmod(0o755)
    monkeypatch.setattr(child_process, "COMMAND", (str(root / "zoo"),))


def refresh(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app.app_for(["reference"]), ["reference", "run", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def make_impossible(root: Path) -> None:
    """Let the run `a` be one that its command cannot make."""
    path = root / TABLE
    path.write_text(path.read_text(encoding="utf-8").replace("quoted_by", 'by_hand = "it is old"\nquoted_by', 1))


def committed_id(root: Path, name: str) -> str:
    return Store.open(root / COMMITTED / name).run().id


def test_a_refreshed_run_takes_the_place_of_the_committed_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    path = root / TABLE
    path.write_text(path.read_text(encoding="utf-8").replace("quoted_by", 'env = { MAX_THREADS = "7" }\nquoted_by', 1))
    code, out = refresh("a")
    assert code == 0, out
    assert committed_id(root, "a") == "new"
    called = (root / "called").read_text(encoding="utf-8").split()
    assert called == ["7", "bench", "--runtime", "process", "--results", f"{root}/results/refreshed/a"]
    assert {file.name for file in (root / COMMITTED).iterdir()} == {"runs.toml", "a", "latest"}


def test_a_refresh_can_leave_the_committed_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    code, out = refresh("--no-replace", "a")
    assert code == 0, out
    assert committed_id(root, "a") == "a"
    assert out.splitlines()[-1] == "measured: results/refreshed/a"
    assert Store.open(root / "results" / "refreshed" / "a" / "new").run().id == "new"


def test_a_run_with_failed_cells_leaves_the_committed_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo_that_measures(root, monkeypatch, code=1)
    code, out = refresh("a")
    assert code == 1
    assert committed_id(root, "a") == "a"
    assert "a: exit code 1; the committed run stays, the new one is in results/refreshed/a" in out
    assert "not refreshed: a" in out


def test_without_names_what_is_not_current_is_refreshed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    assert refresh()[0] == 0
    assert (committed_id(root, "a"), committed_id(root, "b")) == ("a", "new")


def test_a_plan_shows_the_commands_and_measures_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    done = CliRunner().invoke(app.app_for(["reference"]), ["reference", "plan", "a", "b"])
    assert done.exit_code == 0, done.output
    assert [re.sub(r"\d+ (min|s)", "…", line) for line in done.stdout.splitlines()] == [
        "a, …: zoo bench --runtime process",
        "b, …: zoo bench --runtime process",
        "2 runs, about …; the machine should be idle",
    ]
    assert not (root / "called").exists()


def test_the_runs_that_a_document_quotes_are_refreshed_except_those_that_cannot_be_made_here(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    make_impossible(root)
    code, out = refresh("README.md")
    assert code == 0, out
    assert out.startswith("left out: a: it is old\n")
    assert (committed_id(root, "a"), committed_id(root, "b")) == ("a", "new")


def test_a_budget_that_is_too_small_measures_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    code, out = refresh("--budget", "1")
    assert (code, out.partition(";")[0]) == (0, "nothing to refresh within 1 minutes")
    assert not (root / "called").exists()


def test_what_cannot_be_made_here_is_told_before_anything_is_measured(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo_that_measures(root, monkeypatch, code=0)
    make_impossible(root)
    assert refresh("b", "a") == (2, "zoo: a: it is old\n")
    assert not (root / "called").exists()


def test_the_oldest_builds_come_first_and_no_more_than_fit() -> None:
    def build(name: str, started_at: str | None, *changed: str, seconds: float = 60.0) -> TimedBuild:
        listed = CommittedRun(name=name, command="bench", quoted_by=["README.md"])
        return ServerBuild(listed, started_at, changed), CommandTime(seconds)

    found = [build("new", "2026-03-01", "s"), build("old", "2026-01-01", "s"), build("current", "2025-01-01")]
    found += [build("long", "2025-02-01", "s", seconds=600.0), build("missing", None)]
    assert [build.run.name for build, _ in rerun.sort_runs(found)] == ["missing", "long", "old", "new", "current"]
    assert [run.name for run, _ in rerun.choose_oldest(found, budget_s=180.0)] == ["missing", "old", "new"]
    assert [run.name for run, _ in rerun.choose_oldest(found, budget_s=120.0)] == ["missing", "old"]
