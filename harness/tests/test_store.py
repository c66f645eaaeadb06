"""Tests of a run's folder on disk, the format of its records, and the documents generated from it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import builders
import pytest
from builders import record
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.entry_id import aa_id, with_condition
from zoo.core.flag import Flag
from zoo.core.manifest import Catalog
from zoo.core.record import Record
from zoo.core.run import Run, schema
from zoo.core.run_folder import Store, StoreError
from zoo.reference import readmes
from zoo.reference.documents import DocumentError, refresh_documents
from zoo.reference.readmes import CHARTS
from zoo.reference.runs import COMMITTED, CommittedRun, StoredRun
from zoo.report.summary import Summary
from zoo.stats.interval import Interval
from zoo.stats.memory_per_request import Cost

PLATFORM, VIRTUAL, BARE = "java-a:platform", "java-a:virtual", "rust-n:bare"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "results", builders.run())


def lines(store: Store) -> Path:
    return store.folder / "records.ndjson"


# --- the folder


def test_what_was_written_is_read_again(store: Store) -> None:
    written = [record(PLATFORM), record(VIRTUAL, failure="died – “übel”\nand a second line\u2028"), record(BARE, "25k")]
    for one in written:
        store.append(one)
    again = Store.open(store.folder)
    assert again.records() == written
    assert again.run() == builders.run()


def test_a_record_is_one_line_there_as_soon_as_it_is_appended(store: Store) -> None:
    store.append(record(PLATFORM, failure="two\nlines"))
    assert lines(store).read_bytes().count(b"\n") == 1


def test_latest_points_to_the_newest_run_and_a_run_found_by_it_stays_that_run(tmp_path: Path) -> None:
    first = Store.create(tmp_path, builders.run())
    opened = Store.open(tmp_path / "latest")
    second = Store.create(tmp_path, builders.run().model_copy(update={"id": "later"}))
    assert Store.open(tmp_path / "latest").folder == second.folder
    opened.append(record(BARE))
    assert len(first.records()) == 1
    assert second.records() == []


def test_a_folder_without_a_run_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere contains no run .* make bench-quick"):
        Store.open(tmp_path / "nowhere")


def test_a_run_file_that_is_not_one_is_named(store: Store) -> None:
    (store.folder / "run.json").write_text('{"id": "x", "colour": "red"}', encoding="utf-8")
    with pytest.raises(StoreError, match=r"run\.json: "):
        Store.open(store.folder).run()


@given(cut=st.integers(1, 400))
def test_a_last_line_cut_off_anywhere_is_left_out_and_mended(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    store = Store.create(tmp_path_factory.mktemp("run"), builders.run())
    store.append(record(PLATFORM))
    whole = lines(store).read_bytes()
    store.append(record(VIRTUAL, failure="ü" * 200))
    data = lines(store).read_bytes()
    lines(store).write_bytes(data[:-cut])
    assert store.records() == [record(PLATFORM)]
    store.truncate_incomplete_record()
    assert lines(store).read_bytes() == whole
    store.append(record(BARE))
    assert store.records() == [record(PLATFORM), record(BARE)]


def test_mending_a_sound_run_changes_nothing(store: Store) -> None:
    store.truncate_incomplete_record()
    store.append(record(PLATFORM))
    before = lines(store).read_bytes()
    store.truncate_incomplete_record()
    assert lines(store).read_bytes() == before


@pytest.mark.parametrize("bad", ["{", '{"entry": "a:b"}', "", "null"])
def test_a_bad_line_is_named_by_file_and_number(store: Store, bad: str) -> None:
    store.append(record(PLATFORM))
    with lines(store).open("a", encoding="utf-8") as out:
        out.write(bad + "\n")
    store.append(record(VIRTUAL))
    with pytest.raises(StoreError, match=r"records\.ndjson:2: "):
        store.records()


def test_raw_data_is_compressed_json_below_the_run(store: Store) -> None:
    where = store.write_raw("cell", [[10, 3], [20, 1]])
    assert json.loads(gzip.decompress((store.folder / where).read_bytes())) == [[10, 3], [20, 1]]
    first = (store.folder / where).read_bytes()
    store.write_raw("cell", [[10, 3], [20, 1]])
    assert (store.folder / where).read_bytes() == first  # no time in it: equal data, equal file


# --- the format of records


def test_a_full_disk_is_told_with_the_file(store: Store) -> None:
    full = store.raw / "a.json.gz"
    for path in (lines(store), full):
        path.unlink(missing_ok=True)
        path.symlink_to("/dev/full")
    with pytest.raises(StoreError, match=f"cannot write {lines(store)}: No space left on device"):
        store.append(builders.record("java-a:virtual"))
    with pytest.raises(StoreError, match=f"cannot write {full}: No space left on device"):
        store.write_raw("a", list(range(1000)))


def test_a_record_with_a_key_that_the_model_does_not_know_is_refused() -> None:
    data = json.loads(record(PLATFORM).model_dump_json(round_trip=True))
    assert Record.model_validate(data) == record(PLATFORM)
    data["measurement"]["load"]["guess"] = 1
    with pytest.raises(ValueError, match=r"measurement\.load\.guess"):
        Record.model_validate(data)


def test_the_schema_is_that_of_runs_and_records() -> None:
    made = schema()
    assert set(Run.model_fields) == set(made["run"]["properties"])
    assert set(Record.model_fields) == set(made["record"]["properties"])
    assert {"rss_idle_kb", "pss_after_kb", "heap_max_kb"} <= set(made["record"]["$defs"]["Memory"]["properties"])


# --- documents

README = "# Zoo\n<!-- generated: entries -->\nold\n<!-- end -->\ntext between\n{results}after\n"
RESULTS = "<!-- generated: results -->\n<!-- end -->\n"
FIRST_SCREEN = "".join(RESULTS.replace("results", name) for name in ("switch", "answer"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with three entries in two servers."""
    for server in builders.catalog().servers:
        (tmp_path / server.name).mkdir()
        (tmp_path / server.name / "README.md").write_text(f"# {server.name}\n{RESULTS}", encoding="utf-8")
    (tmp_path / "README.md").write_text(README.format(results=""), encoding="utf-8")
    builders.list_runs(tmp_path, "bench-all", "aa", "slowdown", "designs/native-rounds", "cores-split")
    return tmp_path


