"""Tests that runs from a newer harness are rejected, with both protocols named."""

from __future__ import annotations

import json
from pathlib import Path

import builders
import pytest

from zoo.core.data import NewerProtocol, VersionedData
from zoo.core.record import PROTOCOL, Record
from zoo.core.run import JvmRecord, JvmRun, Run, Soak
from zoo.core.run_folder import Store, StoreError
from zoo.reference import claims_page

FORMS: list[type[VersionedData]] = [Run, Record, JvmRun, JvmRecord, Soak]


def text(protocol: int, **more: str) -> str:
    """Return data whose other keys are unknown too, as a newer harness writes them."""
    return json.dumps({"protocol": protocol, "something": "new", **more})


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_stored_data_names_both_protocols(form: type[VersionedData]) -> None:
    newest = form.model_fields["protocol"].default
    with pytest.raises(
        NewerProtocol, match=f"protocol 99, but this harness knows protocols up to {newest} only: .*git pull"
    ):
        form.model_validate_json(text(99))
    with pytest.raises(ValueError, match="something"):
        form.model_validate_json(text(newest))


@pytest.mark.parametrize("kind", ["jdbc", "jdbc-flood"])
def test_a_line_of_a_database_run_too(kind: str) -> None:
    with pytest.raises(NewerProtocol, match="protocol 99"):
        Store.RECORD.validate_json(text(99, kind=kind))


@pytest.mark.parametrize("more", [{}, {"kind": "jdbc"}])
def test_the_run_s_file_is_named(more: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text(99, **more), encoding="utf-8")
    with pytest.raises(StoreError, match=r"run\.json: measured with protocol 99"):
        Store.open(tmp_path).run()


def test_the_line_of_a_record_is_named(tmp_path: Path) -> None:
    store = Store.create(tmp_path, builders.run())
    store.append(builders.record("java-a:platform"))
    with (store.folder / "records.ndjson").open("a", encoding="utf-8") as out:
        out.write(text(PROTOCOL + 1) + "\n")
    with pytest.raises(
        StoreError, match=rf"records\.ndjson:2: measured with protocol {PROTOCOL + 1}, but .* {PROTOCOL} only:"
    ):
        store.records()


@pytest.mark.parametrize("kind", ["servers", "jvm", "jdbc"])
def test_no_claim_is_judged_by_it(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "a-run"
    folder.mkdir()
    (folder / "records.ndjson").touch()
    (folder / "run.json").write_text(text(99, kind=kind), encoding="utf-8")
    found, (why,) = claims_page.read_runs({"a-run": folder}, tmp_path, builders.catalog())
    assert found == {}
    assert why.startswith("a-run: measured with protocol 99")


def test_no_claim_is_judged_by_a_line_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "a-run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"protocol": 1, "kind": "jvm"}), encoding="utf-8")
    (folder / "records.ndjson").write_text(text(99, kind="jvm") + "\n", encoding="utf-8")
    found, (why,) = claims_page.read_runs({"a-run": folder}, tmp_path, builders.catalog())
    assert found == {}
    assert why.startswith("a-run: measured with protocol 99")
