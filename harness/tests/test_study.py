"""Tests of the text in a document about the runs of a study on one server."""

from __future__ import annotations

from pathlib import Path

import builders
from test_experiments import RECORDS, opened, run, tried

from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.reference.findings import render_study
from zoo.reference.runs import COMMITTED, Reference
from zoo.report.text.markdown import render
from zoo.report.view import View
from zoo.scenarios.rate import RATE


def told(root: Path, scenario: str, records: list[Record]) -> str:
    builders.list_runs(root, f"java-a/{scenario}")
    store = Store.create(root / COMMITTED / "java-a", run(scenario).model_copy(update={"id": scenario}))
    for record in records:
        store.append(record)
    return render_study(Reference(root, builders.catalog()).matching("java-a/*"), builders.catalog())


def test_a_sweep_has_its_answer_then_the_figures_and_comparisons(tmp_path: Path) -> None:
    text = told(tmp_path, "cpu", RECORDS["cpu"])
    answer = text.index(
        "- java-a, requests per second of virtual threads compared with the pool of platform threads: slower in 2"
    )
    comparison = text.index("| java-a:virtual | cpu 0.5ms+2ms | 5 | 3 | ")
    figures = text.index("| java-a:virtual | 1,480 (740–2,220) | 1,480 (740–2,220) |")
    where = text.index("[Committed run](results/reference/java-a/cpu), 3 rounds: Some CPU")
    assert answer < where < text.index("<details><summary>Tables</summary>") < figures < comparison


def test_a_trial_has_its_table_and_no_comparison(tmp_path: Path) -> None:
    text = told(tmp_path, "ramp", RECORDS["ramp"])
    assert "95% are answered: after 2 s by virtual threads and not within 10 s" in text
    assert "| java-a:virtual | 2 | 100 | 100 | 60 |" in text
    assert "÷" not in text.partition("<details>")[0]


def test_a_failed_cell_is_told(tmp_path: Path) -> None:
    failed = builders.record("java-a:virtual", "1k", "ramp", failure="ended at once").model_copy(update={"case": "2s"})
    assert "java-a:virtual, ramp 2s, failed in round 1: ended at once" in told(tmp_path, "ramp", [failed])


def loaded(entry: str, rate: int, number: int, rss_mb: float, direct_mb: float) -> Record:
    result = opened(1.0).model_copy(update={"rate": rate})
    made = tried("rate", result, entry, case=f"{rate}pct", number=number)
    assert made.trial is not None
    assert made.trial.memory is not None
    seen = {"rss_peak_kb": round(1024 * rss_mb), "direct_used_kb": round(1024 * direct_mb)}
    trial = made.trial.model_copy(update={"memory": made.trial.memory.model_copy(update=seen)})
    return made.model_copy(update={"trial": trial})


def behind(made: Record, **seen: int) -> Record:
    """Return a cell whose generator did not keep to its schedule, with the observed figures."""
    assert made.trial is not None
    result = made.trial.result.model_copy(update={"behind": "too little, too late", **seen})
    return made.model_copy(update={"trial": made.trial.model_copy(update={"result": result})})


def test_memory_is_told_of_a_load_that_was_made_too_late_for_latencies_but_not_of_one_that_was_not_made() -> None:
    late = behind(loaded("java-a:virtual", 77, 1, 75, 7.5))
    missed = behind(loaded("java-a:virtual", 77, 2, 285, 28.5), sent=23_000)
    assert isinstance(RATE.view, View)
    text = render([RATE.view.section([late, missed])])
    assert text.splitlines()[8].endswith("| 0 | 75 | 7.5 |")
    assert "round 2: no data, too little" in text
