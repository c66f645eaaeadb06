"""Tests of the number of windows in a plan, and of the share of the first window."""

from __future__ import annotations

from pathlib import Path

import builders
import numpy as np
import pytest

from zoo.cli import checkout
from zoo.cli.options import make_plan
from zoo.core.manifest import Catalog
from zoo.core.measurement import LoadWindow
from zoo.core.plan import BenchOptions
from zoo.core.record import Record
from zoo.core.run import PlanFacts
from zoo.core.run_folder import Store
from zoo.host import facts
from zoo.stats.metrics import first_window_share

ENTRIES = [f"{server}:{variant}" for server in ("java-a", "java-b", "java-c") for variant in ("platform", "virtual")]


def turn(place: int, goodput: int, loaded_s: float = 1.0) -> LoadWindow:
    return LoadWindow(
        place=place,
        loaded_s=loaded_s,
        goodput=goodput,
        cpu_s=0.5,
        generator_cpu_s=0.4,
        p50_us=None,
        p99_us=None,
        foreign_share=None,
    )


def varying(rng: np.random.Generator, entry: str, round_number: int) -> Record:
    """Return a record whose eight windows differ."""
    record = builders.record(entry, "100", round_number=round_number)
    assert record.measurement is not None
    turns = [turn(place, round(40_000 * np.exp(rng.normal(0, 0.1)))) for place in range(8)]
    return record.model_copy(update={"measurement": record.measurement.model_copy(update={"windows": turns})})


def keep_run(results: Path, day: int) -> None:
    """Store a finished run of this machine: three pairs in three rounds."""
    rng = np.random.default_rng(day)
    run = builders.run(ENTRIES, ["hello"], ["100"])
    named = {"id": f"202601{day:02}-030405-full", "finished_at": run.started_at, "host": facts.gather()}
    store = Store.create(results, run.model_copy(update=named))
    store.append(*(varying(rng, entry, number) for entry in ENTRIES for number in (1, 2, 3)))


def test_the_same_options_give_the_same_plan_whatever_runs_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 2, 3):
        keep_run(tmp_path / "used" / "results", day)
    catalog = Catalog((builders.server("rust-a", 8201, "async-task", "platform-thread", language="rust"),))
    wish = BenchOptions(scenarios=["hello"], tiers=["100"], rounds=3, seed=1, runtime="process")

    def planned(folder: str) -> PlanFacts:
        monkeypatch.setattr(checkout, "ROOT", tmp_path / folder)
        return make_plan(wish, catalog)

    assert planned("used") == planned("fresh")


def test_the_plan_of_an_older_run_that_names_turns_is_read() -> None:
    plan = builders.run().plan
    assert PlanFacts.model_validate({**plan.model_dump(), "turns": {"100": 24}, "turns_of": "an-earlier-run"}) == plan


@pytest.mark.parametrize(
    ("goodputs", "share"),
    [([500, 1_000, 1_000], 0.5), ([1_000, 1_000], 1.0), ([700], None), ([], None), ([5, 0], None)],
)
def test_the_first_turn_is_told_as_a_share_of_the_others(goodputs: list[int], share: float | None) -> None:
    turns = [turn(place, goodput, 2.0) for place, goodput in enumerate(goodputs)]
    assert first_window_share(builders.measurement().model_copy(update={"windows": turns})) == share
