from __future__ import annotations

import csv
import io
import json

import pytest
from builders import record
from test_analysis import holding
from test_study import behind, loaded

from zoo.claims.quantities import QUANTITIES
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.report.columns import round_figures
from zoo.report.text.records_csv import to_csv
from zoo.stats.metrics import PEAK_RSS
from zoo.stats.summary import cells, rows


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
    # These figures are not shown anywhere else. The record says why it has none, and still does when it is read back.
    made = record("a:x", flags=[flag, Flag.CLAMPED])
    assert made.measurement is None
    assert Record.model_validate_json(made.model_dump_json(round_trip=True)) == made
    [row] = read(to_csv([made]))
    assert (row["failure.kind"], row["failure.message"]) == (flag.value, flag.text)
    assert not any(name.startswith("measurement.load") for name in row)


def test_a_committed_record_with_such_figures_is_read_without_them() -> None:
    stored = record("a:x").model_dump(mode="json", round_trip=True)
    stored["measurement"]["flags"] = ["little_high"]
    found = Record.model_validate_json(json.dumps(stored))
    assert found.measurement is None
    assert found.failure is not None
    assert found.failure.text == Flag.LITTLE_HIGH.text


def test_a_mark_that_counts_from_a_servers_start_is_no_peak_of_a_cell() -> None:
    # On a swarm nothing can reset the mark, and older runs contain it.
    stored = record("a:x", rss_peak_kb=80_000, hwm_kb=95_000).model_dump(mode="json", round_trip=True)
    peaks = []
    for runtime in ("process", "swarm"):
        stored["condition"]["runtime"] = runtime
        [row] = read(to_csv([Record.model_validate_json(json.dumps(stored))]))
        peaks.append((row["measurement.memory.peak_kb"], row.get("measurement.memory.hwm_kb", "")))
    assert peaks == [("95000", "95000"), ("80000", "")]


@pytest.mark.parametrize(("hwm_kb", "peak_kb"), [(95_000, 95_000), (79_700, 80_000), (None, 80_000)])
def test_a_peak_is_the_same_in_report_claim_and_export(hwm_kb: int | None, peak_kb: int) -> None:
    # The peak is the kernel's mark, unless there is none or its lagging counters put it below a sample.
    made = record("a:x", rss_peak_kb=80_000, hwm_kb=hwm_kb)
    [row], [exported] = rows(cells([made])), read(to_csv([made]))
    assert row.rss_peak_mb is not None
    claimed = QUANTITIES["peak RSS"].read(made.model_dump(mode="json"))
    compared = cells([made])["a:x", "hello", "1k"].figures(PEAK_RSS)
    assert row.rss_peak_mb.median == claimed == peak_kb / 1024
    assert compared == {1: peak_kb}
    assert exported["measurement.memory.peak_kb"] == str(peak_kb)


def test_a_rate_that_was_not_made_is_exported_with_its_reason_alone() -> None:
    sound = loaded("a:x", 70, 1, 100.0, 1.0)
    made = read(to_csv([sound, behind(sound.model_copy(update={"round": 2}))]))
    assert made[0]["trial.result.ok_per_s"] != ""
    figures = {name.removeprefix("trial.result."): value for name, value in made[1].items() if value}
    assert figures["behind"]
    assert not {"ok", "ok_share", "ok_per_s", "latency.p50_us", "cpu_s", "histogram"} & set(figures)


def test_figures_of_the_report_are_columns_and_known_where_it_shows_them() -> None:
    # CPU time per request needs 1,000 responses. The memory slope needs all connection counts of a round.
    records = [record("a:x", requests=900), *holding(14, 1), *holding(20, 2)]
    few, *waiting = read(to_csv(records, round_figures(records)))
    assert few["measurement.work.cpu_s_per_million"] != ""
    assert few["report.cpu_us_per_request"] == ""
    assert float(few["report.rps"]) == 50_000
    assert [round(float(row["report.kb_per_request"])) for row in waiting] == [14] * 3 + [20] * 3


def test_the_record_written_last_counts() -> None:
    (row,) = read(to_csv([record("a:x", failure="gone"), record("a:x")]))
    assert row["measurement.load.goodput_rps"] == "50000.0"


def test_a_run_without_records_is_an_empty_table() -> None:
    assert read(to_csv([])) == []
