"""Turns a round: from the variances of an earlier run, and what a plan makes of them."""

from __future__ import annotations

from pathlib import Path

import builders
import numpy as np
import pytest

from zoo.analysis.metrics import CPU, REQUESTS, Word
from zoo.analysis.pairs import Comparison, Kind, Pair
from zoo.analysis.stats import Sample
from zoo.analysis.turns import FEWEST, MOST, Components, best, components, first_share
from zoo.analysis.verdict import Verdict
from zoo.cli import earlier_run
from zoo.host import facts
from zoo.model.entry_id import plain
from zoo.model.measurement import Turn
from zoo.model.record import Record
from zoo.model.run import PlanFacts
from zoo.plan import budget, windows
from zoo.plan.blocks import blocks_of, profile_of
from zoo.plan.defaults import FULL
from zoo.report.text.announcement import announcement
from zoo.store.run_folder import Store

PAIR = ["java-a:platform", "java-a:virtual"]


def pair(sample: Sample, *, kind: Kind = Kind.MODEL, scenario: str = "hello", tier: str = "100") -> Pair:
    seen = {metric: Comparison(metric, None, Verdict(Word.OPEN), sample=sample) for metric in (REQUESTS, CPU)}
    return Pair(kind, PAIR[0], PAIR[1], scenario, tier, builders.TIERS[tier], jvm=True, rounds=3, comparisons=seen)


def sample(rng: np.random.Generator, turn: float, process: float, rounds: int = 3, turns: int = 8) -> Sample:
    """Log-ratios of turns and processes with these variances."""
    made = rng.normal(0, turn**0.5, (rounds, turns)) + rng.normal(0, process**0.5, (rounds, 1))
    return Sample(list(made.mean(1)), "100", made.tolist())


def test_the_variances_of_turns_and_of_processes_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    [(tier, found)] = components([pair(sample(rng, 0.04, 0.01)) for _ in range(2_000)]).items()
    assert tier == "100"
    assert found.turn == pytest.approx(0.04, rel=0.03)
    assert found.process == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([pair(sample(np.random.default_rng(1), 1, 1))] * 2, id="two pairs"),
        pytest.param([pair(sample(np.random.default_rng(1), 1, 1, rounds=2))] * 9, id="two rounds"),
        pytest.param([pair(sample(np.random.default_rng(1), 1, 1, turns=1))] * 9, id="one turn"),
        pytest.param([pair(sample(np.random.default_rng(1), 1, 1), kind=Kind.VARIANT)] * 9, id="other pairs"),
        pytest.param([pair(sample(np.random.default_rng(1), 1, 1), scenario="cpu 5ms")] * 9, id="another scenario"),
    ],
)
def test_too_little_tells_nothing(pairs: list[Pair]) -> None:
    assert components(pairs) == {}


def test_turns_are_as_many_as_learn_most_in_a_given_time() -> None:
    start_s, turn_s, parts = 20.0, 1.8, Components(turn=0.04, process=0.01)
    found = best({"100": parts}, start_s, turn_s)["100"]

    def spread(turns: float) -> float:
        """Of the mean after an hour."""
        return (parts.process + parts.turn / turns) * (start_s + turns * turn_s) / 3600

    assert found == min(range(FEWEST, MOST + 1, 2), key=spread)


def test_turns_have_bounds_whatever_the_variances() -> None:
    found = best({"none": Components(0.04, -0.001), "much": Components(0.001, 1.0)}, 20, 2)
    assert found == {"none": MOST, "much": FEWEST}


def planned(**changes: object) -> PlanFacts:
    asked = {"entries": PAIR, "scenarios": ["hello", "sleep"], "tiers": ["100", "1k", "25k"], "rounds": 3, "seed": 1}
    whole = {**asked, "profile": FULL.numbers(), "condition": {}, "design": "turns", **changes}
    return PlanFacts.model_validate(whole)