def at(root: Path) -> Catalog:
    """Return the catalog with its folders below `root`."""
    servers = builders.catalog().servers
    return Catalog(tuple(type(s)(root / s.folder, s.manifest) for s in servers))


def reference(root: Path, records: list[Record]) -> None:
    """Commit a reference run, with room for its table in the README."""
    made = Store.create(root / "results" / "reference", builders.run([PLATFORM, VIRTUAL, BARE]))
    for one in records:
        made.append(one)
    made.folder.rename(root / COMMITTED / "bench-all")
    (root / "README.md").write_text(README.format(results=FIRST_SCREEN), encoding="utf-8")


def sleeping(entry: str, *flags: Flag, ceiling_rps: float | None = None) -> list[Record]:
    return [record(entry, tier, "sleep", flags=flags, ceiling_rps=ceiling_rps) for tier in ("100", "1k", "25k")]


def test_stale_documents_are_named_and_left_alone_when_only_checked(root: Path) -> None:
    before = (root / "README.md").read_text(encoding="utf-8")
    stale = refresh_documents(root, at(root), write=False)
    schemas = {root / "docs" / f"{name}.schema.json" for name in ("records", "jvm", "answer")}
    assert set(stale) == {root / "README.md", *schemas}
    assert (root / "README.md").read_text(encoding="utf-8") == before
    assert not (root / "docs").exists()


def test_what_was_generated_is_fresh_until_something_changes(root: Path) -> None:
    refresh_documents(root, at(root), write=True)
    assert refresh_documents(root, at(root), write=False) == []
    text = (root / "README.md").read_text(encoding="utf-8")
    assert "`virtual`: a virtual-thread" in text
    assert "old" not in text
    assert text.startswith("# Zoo\n")
    assert text.endswith("text between\nafter\n")
    assert json.loads((root / "docs" / "records.schema.json").read_text(encoding="utf-8")) == schema()
    (root / "README.md").write_text(text.replace("a virtual-thread", "a green-thread"), encoding="utf-8")
    assert refresh_documents(root, at(root), write=False) == [root / "README.md"]


