"""Tests of runs as they are stored in git: packed, read like any other, and linked where they are."""

from __future__ import annotations

import re
from pathlib import Path

import builders
import pytest
from builders import record

from zoo.core import run_folder
from zoo.core.manifest import Catalog
from zoo.core.run_folder import Store, StoreError
from zoo.reference import reports
from zoo.report.raw_files import NOT_KEPT

REPOSITORY = Path(__file__).parents[2]
REFERENCE = REPOSITORY / "results" / "reference"
ENTRY = "java-a:platform"
DOCUMENTS = sorted({*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("*/README.md")})
LINK = re.compile(r"\]\(([^)\s]+)\)")
LARGEST_FILES, LARGEST_BYTES = 240, 9_000_000


def made(folder: Path, rounds: int) -> Store:
    store = Store.create(folder, builders.run())
    for number in range(1, rounds + 1):
        store.append(record(ENTRY, round_number=number))
    store.write_raw("one-histogram", [[1, 2], [3, 4]])
    store.write_raw("one-samples", {"t": [0.0]})
    (store.raw / "one.log").write_text("started\n", encoding="utf-8")
    return store


@pytest.mark.parametrize(("rounds", "name"), [(2, run_folder.RECORDS), (200, run_folder.PACKED_RECORDS)])
def test_records_are_read_from_a_kept_run_as_from_the_run_itself(tmp_path: Path, rounds: int, name: str) -> None:
    store = made(tmp_path / "results", rounds)
    run_folder.copy_run(store.folder, tmp_path / "kept")
    again = Store.open(tmp_path / "kept")
    assert again.files() == {"run.json", name}
    assert again.records() == store.records()
    assert again.run() == store.run()


def test_histograms_and_samples_are_kept_where_asked_for_and_logs_never(tmp_path: Path) -> None:
    store = made(tmp_path / "results", 1)
    run_folder.copy_run(store.folder, tmp_path / "kept", raw=True)
    again = Store.open(tmp_path / "kept")
    assert again.files() == {"run.json", run_folder.RECORDS, run_folder.PACKED_RAW}
    assert again.raw_names() == {"raw/one-histogram.json.gz", "raw/one-samples.json.gz"}
    assert again.read_raw("raw/one-histogram.json.gz") == [[1, 2], [3, 4]]


def test_a_run_kept_again_leaves_nothing_of_the_first_behind(tmp_path: Path) -> None:
    run_folder.copy_run(made(tmp_path / "first", 200).folder, tmp_path / "kept", raw=True)
    run_folder.copy_run(made(tmp_path / "second", 2).folder, tmp_path / "kept")
    again = Store.open(tmp_path / "kept")
    assert again.files() == {"run.json", run_folder.RECORDS}
    assert len(again.records()) == 2


def test_nothing_is_added_to_packed_records(tmp_path: Path) -> None:
    run_folder.copy_run(made(tmp_path / "results", 200).folder, tmp_path / "kept")
    again = Store.open(tmp_path / "kept")
    for change in (again.truncate_incomplete_record, lambda: again.append(record(ENTRY))):
        with pytest.raises(StoreError, match=r"is compressed; to add to it, first run gunzip"):
            change()


def test_a_report_says_whether_raw_files_are_kept(tmp_path: Path) -> None:
    store = made(tmp_path / "results", 1)
    run_folder.copy_run(store.folder, tmp_path / "kept")
    reports.write_reports(Store.open(tmp_path / "kept"), Catalog(()))
    reports.write_reports(store, Catalog(()))
    for name in ("report.md", "report.html"):
        assert NOT_KEPT in (tmp_path / "kept" / name).read_text(encoding="utf-8")
        assert NOT_KEPT not in (store.folder / name).read_text(encoding="utf-8")


def test_reports_are_committed_only_where_a_document_links_them() -> None:
    linked = {
        (document.parent / link).resolve()
        for document in DOCUMENTS
        for link in LINK.findall(document.read_text(encoding="utf-8"))
    }
    reports = [path for path in tracked() if path.name.startswith("report.")]
    assert [path for path in reports if path not in linked] == []
    assert len(reports) <= 10


def test_committed_runs_stay_few_and_small() -> None:
    files = tracked()
    assert len(files) < LARGEST_FILES
    assert sum(path.stat().st_size for path in files) < LARGEST_BYTES


def tracked() -> list[Path]:
    """Return the files of committed runs, without reports that a user made of them, which git ignores."""
    ours = {"bench-all", *(path.name for path in REFERENCE.glob("vm-25k*"))}
    every = [path for path in REFERENCE.rglob("*") if path.is_file()]
    return [p for p in every if not p.name.startswith("report.") or p.relative_to(REFERENCE).parts[0] in ours]
