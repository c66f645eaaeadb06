"""What is said of the runs of a study about one server."""

from __future__ import annotations

from collections.abc import Sequence

import builders
from test_experiments import PLATFORM, VIRTUAL, held, opened, ramp, swept, tried

from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report.study import StudyRun, told


def said(scenario: str, records: Sequence[Record]) -> str:
    run: Run = builders.run([PLATFORM, VIRTUAL], [scenario], rounds=3)
    return told([StudyRun("Why?", run, records, "../report.md")], lambda run: f"On {run.host.cpu_model}")


def test_a_sweep_says_who_serves_more_where() -> None:
    rates = {"5": (100.0, 150.0), "20": (100.0, 100.0), "50": (100.0, 60.0)}
    records = [
        swept("cpu", "0.5ms+2ms", tier, entry, rps * (1 + 0.001 * number), number)
        for tier, pair in rates.items()
        for entry, rps in zip((PLATFORM, VIRTUAL), pair, strict=True)
        for number in (1, 2, 3)
    ]
    text = said("cpu", records)
    assert "At 5 clients: virtual threads serve more." in text
    assert "At 20 clients: the same (within 5%)." in text
    assert "At 50 clients: platform threads serve more." in text
    assert "| 50 | platform threads serve more | 0.60 [0.60, 0.60] |" in text
    assert "[Committed run](../report.md): 3 rounds. On Some CPU." in text


def test_a_ramp_says_when_all_were_served_or_how_far_it_came() -> None:
    records = [
        tried("ramp", ramp(t95), entry, case="1s", number=number)
        for entry, t95 in ((PLATFORM, None), (VIRTUAL, 2.0))
        for number in (1, 2)
    ]
    text = said("ramp", records)
    assert "`virtual` serves 95 % of them from second 2 on, with up to 60 OS threads." in text
    assert "`platform` does not come to serve 95 % of them within 10 s: in the last third of the time it gives" in text
    assert "| seconds | platform, served % | platform, threads | virtual, served % | virtual, threads |" in text
    assert "| 5 | 50 | 40 | 100 | 40 |" in text


def test_held_connections_have_a_cost_where_all_were_held() -> None:
    tiers = ("100", "1k", "2k", "5k")
    records = [
        held(entry, tier, kb, number)
        for entry, kb in ((PLATFORM, 40.0), (VIRTUAL, 10.0))
        for tier in tiers
        for number in (1, 2)
    ]
    text = said("held", records)
    assert "`platform` takes 40 [40, 40] kB of resident memory for each." in text
    assert "`virtual` takes 10 [10, 10] kB" in text
    assert "| 5k | 254 | 107 | 0.42 [0.42, 0.42] |" in text


def loaded(entry: str, rate: int, number: int, rss_mb: float, direct_mb: float) -> Record:
    result = opened(1.0).model_copy(update={"rate": rate})
    made = tried("rate", result, entry, case=f"{rate}pct", number=number)
    assert made.trial is not None
    assert made.trial.memory is not None
    seen = {"rss_peak_kb": round(1024 * rss_mb), "direct_used_kb": round(1024 * direct_mb)}
    trial = made.trial.model_copy(update={"memory": made.trial.memory.model_copy(update=seen)})
    return made.model_copy(update={"trial": trial})


def test_a_load_says_what_a_tenth_more_of_it_costs() -> None:
    records = [
        loaded(entry, rate, number, rss, rss / 10)
        for number in (1, 2)
        for entry, rate, rss in (
            (PLATFORM, 70, 100.0),
            (PLATFORM, 77, 75.0),
            (VIRTUAL, 70, 100.0),
            (VIRTUAL, 77, 285.0),
        )
    ]
    text = said("rate", records)
    assert "From 70 to 77 requests a second, the peak of `platform` is 25 % smaller" in text
    assert "the peak of `virtual` is 185 % larger [185 % larger, 185 % larger]" in text
    assert "| virtual | 77 | 285 | 28.5 |" in text


def behind(made: Record, **seen: int) -> Record:
    """A cell whose generator did not keep to its schedule, and what was seen of that."""
    assert made.trial is not None
    result = made.trial.result.model_copy(update={"behind": "too little, too late", **seen})
    return made.model_copy(update={"trial": made.trial.model_copy(update={"result": result})})


def test_a_load_that_the_generator_did_not_make_is_no_data() -> None:
    records = [loaded(PLATFORM, 70, 1, 100.0, 1.0), behind(loaded(PLATFORM, 77, 1, 75.0, 1.0), sent=23_000)]
    text = said("rate", records)
    assert "is not known, its direct buffers not known" in text
    assert "`platform` at 77 requests a second, round 1: no data, too little, too late." in text
    assert "| platform | 77 | – | – |" in text


def test_memory_is_told_of_a_load_that_was_made_too_late_for_latencies() -> None:
    records = [loaded(PLATFORM, 70, 1, 100.0, 1.0), behind(loaded(PLATFORM, 77, 1, 75.0, 1.0))]
    text = said("rate", records)
    assert "the peak of `platform` is 25 % smaller" in text
    assert "In 1 of 2 cells the generator made the rate but sent one request in a hundred 0.9 ms late or more" in text
    assert "no data" not in text


def test_a_failed_cell_is_told() -> None:
    failed = builders.record(VIRTUAL, "1k", "ramp", failure="ended at once").model_copy(update={"case": "2s"})
    assert "`virtual`, ramp 2s at 1k, failed in round 1: ended at once." in said("ramp", [failed])