@pytest.mark.parametrize("text", ["# Zoo\n", README.format(results="") * 2])
def test_a_document_without_its_markers_once_is_an_error(root: Path, text: str) -> None:
    (root / "README.md").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match="markers of the generated part 'entries' once"):
        refresh_documents(root, at(root), write=False)


def test_results_of_the_reference_run_stand_in_the_readmes(root: Path) -> None:
    pooled = sleeping(PLATFORM, Flag.POOL_CEILING, ceiling_rps=20.0)
    hello = [
        record(entry, tier, rps=50_000.0, round_number=number)
        for number in (1, 2, 3)
        for entry in (PLATFORM, VIRTUAL, BARE)
        for tier in ("100", "1k", "25k")
    ]
    reference(root, [*hello, *pooled, *sleeping(VIRTUAL), *sleeping(BARE, Flag.STARVED)])
    stale = refresh_documents(root, at(root), write=True)
    assert {root / s.name / "README.md" for s in builders.catalog().servers} <= set(stale)
    assert refresh_documents(root, at(root), write=False) == []
    whole, java = ((root / name).read_text(encoding="utf-8") for name in ("README.md", "java-a/README.md"))
    assert "| [java-a](java-a/) | " in whole
    assert "| if your requests … | then | [java-a](java-a/) |" in whole
    variants = {row.split("|")[1].strip(): row for row in java.splitlines() if row.startswith("| `")}
    assert set(variants) == {"`platform`", "`virtual`"}
    assert "≥ 50,000" in variants["`virtual`"]  # as fast as the bare reference
    assert "**Measured with an earlier build**" in java


def test_charts_of_the_reference_run_are_shown_in_the_readme(root: Path) -> None:
    hello = [record(e, t) for e in (PLATFORM, VIRTUAL, BARE) for t in ("100", "1k", "25k")]
    reference(root, [*hello, *sleeping(VIRTUAL)])
    refresh_documents(root, at(root), write=True)
    charts = {path.name for path in (root / "docs" / "charts").iterdir()}
    assert charts == {"bench-all-forest-model-hello-cpu-per-request.svg"}
    text = (root / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"^!\[([^\[\]]+)\]\(docs/charts/([\w.-]+)\)$", text, re.MULTILINE)
    assert sorted(name for _, name in pictures) == sorted(charts)
    assert all(len(description) > 20 for description, _ in pictures)


def test_what_was_made_of_the_reference_run_is_stale_when_it_differs_or_is_not_wanted(root: Path) -> None:
    reference(root, [record(e) for e in (PLATFORM, VIRTUAL)])
    refresh_documents(root, at(root), write=True)
    html, chart = (
        root / COMMITTED / "bench-all" / "report.html",
        root / CHARTS / "bench-all-forest-model-hello-cpu-per-request.svg",
    )
    for path in (html, chart):
        path.write_text(path.read_text(encoding="utf-8").replace("java-a", "java-b"), encoding="utf-8")
    old = chart.with_name("old.svg")
    old.touch()
    assert set(refresh_documents(root, at(root), write=True)) == {html, chart, old}
    assert not old.exists()
    assert refresh_documents(root, at(root), write=False) == []


def test_a_server_that_the_reference_run_did_not_have_needs_no_results(root: Path) -> None:
    reference(root, [record(PLATFORM)])
    refresh_documents(root, at(root), write=True)
    assert RESULTS in (root / "rust-n" / "README.md").read_text(encoding="utf-8")
    assert refresh_documents(root, at(root), write=False) == []


def test_what_committed_runs_prove_stands_in_the_method(root: Path) -> None:
    explanation = root / "docs" / "explanation"
    explanation.mkdir(parents=True)
    certainty, method = explanation / "certainty.md", explanation / "method.md"
    for document, names in ((certainty, ("aa", "slowdown")), (method, ("designs",))):
        document.write_text("".join(f"<!-- generated: {n} -->\n<!-- end -->\n" for n in names), encoding="utf-8")
    run = builders.run([PLATFORM, VIRTUAL], ["hello"], ["1k"]).model_copy(
        update={"finished_at": "2026-01-02T03:14:05+00:00"}
    )
    for folder in (COMMITTED / "aa", COMMITTED / "designs/native-rounds"):
        made = Store.create(root / "made", run)
        for entry in (PLATFORM, VIRTUAL, aa_id(VIRTUAL)):
            for number, wobble in enumerate((1.0, 1.01, 0.99), 1):
                made.append(record(entry, round_number=number, rps=50_000 * wobble))
        (root / folder).parent.mkdir(parents=True, exist_ok=True)
        made.folder.rename(root / folder)
    assert {certainty, method} <= set(refresh_documents(root, at(root), write=True))
    text = certainty.read_text(encoding="utf-8") + method.read_text(encoding="utf-8")
    assert "0 of 4 intervals exclude 1" in text
    assert f"| {VIRTUAL} ÷ {PLATFORM} | rounds | req/s | 3 in 10.0 min |" in text
    assert "<!-- generated: slowdown -->\n<!-- end -->" in text, "of which no run is committed"
    assert refresh_documents(root, at(root), write=False) == []


