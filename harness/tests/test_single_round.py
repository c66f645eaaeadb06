"""Tests of the text about a run with one round: its servers work, and there is no comparison."""

from __future__ import annotations

from collections.abc import Sequence

import builders
from builders import record

from zoo.core.record import Record
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render

PLATFORM, VIRTUAL, BARE = "java-a:platform", "java-a:virtual", "rust-n:bare"
TOOLS = ChartTools(library=lambda: "/* Vega */", svg=lambda figure: "<svg></svg>")
ANSWER = (
    "One round gives no statistics; `make answer SERVER=java-a` (about 15 minutes) or `make bench-all` "
    "(up to 90 minutes) does."
)


def summary(records: Sequence[Record], entries: Sequence[str] = (PLATFORM, VIRTUAL), rounds: int = 1) -> Summary:
    return Summary.of(builders.run(entries, ["hello"], ["1k"], rounds=rounds), records)


def texts(found: Summary) -> str:
    return render(report_sections(found)) + render_page(Contents.of(found, RawFiles()), TOOLS)


def test_all_server_variants_work_and_what_gives_statistics() -> None:
    found = summary([record(PLATFORM), record(VIRTUAL, rps=20_000.0)])
    assert found.last_lines == ["Both server variants work.", ANSWER]


def test_three_are_counted_and_with_several_servers_a_person_names_one() -> None:
    found = summary([record(PLATFORM), record(VIRTUAL), record(BARE)], (PLATFORM, VIRTUAL, BARE))
    assert found.last_lines[0] == "All 3 server variants work."
    assert "`make answer SERVER=…`" in found.last_lines[1]


def test_one_variant_is_named() -> None:
    assert summary([record(BARE)], [BARE]).last_lines[0] == "rust-n:bare works."


def test_a_variant_that_failed_is_named_with_the_reason() -> None:
    found = summary([record(PLATFORM), record(VIRTUAL, failure="the server ended")])
    assert found.last_lines[:2] == [
        "1 of 2 server variants works in every cell.",
        f"{VIRTUAL} failed in hello at 1k: the server ended",
    ]


def test_a_run_that_was_cut_short_does_not_say_that_all_work() -> None:
    found = Summary.of(builders.run([PLATFORM, VIRTUAL], ["hello"], ["1k"], rounds=1), [record(PLATFORM)])
    assert found.last_lines[0] == "java-a:platform works; 1 of 2 cells not run yet."


def test_a_server_that_something_else_started_is_measured_again_for_statistics() -> None:
    found = summary([record("target:9000")], ["target:9000"])
    assert found.last_lines == [
        "target:9000 works.",
        "One round gives no statistics; the same command with ROUNDS=3 does.",
    ]


def test_who_was_served_while_it_waited_is_said_of_one_round_too() -> None:
    run = builders.run([PLATFORM, VIRTUAL], ["sleep"], ["1k"], rounds=1)
    lines = Summary.of(run, [record(PLATFORM, "1k", "sleep"), record(VIRTUAL, "1k", "sleep")]).last_lines
    assert lines[0] == "Both server variants work."
    assert "sleep: All server variants answered every waiting request in time." in lines
    assert not any("statistics" in line for line in lines), "whether requests are held, one round shows"


def test_neither_report_calls_a_ratio_of_one_round_open() -> None:
    found = texts(summary([record(PLATFORM), record(VIRTUAL, rps=20_000.0)]))
    for text in ("Both server variants work.", ANSWER):
        assert found.count(text) == 2
    assert "no clear difference everywhere" not in found
    assert 'class="open">open' not in found
    assert "| no clear difference" not in found
    assert "−60%" in found


def test_several_rounds_are_compared_as_before() -> None:
    records = [record(e, round_number=n) for e in (PLATFORM, VIRTUAL) for n in (1, 2, 3)]
    assert "work" not in " ".join(summary(records, rounds=3).last_lines)
