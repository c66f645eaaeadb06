"""What docs/extending.md says of further scenarios, metrics, charts and generators: one declaration, one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import builders
import pytest
from builders import catalog, record
from fakes import FakeGenerator, FakeRuntime, FakeServer, World
from sessions import session

from zoo.analysis.metrics import METRICS, Class, Metric, Word
from zoo.analysis.pairs import compare
from zoo.model.condition import Condition
from zoo.model.record import Record
from zoo.plan.blocks import blocks_of
from zoo.plan.request import Wish, plan_of
from zoo.report.charts.dots import by_level
from zoo.report.charts.figure import ChartPart
from zoo.report.charts.parts import PARTS
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary
from zoo.runtime.base import Launch
from zoo.scenarios import SCENARIOS
from zoo.scenarios.base import Scenario
from zoo.store.run_folder import Store

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
    """Its servers are loaded by another generator."""

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> FakeServer:
        server = super().start(launch, ready_timeout_s)
        server.generator = OtherGenerator(self._world)
        return server


def measured(folder: Path, scenario: str) -> list[Record]:
    """A quick run in a made-up world."""
    planned = plan_of(
        Wish(scenarios=[scenario], variants=["virtual"], tiers=["100"], quick=True), catalog(), Condition(jdk="25.0.1")
    )
    world = World()
    store = Store.create(folder / "results", builders.run())
    replace(session(world, store), runtimes={"": OtherRuntime(world)}).run(blocks_of(planned))
    return store.records()


def page_of(records: list[Record]) -> str:
    tools = ChartTools(library=lambda: "", svg=lambda figure: "")
    return page(Contents.of(Summary.of(builders.run([PLATFORM, VIRTUAL]), records), RawFiles()), tools)


def pair() -> list[Record]:
    return [
        *(record(PLATFORM, round_number=n, rps=50_000 + n) for n in (1, 2, 3)),
        *(record(VIRTUAL, round_number=n, rps=40_000 + n) for n in (1, 2, 3)),
    ]


def test_a_scenario_and_a_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nap = Scenario(name="nap", title="every request waits", delay_s=0.5, settle=True)
    monkeypatch.setitem(SCENARIOS, nap.name, nap)
    (found,) = measured(tmp_path, "nap")
    assert found.measurement is not None, found.failure
    assert found.scenario == "nap"
    assert found.measurement.load.path == "/sleep?ms=500"
    assert found.measurement.load.generator == "other"


def test_a_metric() -> None:
    bytes_each = Metric(
        "bytes per answer",
        "Bytes of an answer",
        Class.LOAD,
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
        lambda drawn: by_level(drawn.cells, "answers", "answers", lambda m: m.load.goodput),
    )
    with registered(PARTS, answers):
        assert 'id="answers"' in page_of(pair())
        assert "Good ones alone." in page_of(pair())
    assert "Good ones alone." not in page_of(pair())
