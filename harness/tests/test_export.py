from __future__ import annotations

import csv
import io

from builders import record

from zoo.model.flag import Flag
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


def test_the_record_written_last_counts() -> None:
    (row,) = read(to_csv([record("a:x", failure="gone"), record("a:x")]))
    assert row["measurement.load.goodput_rps"] == "50000.0"


def test_a_run_without_records_is_an_empty_table() -> None:
    assert read(to_csv([])) == []
