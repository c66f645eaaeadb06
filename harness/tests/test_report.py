"""Tests of what a user reads about a run: the report's Markdown, the terminal, and the progress lines."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import builders
import pytest
from builders import record
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from strategies import any_records
from syrupy.assertion import SnapshotAssertion

from zoo.cli.display import UNBROKEN, TerminalDisplay, format_record
from zoo.core.entry_id import aa_id
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.run_folder import Store
from zoo.report.formatting import format_number, format_spread
from zoo.report.section import Table, mark_synthetic
from zoo.report.summary import Summary
from zoo.report.text import terminal
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render, render_table
from zoo.stats.summary import Spread, cells, rows

PLATFORM, VIRTUAL, BARE, GONE = "java-a:platform", "java-a:virtual", "rust-n:bare", "java-b:platform"
ENTRIES = [PLATFORM, VIRTUAL, BARE, GONE]


CUT: dict[str, Any] = {"actual": 19_500, "limited_by": "nofile hard limit 20,000", "flags": [Flag.CLAMPED]}


def said(run: Run, records: Sequence[Record], reference: str | None = None) -> str:
    """Return the report as text."""
    return render(report_sections(Summary.of(run, records, reference)))


def one_round(n: int) -> list[Record]:
    """Return measured, failed, cut, pool-bound and lower-bound cells. Their figures differ by round."""
    made = [
        record(PLATFORM, "1k", round_number=n, rps=60_000.0 + n * 500, flags=[Flag.BAD_ANSWERS], status_errors=n),
        record(VIRTUAL, "1k", round_number=n, rps=57_000.0 + n * 700, flags=[Flag.WARMUP_SHORT] if n == 2 else []),
        record(BARE, "1k", round_number=n, rps=99_000.0 + n, flags=[Flag.SHARED_CORES]),
        record(GONE, "1k", round_number=n, failure="ended with exit code 1 before it listened"),
        record(PLATFORM, "25k", round_number=n, rps=37_000.0, **CUT),
        record(VIRTUAL, "25k", round_number=n, failure="the server | ended during the measurement")
        if n == 2
        else record(VIRTUAL, "25k", round_number=n, rps=36_000.0, **CUT),
    ]
    for tier, count in {"100": 100, "1k": 1_000, "25k": 19_500}.items():
        at: dict[str, Any] = dict(CUT) if tier == "25k" else {"flags": []}
        peak = 60_000 + 14 * count + n
        made.append(record(VIRTUAL, tier, "sleep", n, rss_peak_kb=peak, **at))
        if tier != "100":
            at |= {"flags": [*at["flags"], Flag.POOL_CEILING], "ceiling_rps": 20.0, "rps": 18.2}
        made.append(record(PLATFORM, tier, "sleep", n, **at))
    return made


def run(rounds: int) -> Run:
    return builders.run(ENTRIES, tiers=["100", "1k", "25k"], rounds=rounds)


def printed(run_: Run, records: list[Record], width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    terminal.print_sections(report_sections(Summary.of(run_, records, BARE)), console)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(text.rstrip() for text in console.file.getvalue().splitlines())


def table(markdown: str, title: str) -> list[list[str]]:
    """Return the rows of a table as cells, its heading first."""
    body = markdown.partition(f"**{title}")[2].partition("\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in body.splitlines()]


THREE = [r for n in (1, 2, 3) for r in one_round(n)]


# --- the whole


def test_markdown_of_three_rounds(snapshot: SnapshotAssertion) -> None:
    assert said(run(3), THREE, BARE) == snapshot


def test_terminal_of_three_rounds(snapshot: SnapshotAssertion) -> None:
    assert printed(run(3), THREE) == snapshot


def test_markdown_of_a_smoke_run(snapshot: SnapshotAssertion) -> None:
    assert said(run(1), one_round(1), BARE) == snapshot


# --- required statements


def test_one_round_is_called_a_smoke_run_without_statistics() -> None:
    for text in (said(run(1), one_round(1), BARE), printed(run(1), one_round(1))):
        assert "1 round: a smoke run, no statistics" in text
        assert "95 %" not in text
    assert "smoke" not in said(run(3), THREE, BARE)


def test_the_head_counts_measured_failed_and_missing_cells() -> None:
    text = said(run(3), THREE, BARE)
    # 4 entries × 2 scenarios × 3 tiers × 3 rounds = 72; 36 recorded, 3 + 1 of which failed
    assert "32 of 72 cells measured, 4 failed, 36 not run yet" in text


def test_a_tier_that_was_cut_says_so_in_its_title() -> None:
    text = said(run(3), THREE, BARE)
    assert "**hello 25k → 19,500 (nofile hard limit 20,000) · closed, c = 19,500**" in text


def test_lower_bounds_failures_and_ceilings_stand_in_the_tables() -> None:
    text = said(run(3), THREE, BARE)
    busy = {row[0]: row for row in table(text, "hello 1k")}
    assert busy[BARE][1] == "≥ 99,002 (99,001–99,003)"
    assert busy[PLATFORM][1] == "61,000 (60,500–61,500)"
    assert busy[PLATFORM][4] == "6"
    assert busy[GONE][1] == "failed: ended with exit code 1 before it listened"
    heading, _, *sleeping = table(text, "sleep 25k")
    by_entry = {row[0]: dict(zip(heading, row, strict=True)) for row in sleeping}
    assert (by_entry[PLATFORM]["all held"], by_entry[PLATFORM]["ceiling"]) == ("200 at a time", "20/s")
    assert by_entry[PLATFORM]["memory per waiting request kB"] == "–"
    assert by_entry[VIRTUAL]["all held"] == "yes"
    assert by_entry[VIRTUAL]["memory per waiting request kB"].startswith("14.0")


def test_every_table_has_as_many_cells_in_each_row_even_with_a_bar_in_a_message() -> None:
    text = said(run(3), THREE, BARE)
    for title in re.findall(r"^\*\*(.*)\*\*$", text, re.MULTILINE):
        widths = {len(row) for row in table(text, title)}
        assert len(widths) == 1, title
    assert r"the server \| ended" in text


def test_every_flag_in_a_table_is_explained_and_no_other() -> None:
    text = said(run(3), THREE, BARE)
    used = {flag for row in rows(cells(THREE, BARE)) for flag, _ in row.flags}
    assert {flag for flag in Flag if f"`{flag.value}`: {flag.text}" in text} == used


def alike(*names: str, rounds: int = 3) -> list[Record]:
    wobbles = (1.0, 1.001, 0.999, 1.002)
    return [
        record(e, round_number=n, rps=100.0 * wobbles[(n + i) % 4])
        for i, e in enumerate(names)
        for n in range(1, rounds + 1)
    ]


def test_a_pair_has_its_word_ratio_interval_and_rounds() -> None:
    row = table(said(run(3), alike(VIRTUAL, PLATFORM)), "virtual")[2]
    assert row[:4] == [VIRTUAL, "hello", "1k", "3"]
    assert re.fullmatch(r"the same \(within 5%\)", row[4])
    apart = [*alike(VIRTUAL), *(record(PLATFORM, round_number=n, rps=50.0) for n in (1, 2, 3))]
    assert table(said(run(3), apart), "virtual")[2][4].startswith("2.0× as fast (")


def test_reasons_for_no_verdict_stand_below_the_table_once() -> None:
    text = said(run(3), THREE, BARE)
    row = next(r for r in table(text, "virtual") if r[:3] == [VIRTUAL, "sleep", "25k"])
    marks = [cell for cell in row if cell.startswith("not measured (")]
    assert marks
    for mark in marks:
        assert text.count(f"\n- {mark.removeprefix('not measured ')} ") == 1


def test_a_a_comes_first_with_its_noise_band() -> None:
    text = said(run(3), alike(VIRTUAL, aa_id(VIRTUAL), PLATFORM))
    assert text.index("## The same program twice (A/A)") < text.index("## Virtual threads vs. platform threads")
    assert table(text, "second ÷ first")[2][:4] == [VIRTUAL, "hello", "1k", "3"]
    assert re.search(r"- noise band of hello, JVM, req/s: ±0\.\d%", text)
    assert re.search(r"Self-check: \d of 4 intervals excludes? 1 in comparisons", text)


def test_a_run_without_a_a_says_so() -> None:
    assert "No entry was measured twice (A/A), so there is no noise band." in said(run(3), THREE, BARE)


def test_words_stand_left_and_figures_right() -> None:
    assert render_table(Table("t", ["a", "b", "c"], [["x", "y", "1"]], text=2)).splitlines()[1] == "| :-- | :-- | --: |"


def test_a_narrow_terminal_leaves_the_ranges_out() -> None:
    assert "(60,500–61,500)" in printed(run(3), THREE, width=250)
    assert "(60,500–61,500)" not in printed(run(3), THREE, width=120)


def test_square_brackets_of_a_message_are_printed_as_they_are() -> None:
    failed = [record(GONE, failure="GET / answered 200 with b'[/bold] [x]'")]
    assert "[/bold] [x]" in " ".join(printed(run(1), failed).split())


@given(
    records=any_records([*ENTRIES, aa_id(VIRTUAL), aa_id(BARE)]),
    rounds=st.integers(1, 3),
)
@settings(max_examples=25)
def test_no_set_of_records_breaks_the_report(records: list[Record], rounds: int) -> None:
    text = said(run(rounds), records, BARE)
    assert text.startswith("# Run 20260102-030405-full\n")
    assert printed(run(rounds), records, width=100)
    for row in rows(cells(records, BARE)):
        assert row.entry in text


def test_the_report_is_made_of_the_runs_files_alone(tmp_path: Path) -> None:
    store = Store.create(tmp_path, run(3))
    for one in THREE:
        store.append(one)
    again = Store.open(store.folder)
    assert said(again.run(), again.records(), BARE) == said(run(3), THREE, BARE)


# --- figures


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,234"), (100, "100"), (12.34, "12.3"), (1.2345, "1.23"), (0.1234, "0.123"), (-250.2, "−250")],
)
def test_a_figure_has_three_digits_that_count(value: float, text: str) -> None:
    assert format_number(value) == text


def test_a_spread_shows_a_range_whose_ends_differ() -> None:
    assert format_spread(None) == "–"
    assert format_spread(Spread(2_000, 2_000, 2_000, 1), 1e-3) == "2"
    assert format_spread(Spread(2_001, 2_000, 2_004, 3), 1e-3) == "2"
    assert format_spread(Spread(63_100, 61_900, 64_000, 3)) == "63,100 (61,900–64,000)"
    assert format_spread(Spread(63_100, 61_900, 64_000, 3), bound=True) == "≥ 63,100 (61,900–64,000)"


# --- progress


def test_a_finished_cell_is_one_line() -> None:
    text = format_record(record(VIRTUAL, "25k", round_number=2, rps=56_789.4, flags=[Flag.CLAMPED]))
    assert re.split(r"\s{2,}", text) == [
        "round 2",
        "java-a:virtual",
        "hello",
        "25k",
        "56,789 req/s",
        "p50",
        "1.9 ms",
        "78.1 MB",
        "clamped",
    ]
    assert format_record(record(VIRTUAL, failure="gone")).endswith("FAILED: gone")
    assert "p50            –" in format_record(record(VIRTUAL, p50_us=None))
    assert " 0.4 req/s" in format_record(record(VIRTUAL, rps=0.4))


def test_without_a_terminal_each_cell_is_a_line_with_the_time_left() -> None:
    console, now = Console(file=io.StringIO(), width=UNBROKEN), 1_000.0
    display = TerminalDisplay(console, lambda: now)
    with display.progress(600, cells=3):
        display.phase("round 1", "warm-up")
        now += 120
        display.record(record(VIRTUAL))
        display.reached(300)
        display.record(record(VIRTUAL))
        now += 1_000
        display.record(record(BARE, failure="answered b'[/b]' and [dim]"))
    assert isinstance(console.file, io.StringIO)
    first, between, second = console.file.getvalue().splitlines()
    assert first.endswith("(about 8 min left)")
    assert between.endswith("(about 5 min left)")
    assert second.endswith("FAILED: answered b'[/b]' and [dim]")


def test_a_terminal_shows_what_goes_on_how_fast_and_for_how_long() -> None:
    console, now = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None), 1_000.0
    display = TerminalDisplay(console, lambda: now)
    with display.progress(600, cells=24):
        display.record(record(VIRTUAL))
        display.phase("round 1  java-a:virtual  hello 1k", "warm-up window 3: 48,000 req/s")
        display.live("51,234 req/s, 78 MB")
        now += 60
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    where, what = "cell 2 of 24  round 1  java-a:virtual  hello 1k", "warm-up window 3: 48,000 req/s"
    assert f"{where}  {what}  51,234 req/s, 78 MB" in shown
    assert "10% about 9 min left" in shown


def test_tables_mark_a_synthetic_entry_and_the_first_section_says_why() -> None:
    records = [record(entry, "1k", round_number=n) for entry in (PLATFORM, VIRTUAL) for n in (1, 2, 3)]
    summary = Summary.of(
        builders.run([PLATFORM, VIRTUAL]), records, synthetic={PLATFORM: "a toy", GONE: "not measured"}
    )
    text = render(report_sections(summary))
    assert f"{PLATFORM} is synthetic: a toy." in text
    rows = [row for row in text.splitlines() if row.startswith("| ") and PLATFORM in row]
    assert rows
    assert all(f"{PLATFORM} (synthetic)" in row for row in rows)
    assert f"{VIRTUAL} (synthetic)" not in text
    assert GONE not in text


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (PLATFORM, f"{PLATFORM} (synthetic)"),
        (f"{PLATFORM}@cpus=1 ÷ async", f"{PLATFORM}@cpus=1 (synthetic) ÷ async"),
        (f"[`{PLATFORM}`](java-a/), {VIRTUAL}", f"[`{PLATFORM}`](java-a/) (synthetic), {VIRTUAL}"),
        (f"{PLATFORM}2", f"{PLATFORM}2"),
        (f"other-{PLATFORM}", f"other-{PLATFORM}"),
    ],
)
def test_the_mark_follows_the_whole_name_of_an_entry(text: str, marked: str) -> None:
    assert mark_synthetic(text, [PLATFORM]) == marked
    assert mark_synthetic(text, []) == text