def test_a_plan_has_as_many_turns_of_a_second_as_it_says() -> None:
    plan = planned(turns={"100": 24, "1k": 6, "25k": 30})
    hello, sleep = (next(b for b in blocks_of(plan) if b.scenario == name) for name in ("hello", "sleep"))
    profile = profile_of(plan)
    few, some, many = hello.tiers
    assert [len(windows.slots(hello, at, profile)) for at in hello.tiers] == [48, 12, 4], "25k as the profile says"
    assert [windows.window(hello, at, profile) for at in (few, some)] == [1.0, 1.0]
    unplanned = next(b for b in blocks_of(planned()) if b.scenario == "hello")
    assert windows.window(hello, many, profile) == windows.window(unplanned, many, profile)
    assert sleep.turns == {}


def test_without_several_variants_of_a_server_nothing_is_looked_up(tmp_path: Path) -> None:
    alone = planned(entries=PAIR[:1])
    assert budget.start_seconds(blocks_of(alone), profile_of(alone), builders.catalog()) is None
    assert earlier_run.with_turns(alone, tmp_path / "none", builders.catalog()) is alone


SERVERS = ["java-a", "java-b", "java-c"]


def turn(place: int, rps: float) -> Turn:
    return Turn(
        place=place,
        loaded_s=1.0,
        goodput=round(rps),
        cpu_s=0.5,
        generator_cpu_s=0.4,
        p50_us=None,
        p99_us=None,
        foreign_share=None,
    )


def records(seed: int) -> list[Record]:
    """Three pairs in three rounds, of which turns vary four times as much as processes."""
    rng = np.random.default_rng(seed)
    made = []
    for entry in (f"{server}:{variant}" for server in SERVERS for variant in ("platform", "virtual")):
        for number in (1, 2, 3):
            process = rng.normal(0, 0.05)
            rates = [40_000 * np.exp(process + rng.normal(0, 0.1)) for _ in range(8)]
            record = builders.record(entry, "100", round_number=number, rps=float(np.mean(rates)))
            assert record.measurement is not None
            seen = record.measurement.model_copy(update={"windows": [turn(i, r) for i, r in enumerate(rates)]})
            made.append(record.model_copy(update={"measurement": seen}))
    return made


def kept(results: Path, day: int, seed: int, **host: object) -> str:
    """A finished run of this day on a machine that is this one but for `host`."""
    entries = list(dict.fromkeys(plain(r.entry) for r in records(seed)))
    run = builders.run(entries, ["hello"], ["100"])
    here = facts.gather().model_copy(update=host)
    named = {"id": f"202601{day:02}-030405-full", "finished_at": run.started_at, "host": here}
    store = Store.create(results, run.model_copy(update=named))
    store.append(*records(seed))
    return str(named["id"])


def test_the_newest_run_of_this_machine_tells_how_many(tmp_path: Path) -> None:
    kept(tmp_path, 1, seed=1)
    newest = kept(tmp_path, 2, seed=2)
    kept(tmp_path, 3, seed=3, cpu_model="another")
    (tmp_path / "20260104-030405-full").mkdir()
    found = earlier_run.with_turns(planned(), tmp_path, builders.catalog())
    assert found.turns_of == newest
    assert list(found.turns) == ["100"]
    assert FEWEST <= found.turns["100"] <= MOST


def test_a_plan_says_who_told_it() -> None:
    told = announcement(planned(turns={"100": 24}, turns_of="an-earlier-run"), 60, {}).splitlines()[-1]
    assert told == "turns of hello in a round: 24 at 100, best by the variances of an-earlier-run"
    assert announcement(planned(), 60, {}).endswith("not those of an earlier run")
    assert "turns" not in announcement(planned(entries=PAIR[:1]), 60, {})


@pytest.mark.parametrize(
    ("goodputs", "share"),
    [([500, 1_000, 1_000], 0.5), ([1_000, 1_000], 1.0), ([700], None), ([], None), ([5, 0], None)],
)
def test_the_first_turn_is_told_as_a_share_of_the_others(goodputs: list[int], share: float | None) -> None:
    turns = [
        Turn(
            place=n, loaded_s=2.0, goodput=goodput, cpu_s=1.0, generator_cpu_s=1.0, p50_us=1, p99_us=1, foreign_share=0
        )
        for n, goodput in enumerate(goodputs)
    ]
    assert first_share(builders.measurement().model_copy(update={"windows": turns})) == share
