from __future__ import annotations

import csv
import io
import json

import pytest
from builders import record
from test_study import behind, loaded

from zoo.model.flag import Flag
from zoo.model.record import Record
from zoo.report.text.records_csv import to_csv


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_record_is_a_line_whose_columns_are_named_after_their_place() -> None:
    made = read(to_csv([record("a:x", flags=[Flag.CLAMPED, Flag.STARVED]), record("a:x", round_number=2, rps=7.5)]))
    assert [(row["entry"], row["round"], row["measurement.load.goodput_rps"]) for row in made] == [
        ("a:x", "1", "50000.0"),
        ("a:x", "2", "7.5"),
    ]
    assert made[0]["measurement.flags"] == "clamped starved"
    assert made[0]["measurement.server.limits.nofile"] == "20000"


def test_what_is_not_known_is_empty_and_a_failure_has_its_reason() -> None:
    made = read(to_csv([record("a:x", p99_us=None), record("a:y", failure='said "no", then\nleft')]))
    assert made[0].get("measurement.load.latency.p99_us", "") == ""
    assert made[1]["measurement.load.goodput_rps"] == ""
    assert made[1]["failure.message"] == 'said "no", then\nleft'


@pytest.mark.parametrize("flag", [Flag.LITTLE_HIGH, Flag.LITTLE_WORK])
def test_figures_that_are_not_to_be_used_are_not_exported(flag: Flag) -> None:
    """Nor shown anywhere else: the record says why it has none, also when it is read back."""
    made = record("a:x", flags=[flag, Flag.CLAMPED])
    assert made.measurement is None
    assert Record.model_validate_json(made.model_dump_json()) == made
    [row] = read(to_csv([made]))
    assert (row["failure.kind"], row["failure.message"]) == (flag.value, flag.text)
    assert not any(name.startswith("measurement.load") for name in row)


def test_a_committed_record_with_such_figures_is_read_without_them() -> None:
    stored = record("a:x").model_dump(mode="json")
    stored["measurement"]["flags"] = ["little_high"]
    found = Record.model_validate_json(json.dumps(stored))
    assert found.measurement is None
    assert found.failure is not None
    assert found.failure.text == Flag.LITTLE_HIGH.text


def test_a_rate_that_was_not_made_is_exported_with_its_reason_alone() -> None:
    sound = loaded("a:x", 70, 1, 100.0, 1.0)
    made = read(to_csv([sound, behind(sound.model_copy(update={"round": 2}))]))
    assert made[0]["trial.result.ok_per_s"] != ""
    figures = {name.removeprefix("trial.result."): value for name, value in made[1].items() if value}
    assert figures["behind"]
    assert not {"ok", "ok_share", "ok_per_s", "latency.p50_us", "cpu_s", "histogram"} & set(figures)


def test_the_record_written_last_counts() -> None:
    (row,) = read(to_csv([record("a:x", failure="gone"), record("a:x")]))
    assert row["measurement.load.goodput_rps"] == "50000.0"


def test_a_run_without_records_is_an_empty_table() -> None:
    assert read(to_csv([])) == []
