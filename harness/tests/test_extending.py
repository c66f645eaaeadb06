"""Tests that one declaration adds a scenario, a metric, a chart or a generator (docs/contributing/extending.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import builders
import pytest
from builders import catalog, record
from fakes import FakeGenerator, FakeRuntime, FakeServer, World
from sessions import session

from zoo.bench.display import Display
from zoo.bench.session import Idle, calibrate_plan
from zoo.bench.trial import TrialCell
from zoo.core.blocks import blocks_of
from zoo.core.budget import estimate_seconds
from zoo.core.condition import Condition
from zoo.core.defaults import FULL
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.record import Record, Trial
from zoo.core.run import Case, Program, Run
from zoo.core.run_folder import Store
from zoo.core.scenario import SCENARIOS, ProgramOptions, Scenario
from zoo.core.trial_results import ScaleResult, ScaleStep
from zoo.report.charts.dots import draw_by_level
from zoo.report.charts.figure import ChartPart, Group
from zoo.report.charts.parts import PARTS
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.report.view import Columns, Kinds, View, dot_figure, dots, sum_column, trial_section
from zoo.runtime.base import Launch
from zoo.stats.interval import mean_interval
from zoo.stats.metrics import METRICS, Metric, MetricKind, Word
from zoo.stats.pairs import compare
from zoo.stats.trials import peak_mb

T = TypeVar("T")
PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"


@contextmanager
def registered(registry: list[T], further: T) -> Iterator[None]:
    registry.append(further)
    try:
        yield
    finally:
        registry.remove(further)


class OtherGenerator(FakeGenerator):
    name = "other"


class OtherRuntime(FakeRuntime):
    """A runtime whose servers are loaded by another generator."""

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> FakeServer:
        server = super().start(launch, ready_timeout_s)
        server.generator = OtherGenerator(self._world)
        return server


def measured(folder: Path, scenario: str) -> list[Record]:
    """Return the records of a quick run in a simulated world."""
    planned = make_plan(
        BenchOptions(scenarios=[scenario], variants=["virtual"], tiers=["100"], quick=True),
        catalog(),
        Condition(jdk="25.0.1"),
    )
    world = World()
    store = Store.create(folder / "results", builders.run())
    replace(session(world, store), runtimes={"": OtherRuntime(world)}).run(blocks_of(planned))
    return store.records()


def page_of(records: list[Record]) -> str:
    tools = ChartTools(library=lambda: "", svg=lambda figure: "")
    return render_page(Contents.of(Summary.of(builders.run([PLATFORM, VIRTUAL]), records), RawFiles()), tools)


def pair() -> list[Record]:
    return [
        *(record(PLATFORM, round_number=n, rps=50_000 + n) for n in (1, 2, 3)),
        *(record(VIRTUAL, round_number=n, rps=40_000 + n) for n in (1, 2, 3)),
    ]


def test_a_scenario_and_a_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nap = Scenario(name="nap", title="every request waits", delay_s=0.5, measures_throughput=True)
    monkeypatch.setitem(SCENARIOS, nap.name, nap)
    (found,) = measured(tmp_path, "nap")
    assert found.measurement is not None, found.failure
    assert found.scenario == "nap"
    assert found.measurement.load.path == "/sleep?ms=500"
    assert found.measurement.load.generator == "other"


def steps() -> Scenario:
    """Return a new kind of scenario, as its file in `scenarios/` would declare it: cases, trial and view."""

    def program(asked: ProgramOptions) -> Program:
        return Program(cases=[Case(name="up", path="/", wait_s=0.1)], tiers=list(asked.tiers), duration_s=3)

    def calibrate(program: Program, entries: Sequence[Idle]) -> Program:
        with entries[0]() as hosted:
            assert hosted.is_alive()
        return program.model_copy(update={"cases": [Case(name="up", path="/bytes?n=7", wait_s=0.1)]})

    def measure_cell(cell: TrialCell) -> Trial:
        with cell.warm_server() as server, cell.window(server) as window:
            spec = cell.bench.spec(
                server.hosted.url + cell.block.case.path, cell.connections.actual, cell.program.duration_s
            )
            outcome = server.hosted.generator.run(spec)
            window.generator_cpu_s = outcome.cpu_s
        step = ScaleStep(connections=cell.connections.actual, rss_kb=2048, answers=outcome.goodput)
        result = ScaleResult(delay_s=cell.block.case.wait_s, addresses=1, steps=[step], stopped_by=spec.url)
        return cell.trial(server, window, result, outcome.goodput)

    columns: Columns[ScaleResult] = {"answers in a step": sum_column(lambda r: r.steps[0].answers)}

    section = trial_section("steps", "By steps.", ScaleResult, columns, lambda _, level: level[0])

    def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
        values = {r.entry: [float(mb)] for r in records if (mb := peak_mb(r)) is not None}
        return [Group("", dot_figure("steps", "Steps", "Memory of steps, MB", dots(kinds, values, mean_interval)))]

    return Scenario(
        name="steps",
        title="a step",
        program=program,
        calibrate=calibrate,
        trial=measure_cell,
        trial_s=lambda program: 40.0,
        view=View("One step at a time", section, groups, lambda records: [f"{len(records)} steps were made."]),
        rounds=1,
    )


def test_a_scenario_with_its_own_trial_and_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Registration is all it needs, from the plan to the report.
    own = steps()
    monkeypatch.setitem(SCENARIOS, own.name, own)
    wish = BenchOptions(scenarios=["steps"], variants=["virtual"], tiers=["100"])
    planned = make_plan(wish, catalog(), Condition(jdk="25.0.1"))
    assert planned.rounds == 1
    assert estimate_seconds(blocks_of(planned), FULL, catalog()) > 40

    world = World()
    store = Store.create(tmp_path / "results", builders.run([VIRTUAL], ["steps"]))
    runtime = FakeRuntime(world)
    filled = calibrate_plan(planned, [catalog().entry(VIRTUAL)], runtime, store, Display())
    replace(session(world, store), runtimes={"": runtime}).run(blocks_of(filled))
    (found,) = store.records()
    assert found.trial is not None, found.failure
    assert isinstance(found.trial.result, ScaleResult)
    assert found.trial.result.stopped_by.endswith("/bytes?n=7")

    summary = Summary.of(store.run(), [found])
    assert summary.last_lines == ["1 steps were made."]
    text = render(report_sections(summary))
    shown = page_of([found])
    for words in ("By steps.", "answers in a step", f"{found.trial.result.steps[0].answers:,}"):
        assert words in text
        assert words in shown
    assert "One step at a time" in shown
    assert "Memory of steps, MB" in shown


def test_records_of_a_scenario_that_is_not_known_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [r.model_copy(update={"scenario": "gone"}) for r in pair()]
    summary = Summary.of(builders.run([PLATFORM, VIRTUAL], ["gone"]), records)
    assert summary.plain_cells.scenarios == ["gone"]
    assert "gone" in render(report_sections(summary))


def test_a_metric() -> None:
    bytes_each = Metric(
        "bytes per answer",
        "Bytes of an answer",
        MetricKind.LOAD,
        Word.MORE,
        Word.LESS,
        read=lambda m: m.load.bytes / m.load.goodput,
    )
    with registered(METRICS, bytes_each):
        (found,) = compare([PLATFORM, VIRTUAL], pair()).pairs
        assert bytes_each in found.comparisons
        assert "Bytes of an answer" in page_of(pair())
    assert "Bytes of an answer" not in page_of(pair())


def test_a_chart() -> None:
    answers = ChartPart(
        "answers",
        "Answers",
        "Answers of a window",
        "Good ones alone.",
        lambda drawn: draw_by_level(drawn.cells, "answers", "answers", lambda m: m.load.goodput),
    )
    with registered(PARTS, answers):
        assert 'id="answers"' in page_of(pair())
        assert "Good ones alone." in page_of(pair())
    assert "Good ones alone." not in page_of(pair())