def test_what_cores_of_their_own_change_stands_in_the_method(root: Path) -> None:
    method = root / "docs" / "explanation" / "method.md"
    method.parent.mkdir(parents=True)
    method.write_text("<!-- generated: cores-split -->\n<!-- end -->\n", encoding="utf-8")
    apart = with_condition(PLATFORM, "cores=split")
    made = Store.create(root / "made", builders.run([PLATFORM], ["hello"], ["1k"]))
    for number, wobble in enumerate((1.0, 1.01, 0.99), 1):
        made.append(record(PLATFORM, round_number=number, rps=50_000 * wobble))
        made.append(record(apart, round_number=number, rps=30_000))
    (root / COMMITTED).mkdir(parents=True, exist_ok=True)
    made.folder.rename(root / COMMITTED / "cores-split")
    assert method in refresh_documents(root, at(root), write=True)
    assert re.search(
        rf"^\| {apart} \| hello \| 1k \| 3 \| \d\d% slower \(3\d–4\d%\)", method.read_text(encoding="utf-8"), re.M
    )


def held_run(started_at: str, kb: dict[str, float]) -> StoredRun:
    run = builders.run(list(kb), ["held"]).model_copy(update={"started_at": started_at})
    listed = CommittedRun(name=started_at, command="bench", quoted_by=["README.md"])
    made = StoredRun(listed, listed.path, Catalog(()))
    costs = {(e, "rss"): Cost(Interval(cost, None, None, 1), 1.0) for e, cost in kb.items()}
    vars(made).update(run=run, costs=costs)
    return made


def test_a_held_connection_costs_what_the_newest_run_says_and_lean_buffers_are_set_beside_it(root: Path) -> None:
    run = builders.run([PLATFORM, VIRTUAL, BARE])
    summary = Summary.of(run, [record(entry) for entry in (PLATFORM, VIRTUAL, BARE)])
    lean = with_condition(VIRTUAL, readmes.LEAN)

    def results(*held: StoredRun) -> str:
        return readmes.render_variants(summary, held, at(root), "java-a", "report.html")

    newest = held_run("2026-02-01", {VIRTUAL: 128.0, lean: 100.0})
    part = results(newest, held_run("2026-01-01", {VIRTUAL: 70.0}))
    assert re.search(r"^\| `virtual` .* \| 128 \|$", part, re.M)
    told = "With `BUFFERS=lean`, a waiting request takes 100 kB in `virtual` instead of 128 kB, in the same run."
    assert told in part
    assert part.count("Waiting requests: ") == 1
    part = results(newest, held_run("2026-03-01", {VIRTUAL: 140.0}))
    assert re.search(r"^\| `virtual` .* \| 140 \|$", part, re.M)
    assert told in part
    part = results(held_run("2026-02-01", {lean: 100.0}), held_run("2026-03-01", {VIRTUAL: 70.0}))
    assert "lean" not in part, "of two runs they are no pair"


def test_raw_data_is_read_as_written_and_every_file_is_listed(store: Store) -> None:
    name = store.write_raw("java-a-histogram", [[1, 2], [3, 4]])
    store.write_text("report.html", "made of the others")
    assert store.read_raw(name) == [[1, 2], [3, 4]]
    assert store.files() == {name, "run.json", "records.ndjson"}


def test_raw_data_cut_off_by_a_crash_is_named(store: Store) -> None:
    path = store.folder / store.write_raw("x", list(range(1_000)))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match=r"raw/x\.json\.gz: "):
        store.read_raw("raw/x.json.gz")
