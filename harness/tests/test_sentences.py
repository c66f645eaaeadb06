"""Tests of a run's results in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

import builders
import synthetic
from builders import record

from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report.cells import Cells
from zoo.report.findings import list_findings
from zoo.report.formatting import format_ratio
from zoo.report.sentences import ScenarioResults, list_results
from zoo.report.summary import Summary
from zoo.report.text.document import report_sections
from zoo.report.text.markdown import render
from zoo.stats.pairs import Kind, compare

A, B = ("java-a:platform", "java-a:virtual"), ("java-b:platform", "java-b:virtual")
WOBBLE = (1.0, 1.001, 0.999)


def said(run: Run, records: Sequence[Record], reference: str | None = None) -> str:
    """Return the report as text."""
    return render(report_sections(Summary.of(run, records, reference)))


def rounds(entry: str, tier: str, rps: float, *, count: int = 3, flags: tuple[Flag, ...] = ()) -> list[Record]:
    return [record(entry, tier, round_number=n + 1, rps=rps * WOBBLE[n], flags=flags) for n in range(count)]


def told(records: list[Record], tiers: tuple[str, ...] = ("100", "1k")) -> list[ScenarioResults]:
    entries = list(dict.fromkeys(r.entry for r in records))
    run = builders.run(entries, ["hello"], tiers, rounds=max(r.round for r in records))
    return list_results(Cells.of(run, records, None), list_findings(compare(entries, records), Kind.MODEL))


def test_each_verdict_names_its_servers_and_loads() -> None:
    rates = {("java-a", "100"): 1.0, ("java-a", "1k"): 1.22, ("java-b", "100"): 1.0, ("java-b", "1k"): 1.0}
    records = [
        one
        for (name, tier), factor in rates.items()
        for one in (
            *rounds(f"{name}:platform", tier, 50_000.0),
            *rounds(f"{name}:virtual", tier, 50_000.0 * factor),
        )
    ]
    (answer,) = told(records)
    assert (answer.scenario, answer.wait) == ("hello", "no wait")
    assert re.sub(r", \d+(–\d+)?%", ", …", answer.sentences[0].text) == (
        "Requests per second: faster in java-a at 1k (22%, …); "
        "the same (within 5%) in java-a at 100, java-b at every load."
    )
    assert answer.sentences[1].text == "CPU per request: the same (within 5%) everywhere."


def test_servers_of_which_the_same_is_said_stand_together() -> None:
    records = [one for name in (*A, *B) for tier in ("100", "1k") for one in rounds(name, tier, 50_000.0, count=1)]
    (answer,) = told(records)
    assert answer.sentences[0].text == "Requests per second: no clear difference everywhere (0%)."
    faster = [*records, *rounds("java-c:platform", "1k", 1.0), *rounds("java-c:virtual", "1k", 2.0)]
    assert "; no clear difference in java-a and java-b at every load (0%)." in told(faster)[0].sentences[0].text


def test_what_is_not_known_says_how_far_it_may_go() -> None:
    noisy = (1.0, 1.3, 0.8)
    records = [
        record(entry, tier, round_number=n + 1, rps=50_000.0 * factor)
        for tier in ("100", "1k")
        for entry, factors in zip(A, ((1.0, 1.0, 1.0), noisy), strict=True)
        for n, factor in enumerate(factors)
    ]
    said = told(records)[0].sentences[0].text
    assert re.fullmatch(r"Requests per second: no clear difference everywhere \(−\d+ to \+\d+%\)\.", said)


def test_one_round_has_one_figure_instead_of_a_range() -> None:
    records = [*rounds(A[0], "100", 50_000.0, count=1), *rounds(A[1], "100", 4_500.0, count=1)]
    said = told(records, ("100",))[0].sentences[0].text
    assert said == "Requests per second: no clear difference everywhere (−91%)."


def test_what_limited_it_and_what_failed_is_counted() -> None:
    records = [
        *rounds(A[0], "1k", 50_000.0, flags=(Flag.SHARED_CORES,)),
        *rounds(A[1], "1k", 50_000.0, flags=(Flag.SHARED_CORES, Flag.GENERATOR_SATURATED)),
        record(A[1], "1k", round_number=4, failure="gone"),
    ]
    (answer,) = told(records)
    assert answer.notes == [
        "Limits: generator saturated in 1 of 2 cells; shared cores in every cell; 1 of 2 cells failed."
    ]


def test_the_report_as_text_says_the_same_as_the_page() -> None:
    run, (records, _) = synthetic.run(), synthetic.records()
    cells = Cells.of(run, records, synthetic.REFERENCE)
    pairs = compare(run.plan.entries, records, synthetic.REFERENCE)
    text = said(run, records, synthetic.REFERENCE)
    assert text.index("## Answer") < text.index("## The same program twice (A/A)")
    told = [one for answer in list_results(cells, list_findings(pairs, Kind.MODEL)) for one in answer.texts]
    assert len(told) > 8
    assert all(f" · {one}" in text for one in told)


def test_a_ratio_has_the_digits_that_tell_it_apart() -> None:
    assert [format_ratio(r) for r in (0.0049, 0.034, 0.5, 1.2345, 9.996, 12.3, 1234.5)] == [
        "0.0049", "0.034", "0.50", "1.23", "10", "12", "1,234"
    ]  # fmt: skip
