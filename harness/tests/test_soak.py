"""Tests of a soak of real processes, shorter than a user may request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fake_zoo import fake_zoo

from zoo.bench import soak
from zoo.bench.soak import Step
from zoo.core.condition import Condition
from zoo.core.run import SoakSample
from zoo.runtime.process import ProcessRuntime
from zoo.stats.growth import is_stable, measure_growth

pytestmark = pytest.mark.run

KEEPS, FREES = "fake:eventloop", "fake:virtual"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, list[SoakSample]], dict[str, str]]:
    """Return the marks of a server that keeps 16 kB per request and of one that does not, and which servers ended."""
    monkeypatch.setattr(soak, "STEPS", (Step("/", 10),))
    monkeypatch.setattr(soak, "STEP_S", 1.0)
    monkeypatch.setattr(soak, "PHASES", 7)
    monkeypatch.setattr(soak, "REST_S", 0.2)
    catalog = fake_zoo(tmp_path, {"eventloop": {"BREAK": "keeps-requests"}, "virtual": {}})
    marks: dict[str, list[SoakSample]] = {entry.id: [] for entry in catalog.entries}
    ends: dict[str, str] = {}

    def told(_: int, found: Mapping[str, SoakSample], ended: Mapping[str, str]) -> None:
        for entry, mark in found.items():
            marks[entry].append(mark)
        ends.update(ended)

    with soak.running_servers(ProcessRuntime(None), list(catalog.entries), Condition(), tmp_path / "logs") as servers:
        soak.soak(servers, 0, told)
    return marks, ends


def test_a_server_that_keeps_what_it_was_asked_grows(seen: tuple[dict[str, list[SoakSample]], dict[str, str]]) -> None:
    marks, ends = seen
    assert not ends
    assert {len(found) for found in marks.values()} == {7}
    assert not measure_growth(marks[KEEPS])["rss_kb"].bounded
    assert is_stable(marks[FREES]), marks[FREES]
