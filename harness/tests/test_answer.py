"""Tests of the paragraph for a reader in a hurry, on made-up records whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import builders
import pytest
from builders import record
from test_experiments import opened, tried

from zoo.cli.answer import compared, questions
from zoo.core.answer_runs import ARRIVING, COST, POOL_QUESTIONS, POOLS, QUESTIONS, WAITING
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.manifest import Catalog
from zoo.core.plan import make_plan
from zoo.core.record import Record
from zoo.report.summary import Summary
from zoo.report.text.answer import Found, paragraph, rounds_needed

PLATFORM, VIRTUAL = "java-a:platform", "java-a:virtual"
STEADY = (1.0, 1.001, 0.999)
WIDE = (0.80, 0.88, 0.93)


def waiting(entry: str, served: float) -> Record:
    made = record(entry, "1k", "sleep")
    assert made.measurement is not None
    load = made.measurement.load.model_copy(update={"goodput": round(1_000 * served)})
    return made.model_copy(update={"measurement": made.measurement.model_copy(update={"load": load})})


def hello(entry: str, rps: float, cpu: float) -> list[Record]:
    return [
        record(entry, tier, round_number=n, rps=rps * w, cpu_s_per_million=cpu / w)
        for tier in ("100", "1k")
        for n, w in enumerate(STEADY, 1)
    ]


def found(
    served: Sequence[float] = (0.2, 1.0), shares: Sequence[float] = (0.13, 1.0), slower: float = 0.85, more: float = 1.2
) -> Found:
    entries = [PLATFORM, VIRTUAL]
    return {
        WAITING: Summary.of(
            builders.run(entries, ["sleep"], ["1k"]),
            [waiting(e, s) for e, s in zip(entries, served, strict=True)],
        ),
        ARRIVING: Summary.of(
            builders.run(entries, ["open"], ["24k"]),
            [tried("open", opened(s), e) for e, s in zip(entries, shares, strict=True)],
        ),
        COST: Summary.of(
            builders.run(entries, ["hello"], ["100", "1k"]),
            [*hello(PLATFORM, 50_000, 20.0), *hello(VIRTUAL, 50_000 * slower, 20.0 * more)],
        ),
    }


def test_a_pool_that_keeps_requests_waiting_is_a_reason_to_switch_and_its_price_is_told() -> None:
    text = paragraph("java-a", found())
    assert text.startswith("java-a: switch from the pool to virtual threads? Yes, if its requests wait")
    assert (
        "Of 1,000 requests that wait 10 s each, the pool answered 200 in the first wait and virtual threads all" in text
    )
    assert (
        "At 400 requests per second for 60 s, which wait 4 s each, the pool answered 13% within 60 s, virtual threads "
        "all." in text
    )
    assert "at 1,000 connections, throughput 15% lower (15%) and CPU per request 20% higher (20%)" in text
    assert "A request takes 20 µs with the pool and 24 µs with virtual threads of CPU time." in text
    assert text.endswith(
        "(3 rounds for the cost, one for the rest; 95% intervals; 2 cores shared by server and generator.)"
    )


def test_what_a_few_more_rounds_would_decide_is_said() -> None:
    assert rounds_needed(found()) is None
    assert rounds_needed({}) is None
    unsteady = [
        *hello(PLATFORM, 50_000, 20.0),
        *(record(VIRTUAL, t, round_number=n, rps=50_000 * w) for t in ("100", "1k") for n, w in enumerate(WIDE, 1)),
    ]
    needed = rounds_needed({COST: Summary.of(found()[COST].run, unsteady)})
    assert needed is not None
    assert 3 < needed <= 3 + 20


def test_a_pool_that_serves_all_is_none() -> None:
    text = paragraph("java-a", found(served=(1.0, 1.0), shares=(1.0, 1.0), slower=1.0, more=1.0))
    assert "switch from the pool to virtual threads? Not necessary" in text
    assert "throughput the same (within 5%) and CPU per request the same (within 5%)" in text


def test_a_pool_that_serves_all_of_them_late_is_a_reason_to_switch() -> None:
    late = found(served=(1.0, 1.0), shares=(1.0, 1.0))
    _, virtual = late[ARRIVING].records
    pool = tried("open", opened(1.0, p50_s=25.0, p99_s=31.4), PLATFORM)
    text = paragraph("java-a", {**late, ARRIVING: Summary.of(late[ARRIVING].run, [pool, virtual])})
    assert "? Yes, if its requests wait" in text
    assert "the pool answered all, but half of them only after 25 s within 60 s, virtual threads all." in text


def test_virtual_threads_that_serve_late_are_no_reason_to_switch() -> None:
    text = paragraph("java-a", found(served=(0.2, 0.97), shares=(0.13, 0.97)))
    assert "? Not for requests that wait: virtual threads do not answer all of them in time." in text


def test_what_was_not_measured_is_open() -> None:
    text = paragraph("java-a", {COST: found()[COST]})
    assert "? Not known, because the run did not measure waiting requests." in text
    assert "A request takes" in text


def test_a_generator_that_fell_behind_tells_nothing_of_the_server() -> None:
    arriving = found()[ARRIVING]
    behind = [tried("open", opened(0.5, behind="too few workers"), PLATFORM), *arriving.records[1:]]
    late = Summary.of(arriving.run, behind)
    assert "400 requests per second" not in paragraph("java-a", {**found(), ARRIVING: late})


def test_a_server_of_one_model_has_nothing_to_switch_to() -> None:
    cost = found()[COST]
    mine = [r for r in cost.records if r.entry == PLATFORM]
    assert "no variant other than a pool" in paragraph("java-a", {COST: Summary.of(cost.run, mine)})


def test_its_runs_can_be_planned_for_a_server() -> None:
    catalog = Catalog((builders.catalog().servers[0],))
    wishes = {q.name: replace(q.options, servers=["java-a"]) for q in (*QUESTIONS, *POOL_QUESTIONS)}
    plans = {name: make_plan(wish, catalog, Condition(jdk="25")) for name, wish in wishes.items()}
    assert {name: (plan.rounds, plan.cells) for name, plan in plans.items()} == {
        WAITING: (1, 2),
        ARRIVING: (1, 2),
        COST: (3, 12),
        POOLS: (1, 4),
    }


def test_only_the_two_sides_are_measured() -> None:
    catalog = builders.catalog()
    assert compared("java-a", catalog) == ["platform", "virtual"]
    with pytest.raises(PlanError, match="make bench SERVER=rust-n"):
        compared("rust-n", catalog)


def test_pool_sizes_are_compared_if_they_can_be_set() -> None:
    catalog = builders.catalog()
    assert questions("java-a", ["platform", "virtual"], catalog) == POOL_QUESTIONS
    variants = [
        {"name": "platform", "model": "platform-thread", "summary": "a pool of one size", "settings": []},
        {"name": "virtual", "model": "virtual-thread", "summary": "no pool"},
    ]
    fixed = Catalog((builders.server("java-f", 8107, variants=variants),))
    assert questions("java-f", ["platform", "virtual"], fixed) == QUESTIONS


def test_the_comparison_of_pool_sizes_replaces_that_of_the_variants() -> None:
    text = paragraph("java-a", found(), "if requests wait, enlarge the pool to about 1,000.")
    assert text.startswith(
        "java-a: if requests wait, enlarge the pool to about 1,000. If no request waits, the switch means at 100"
    )
    assert "switch from the pool" not in text
