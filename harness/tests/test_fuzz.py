"""Tests with damaged or hand-written files: each gives a correct result or a plain error, never a wrong result.

`FUZZ=100000` tries this many of each kind.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.core.errors import UserError
from zoo.core.manifest_files import load_manifest
from zoo.core.run_folder import Store
from zoo.host import processors
from zoo.load.spec import LoadError
from zoo.load.wrk import read_report
from zoo.reference.claims_page import read_ledger_file

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = [f"{name}/server.toml" for name in ("java-tomcat", "java-liberty", "rust-axum")]
LEDGERS = [f"claims/{path.name}" for path in sorted((ROOT / "claims").glob("*.toml"))]
RUN = builders.run(["java-a:platform", "java-a:virtual"]).model_dump_json(indent=2).encode()
RECORDS = "".join(
    builders.record(f"java-a:{name}").model_dump_json(round_trip=True) + "\n" for name in ("platform", "virtual")
).encode()
REPORT = json.dumps(
    {
        "errors": {"connect": 0, "read": 0, "write": 0, "status": 0, "timeout": 0},
        "values": [1_000, 2_000],
        "counts": [60, 40],
        "limit": 7_000_001,
        "count": 100,
        "requests": 100,
        "runtime_us": 2_000_000,
        "bytes": 12_700,
    }
).encode()
ODD = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"-1",
    b"1e999",
    b"9" * 40,
    b"null",
    b"[" * 2_000,
    b'"',
    b"\n",
    b"{}",
    b"=",
    b"\xc3\xa9",
]

many = settings(max_examples=int(os.environ.get("FUZZ", "150")), deadline=None)
"""Number of examples for each kind of file."""


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Return the data with some bytes cut out, doubled, replaced, or with something odd inserted."""
    made = bytearray(whole)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(made) + 1)
        end = min(len(made), start + chance.choice((1, 1, 3, 20, 200)))
        match chance.randrange(5):
            case 0:
                del made[start:end]
            case 1:
                made[start:start] = made[start:end]
            case 2:
                made[start:end] = chance.randbytes(end - start)
            case 3:
                made[start:end] = chance.choice(ODD)
            case _:
                del made[start:]
    return bytes(made)


def survives(read: Callable[[Path], object], name: str, data: bytes, errors: type[Exception] = UserError) -> None:
    """Check that the data is read, or rejected with a message that says where the fault is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        try:
            read(path)
        except errors as error:
            assert str(error).strip()  # noqa: PT017


@many
@given(st.sampled_from(MANIFESTS), st.randoms(use_true_random=False))
def test_manifests(name: str, chance: random.Random) -> None:
    survives(load_manifest, name, damaged((ROOT / name).read_bytes(), chance))


@many
@given(st.sampled_from(LEDGERS), st.randoms(use_true_random=False))
def test_ledgers(name: str, chance: random.Random) -> None:
    survives(read_ledger_file, name, damaged((ROOT / name).read_bytes(), chance))


@many
@given(st.randoms(use_true_random=False))
def test_runs(chance: random.Random) -> None:
    survives(lambda path: Store.open(path.parent).run(), "run.json", damaged(RUN, chance))


@many
@given(st.randoms(use_true_random=False))
def test_records(chance: random.Random) -> None:
    survives(lambda path: Store(path.parent).records(), "records.ndjson", damaged(RECORDS, chance))


@many
@given(st.randoms(use_true_random=False))
def test_reports_of_wrk(chance: random.Random) -> None:
    def read(path: Path) -> object:
        return read_report(path.read_text(encoding="utf-8", errors="replace"), 100, 7, "")

    survives(read, "report.json", damaged(REPORT, chance), LoadError)


@many
@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"0-1\n", b"0,2\n", b"0\n"]), min_size=2, max_size=8))
def test_topologies(told: list[bytes]) -> None:
    # Whatever the kernel reports, each processor is in exactly one core.
    with tempfile.TemporaryDirectory() as folder:
        for number, said in enumerate(told):
            place = Path(folder) / f"cpu{number}" / "topology"
            place.mkdir(parents=True)
            (place / "thread_siblings_list").write_bytes(said)
            (place / "physical_package_id").write_bytes(said)
        found = processors.physical_cores(range(len(told)), Path(folder))
    assert {p for core in found for p in core.processors} == set(range(len(told)))


def test_an_undamaged_one_of_each_is_read(tmp_path: Path) -> None:
    # Otherwise the tests above would only test rejection.
    given_: dict[str, tuple[bytes, Callable[[Path], Any]]] = {
        "run.json": (RUN, lambda path: Store.open(path.parent).run()),
        "records.ndjson": (RECORDS, lambda path: Store(path.parent).records()),
        "report.json": (REPORT, lambda path: read_report(path.read_text(encoding="utf-8"), 100, 7, "")),
    }
    for name, (data, read) in given_.items():
        (tmp_path / name).write_bytes(data)
        assert read(tmp_path / name)


@pytest.mark.parametrize("name", [*LEDGERS, *MANIFESTS])
def test_each_file_of_the_repository_is_read(name: str) -> None:
    assert (read_ledger_file if name in LEDGERS else load_manifest)(ROOT / name)
