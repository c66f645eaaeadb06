"""Tests of what a terminal shows at its width, and of what a pipe gets."""

from __future__ import annotations

import io
import re
import shlex

import builders
import pytest
from builders import record
from rich.console import Console

from zoo.cli.display import UNBROKEN, TerminalDisplay, make_console
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.host import doctor
from zoo.report.formatting import RANGE, format_duration
from zoo.report.section import Section, Table
from zoo.report.text import terminal

WIDTHS = (40, 80, 120)
VIRTUAL = "java-liberty:virtual"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WHY = "200 of 65,000 answers were no good ones: 302 Found, Location: /login (first seen after 1.25 s of the window)"
WIDE = Table(
    "hello 1k · closed, c = 1,000",
    [
        "entry",
        "req/s",
        "p50 ms",
        "p99 ms",
        "errors",
        "peak RSS MB",
        "peak threads",
        "server CPU µs per request",
        "flags",
    ],
    [[VIRTUAL, "≥ 50,000 (49,000–51,000)", "1.9 (1.8–2.0)", "4.2", "0", "78 (77–79)", "40", "21.5", "shared_cores"]],
)


def on_terminal(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return CONTROL.sub("", console.file.getvalue()).replace("\r", "\n")


def words_of(text: str) -> list[str]:
    return text.split()


RECORDS = [
    record(VIRTUAL, "25k", rps=56_789.4, flags=[Flag.CLAMPED, Flag.SHARED_CORES, Flag.POOL_CEILING, Flag.STARVED]),
    record(VIRTUAL, "25k", "sleep"),
    record(VIRTUAL, "1k", failure=WHY),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("finished", RECORDS)
def test_a_finished_cell_breaks_between_words(finished: Record, width: int) -> None:
    console, pipe = on_terminal(width), Console(file=io.StringIO(), width=UNBROKEN)
    for each in (console, pipe):
        TerminalDisplay(each).record(finished)
    shown, whole = text_of(console), text_of(pipe)
    assert len(whole.splitlines()) == 1
    assert words_of(shown) == words_of(whole)
    assert max(map(len, shown.splitlines())) <= width


def test_the_bar_is_gone_when_the_run_ends_or_is_interrupted() -> None:
    for ending in (None, KeyboardInterrupt):
        console = on_terminal(80)
        try:
            display = TerminalDisplay(console)
            with display.progress(600):
                display.phase("round 1", "warm-up")
                if ending:
                    raise ending
        except KeyboardInterrupt:
            pass
        assert isinstance(console.file, io.StringIO)
        assert console.file.getvalue().endswith("\x1b[2K"), "the last thing done is to erase its line"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_bar_stays_on_one_line_and_says_how_long_it_takes(width: int) -> None:
    console, now = on_terminal(width), 1_000.0
    display = TerminalDisplay(console, lambda: now)
    with display.progress(100, cells=24):
        display.phase("round 1  java-liberty:virtual  hello 1k", "warm-up window 3: 48,000 req/s")
        now += 60
        display.record(record(VIRTUAL))
    frames = text_of(console).splitlines()
    bars = [frame for frame in frames if frame.rstrip().endswith("about 40 s left")]
    assert bars
    assert max(map(len, bars)) <= width - len("^C"), "or the terminal's own ^C would be on the next line"
    assert max(map(len, frames)) <= width


@pytest.mark.parametrize("colour", ["", "1"])
def test_a_pipe_gets_one_line_a_cell_and_no_control_characters(
    colour: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", colour)
    display = TerminalDisplay(make_console())
    with display.progress(600):
        display.phase("round 1", "warm-up")
        display.record(RECORDS[-1])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    (line,) = out.splitlines()
    assert WHY in line


@pytest.mark.parametrize(
    ("left_s", "text"),
    [(600, "(about 10 min left)"), (89, "(about 90 s left)"), (40, "(about 40 s left)"), (6, "(about 10 s left)")],
)
def test_the_time_left_is_in_seconds_below_a_minute_and_a_half(left_s: float, text: str) -> None:
    console = Console(file=io.StringIO(), width=UNBROKEN)
    display = TerminalDisplay(console, lambda: 1_000.0)
    with display.progress(1_000):
        display.reached(1_000 - left_s)
        display.record(record(VIRTUAL))
    assert text_of(console).rstrip().endswith(text)


def test_at_the_end_no_time_is_left() -> None:
    console = Console(file=io.StringIO(), width=UNBROKEN)
    display = TerminalDisplay(console, lambda: 1_000.0)
    with display.progress(1_000):
        display.reached(1_000)
        display.record(record(VIRTUAL))
    assert "left" not in text_of(console)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "10 s"), (25, "20 s"), (90, "2 min"), (3_600, "60 min"), (9_000, "2.5 h")]
)
def test_a_duration_is_never_0_minutes(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_breaks_between_words(width: int) -> None:
    console = on_terminal(width)
    terminal.print_sections(
        [Section("Scenario hello", ["A paragraph that is long enough to be broken. " * 4], [WIDE], [WHY])], console
    )
    shown = text_of(console).replace("\u00a0", " ")
    assert max(len(text.rstrip()) for text in shown.splitlines()) <= width
    words = {word.rstrip(";") for word in words_of(shown)}
    for cell in (*WIDE.columns[1:], *(RANGE.sub("", cell) for cell in WIDE.rows[0])):
        assert words.issuperset(word for word in words_of(cell)), cell


def test_a_table_keeps_its_form_where_it_has_room() -> None:
    console = on_terminal(160)
    terminal.print_sections([Section("Scenario hello", tables=[WIDE])], console)
    row = next(text for text in text_of(console).splitlines() if VIRTUAL in text)
    assert "shared_cores" in row
    assert "49,000–51,000" in row


@pytest.mark.parametrize("width", WIDTHS)
def test_the_doctors_table_breaks_between_words(width: int) -> None:
    console, pipe = on_terminal(width), Console(file=io.StringIO(), width=UNBROKEN)
    for each in (console, pipe):
        doctor.print_checks(doctor.checks(builders.run().host), each)
    shown, whole = ({word.strip(":") for word in words_of(text_of(each))} for each in (console, pipe))
    heads = {"what", "means"} if width < doctor.ROOM else set()
    assert shown - {"\\"} == whole - heads


def test_a_command_on_several_lines_is_one_command() -> None:
    command = "printf '%s - nofile 65536\\n' '*' root | sudo tee /etc/security/limits.d/zoo.conf"
    shown = doctor.wrap_command(command, 40)
    assert max(map(len, shown.splitlines())) <= 40
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(command)
