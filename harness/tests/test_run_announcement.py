"""Tests of what is printed about a run before it starts."""

import builders
import pytest
from builders import run

from zoo.cli.plan import announce
from zoo.core.blocks import blocks_of
from zoo.core.condition import Condition
from zoo.core.defaults import FULL
from zoo.core.run import Case, PlanFacts, Program
from zoo.report.text.planning import format_announcement

SERVICE = Program(
    cases=[Case(name="5s", entries=["java-a:virtual"]), Case(name="0ms", entries=["java-a:virtual"])],
    tiers=["1", "200"],
    duration_s=25,
)
STARTUP = Program(
    cases=[Case(name="default"), Case(name="aot", entries=["java-a:virtual", "java-a:platform"])],
    tiers=["1"],
    duration_s=20,
)


def _planned(*scenarios: str, **changes: object) -> PlanFacts:
    planned = run(["java-a:virtual", "java-a:platform", "rust-a:async"], scenarios, ["100", "1k"], rounds=2).plan
    programs = {name: program for name, program in (("service", SERVICE), ("startup", STARTUP)) if name in scenarios}
    return planned.model_copy(update={"programs": programs, **changes})


def _told(planned: PlanFacts) -> list[str]:
    return format_announcement(planned, 120, {"JDK": "25"}).splitlines()


def test_a_resumed_run_says_how_long_the_rest_takes(capsys: pytest.CaptureFixture[str]) -> None:
    plan = run(["rust-n:bare"], ["hello"], ["100", "1k"], rounds=1).plan
    planned = plan.model_copy(update={"profile": FULL.numbers()})
    (block,) = blocks_of(planned)
    for done in ([], block.keys(block.tiers[0])):
        announce(planned, builders.catalog(), frozenset(done))
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith(", about 40 s")
    assert last == "resumed: about 30 s of that is left"


def test_entries_that_share_all_loads_are_counted_once() -> None:
    assert _told(_planned("hello", "sleep")) == [
        "24 cells = 3 entries × hello, sleep × 100, 1k connections × 2 rounds, about 2 min",
        "entries: java-a:virtual, java-a:platform, rust-a:async",
        "condition: JDK 25; order seed 7",
    ]


def test_a_load_counts_the_entries_that_it_applies_to_and_names_no_others() -> None:
    planned = _planned("service")
    assert planned.cells == 8
    assert _told(planned)[:2] == [
        "8 cells = 1 entry × service × 5s, 0ms × 1, 200 connections × 2 rounds, about 2 min",
        "entries: java-a:virtual",
    ]


def test_loads_of_several_groups_of_entries_add_up() -> None:
    planned = _planned("hello", "service", "startup")
    assert planned.cells == 2 * (3 * (2 + 1) + 1 * (2 * 2) + 2 * 1)
    assert _told(planned)[0] == (
        "30 cells = (3 entries × hello × 100, 1k connections; startup × default × 1 connection; "
        "1 entry × service × 5s, 0ms × 1, 200 connections; 2 entries × startup × aot × 1 connection) × 2 rounds, "
        "about 2 min"
    )


def test_further_conditions_multiply_the_cells() -> None:
    planned = _planned("hello", variations={"heap=50m": Condition(jvm_flags=["-Xmx50m"])})
    first, _, last = _told(planned)
    assert first == "24 cells = 3 entries under 2 conditions × hello × 100, 1k connections × 2 rounds, about 2 min"
    assert last == "condition: JDK 25; and heap=50m; order seed 7"


def test_a_condition_of_the_jvm_alone_leaves_out_entries_without_one() -> None:
    changed = {"heap=50m": Condition(jvm_flags=["-Xmx50m"]), "jdk=21": Condition(jdk="21")}
    planned = _planned("hello", variations=changed, natives=["rust-a:async"])
    assert planned.cells == 2 * (2 * 3 + 1) * 2
    assert len({key for block in blocks_of(planned) for tier in block.tiers for key in block.keys(tier)}) == 28
    assert _told(planned)[0].startswith("28 cells = 2 entries under 3 conditions, 1 under 1 × hello × 100, 1k ")
    limited = _planned("hello", variations={"cpus=1": Condition(cpus=1)}, natives=["rust-a:async"])
    assert limited.varied_entries == ["java-a:virtual@cpus=1", "java-a:platform@cpus=1", "rust-a:async@cpus=1"]
