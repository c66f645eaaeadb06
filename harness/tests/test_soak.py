"""A soak of real processes, shorter than a person may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fake_zoo import fake_zoo

from zoo.analysis.growth import growth, lasted
from zoo.measure import soak
from zoo.measure.soak import Step
from zoo.model.condition import Condition
from zoo.model.run import Mark
from zoo.runtime.process import ProcessRuntime

pytestmark = pytest.mark.run

KEEPS, FREES = "fake:eventloop", "fake:virtual"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, list[Mark]], dict[str, str]]:
    """The looks at a server that keeps 16 kB of each request and at one that does not, and who ended."""
    monkeypatch.setattr(soak, "STEPS", (Step("/", 10),))
    monkeypatch.setattr(soak, "STEP_S", 1.0)
    monkeypatch.setattr(soak, "PHASES", 7)
    monkeypatch.setattr(soak, "REST_S", 0.2)
    catalog = fake_zoo(tmp_path, {"eventloop": {"BREAK": "keeps-requests"}, "virtual": {}})
    marks: dict[str, list[Mark]] = {entry.id: [] for entry in catalog.entries}
    ends: dict[str, str] = {}

    def told(_: int, found: Mapping[str, Mark], ended: Mapping[str, str]) -> None:
        for entry, mark in found.items():
            marks[entry].append(mark)
        ends.update(ended)

    with soak.started(ProcessRuntime(None), list(catalog.entries), Condition(), tmp_path / "logs") as servers:
        soak.soak(servers, 0, told)
    return marks, ends


def test_a_server_that_keeps_what_it_was_asked_grows(seen: tuple[dict[str, list[Mark]], dict[str, str]]) -> None:
    marks, ends = seen
    assert not ends
    assert {len(found) for found in marks.values()} == {7}
    assert not growth(marks[KEEPS])["rss_kb"].bounded
    assert lasted(marks[FREES]), marks[FREES]
