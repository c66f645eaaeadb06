"""Which cells claims need: shared ones once, what is there already not again, compared ones in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import builders
from claimed import PLATFORM, VIRTUAL, archive, claim, hello, records

from zoo.claims.ledger import Claim
from zoo.claims.needs import Job, jobs, missing, wanted
from zoo.cli import claim_runs
from zoo.jdbc import plan as databases
from zoo.jdbc.plan import Choice
from zoo.model.measurement import Measurement, Turn
from zoo.model.record import Record

LEVELS = ["100", "1k"]
RATIO = {"rule": "ratio", "quantity": "requests", "of": "virtual", "over": "platform", "at_most": 1}
MEMORY = {"rule": "bound", "quantity": "RSS per connection", "of": "held", "at_most": 9}


def of_speed(tier: str | list[str] = "1k", **changes: Any) -> Claim:  # noqa: ANN401
    return claim([RATIO], {"virtual": hello(VIRTUAL, tier), "platform": hello(PLATFORM, tier)}, **changes)


def of_memory(entry: str, vary: str = "", **changes: Any) -> Claim:  # noqa: ANN401
    cells = {"scenario": "sleep", "entry": entry, "tier": ["100", "1k", "25k"], "vary": vary}
    return claim([MEMORY], {"held": cells}, **changes)


def planned(*claims: Claim, given: list[list[Record]] | None = None) -> list[Job]:
    return jobs(*missing(claims, [archive(made) for made in given or []]), seconds)


def seconds(job: Job) -> float:
    """A server is started for every case and condition, and then shows all tiers."""
    starts = len(job.entries) * len(job.cases) * len({"", *job.vary})
    return job.rounds * starts * (40 + 10 * len(job.tiers))


def rounds(entry: str, count: int = 3) -> list[Record]:
    return records(entry, [1.0] * count)


def test_shared_cells_are_counted_once() -> None:
    claims = [of_speed(LEVELS), of_speed("1k", id="Q2"), of_memory(VIRTUAL, id="Q3")]
    found = wanted(claims)
    assert len(found) == 4 + 3
    shared = next(want for point, want in found.items() if point.text == "java-a:virtual, hello 1k")
    assert shared.claims == ("Q1", "Q2")
    assert [(job.scenario, job.cells) for job in planned(*claims)] == [("hello", 4), ("sleep", 3)]


def test_what_is_compared_in_speed_is_measured_in_one_run() -> None:
    (job,) = planned(of_speed(LEVELS, rounds=7))
    assert (job.entries, job.tiers, job.rounds) == ((VIRTUAL, PLATFORM), ("100", "1k"), 7)


def test_memory_of_two_servers_needs_no_common_run_but_conditions_of_one_share_it() -> None:
    found = planned(of_memory(VIRTUAL), of_memory(VIRTUAL, "heap=50m", id="Q2"), of_memory("rust-n:bare", id="Q3"))
    assert [(job.entries, job.vary, job.claims) for job in found] == [
        ((VIRTUAL,), ("", "heap=50m"), ("Q1", "Q2")),
        (("rust-n:bare",), ("",), ("Q3",)),
    ]


def test_a_copy_that_is_not_in_the_tree_is_not_planned() -> None:
    copy = VIRTUAL.replace("java-a", "java-a-other")
    claims = [
        of_memory(copy, copies={"java-a-other": "java-a"}),
        claim([RATIO], {"virtual": hello(VIRTUAL), "platform": hello(copy)}, copies={"java-a-other": "java-a"}),
    ]
    assert wanted(claims) == {}
    assert planned(*claims, of_memory(VIRTUAL, id="Q3"))[0].claims == ("Q3",)


def of_bodies(cases: list[str], tiers: list[str], **changes: Any) -> Claim:  # noqa: ANN401
    cells = {"scenario": "bytes", "case": cases, "tier": tiers}
    return claim([RATIO], {"virtual": {**cells, "entry": VIRTUAL}, "platform": {**cells, "entry": PLATFORM}}, **changes)


def test_a_run_does_not_grow_by_cells_that_no_claim_needs() -> None:
    """As one run these would be 2 entries × 4 cases × 5 tiers."""
    small, large = of_bodies(["1", "2"], ["1", "2", "4", "8"]), of_bodies(["1024", "4096"], ["16"], id="Q2")
    found = planned(small, large)
    assert [(job.cases, job.tiers, job.cells) for job in found] == [
        (("1", "2"), ("1", "2", "4", "8"), 16),
        (("1024", "4096"), ("16",), 4),
    ]


def test_a_server_started_once_shows_all_the_tiers_that_claims_need() -> None:
    (job,) = planned(of_bodies(["1"], ["1", "2"]), of_bodies(["1"], ["8"], id="Q2"))
    assert (job.tiers, job.cells, job.claims) == (("1", "2", "8"), 6, ("Q1", "Q2"))


def test_cells_that_a_run_has_often_enough_are_not_measured_again() -> None:
    of = of_speed()
    whole = rounds(VIRTUAL) + rounds(PLATFORM)
    assert planned(of, given=[whole]) == []
    assert len(planned(of, given=[rounds(VIRTUAL, 2) + rounds(PLATFORM)])) == 1
    assert len(planned(of, given=[rounds(VIRTUAL), rounds(PLATFORM)])) == 1, "their rounds are of different runs"


def test_a_job_is_the_command_that_measures_it() -> None:
    job = Job("cpu", (VIRTUAL, PLATFORM), ("", "2ms"), tuple(LEVELS), ("", "heap=50m"), "", 5, 4, ("Q1",), 8)
    env, words = job.words(("BACKLOG",), aa=True)
    assert env == {}
    assert " ".join(words) == (
        "--variant java-a:virtual --variant java-a:platform --scenario cpu --case 2ms --tiers 100,1k --rounds 5 "
        "--duration 4 --vary heap=50m --aa"
    )


def test_servers_that_are_to_be_loaded_without_a_pause_have_long_turns_in_a_run_of_their_own() -> None:
    cells = {name: hello(f"java-a:{name}", window=60) for name in ("virtual", "platform")}
    short, long = planned(of_speed("100", id="Q2"), claim([RATIO], cells))
    assert short.window is None
    assert " ".join(long.words((), aa=False)[1]).endswith("--tiers 1k --rounds 3 --turn 60")
    assert planned(claim([RATIO], cells), given=[rounds(VIRTUAL) + rounds(PLATFORM)]) == [long]
    for turns_each, wanted_still in ((12, [long]), (1, [])):
        given = [loaded(record, turns_each) for record in rounds(VIRTUAL) + rounds(PLATFORM)]
        assert planned(claim([RATIO], cells), given=[given]) == wanted_still


def loaded(record: Record, turns: int) -> Record:
    """Under load for 60 s in all, in so many turns."""
    seen = record.measurement
    assert seen is not None
    turn = Turn(
        place=0, loaded_s=60 / turns, goodput=1, cpu_s=1, generator_cpu_s=1, p50_us=1, p99_us=1, foreign_share=0
    )
    load = seen.load.model_copy(update={"duration_s": 60.0})
    longer = seen.model_copy(update={"load": load, "windows": [turn] * turns})
    return record.model_copy(update={"measurement": longer})


def test_of_databases_only_the_cells_that_are_needed_are_measured() -> None:
    case = "postgresql find-by-code 1000/1100 none"
    cells = {e: {"scenario": "jdbc", "entry": e, "case": case} for e in ("virtual", "cached")}
    ratio = {**RATIO, "quantity": "operations", "over": "cached"}
    (job,) = planned(claim([ratio], cells))
    command = claim_runs.of(job, builders.catalog(), Path())
    assert command is not None
    assert str(command) == (
        "zoo jdbc bench --profile medium --cell 'postgresql find-by-code none 1000/1100 cached' "
        "--cell 'postgresql find-by-code none 1000/1100 virtual'"
    )
    (there,) = planned(claim([ratio], {name: {**cell, "jdk": "21"} for name, cell in cells.items()}))
    assert str(claim_runs.of(there, builders.catalog(), Path())) == f"JDK=21 {command}"
    whole = databases.planned(Choice(), claim_runs.LENGTH)
    assert command.seconds < databases.seconds(whole) / 10


def test_a_single_setting_of_the_servers_is_that_of_the_whole_run() -> None:
    """As an option it would be measured beside the run's own settings, which nobody asked for."""
    job = Job("hello", (VIRTUAL,), ("",), ("100",), ("BACKLOG=128",), "", 1, None, ("Q1",), 1)
    assert job.words(("BACKLOG",), aa=False) == (
        {"BACKLOG": "128"},
        ["--variant", VIRTUAL, "--scenario", "hello", "--tiers", "100", "--rounds", "1"],
    )
    several = Job("hello", (VIRTUAL,), ("",), ("100",), ("BACKLOG=128", "BACKLOG=1024"), "", 1, None, ("Q1",), 1)
    env, words = several.words(("BACKLOG",), aa=False)
    assert env == {}
    assert words[-4:] == ["--vary", "BACKLOG=128", "--vary", "BACKLOG=1024"]


def test_a_run_under_another_jdk_is_one_of_its_own() -> None:
    cells = {"now": hello(VIRTUAL, jdk="21"), "then": hello(VIRTUAL, jdk="21", vary="heap=50m")}
    of = claim([{**RATIO, "of": "now", "over": "then"}], cells, id="Q2")
    here, there = planned(of_speed(), of)
    assert (here.jdk, there.jdk, there.entries) == ("", "21", (VIRTUAL,))
    assert there.words((), aa=False)[0] == {"JDK": "21"}
    assert planned(of_speed(), given=[rounds(VIRTUAL) + rounds(PLATFORM)]) == []
    assert len(planned(of, given=[rounds(VIRTUAL)])) == 1


def test_entries_share_the_run_that_finds_out_their_rates() -> None:
    rate = {"scenario": "rate", "case": "70pct", "tier": "1k"}
    rules = [{"rule": "bound", "quantity": "peak RSS", "of": name, "at_most": 1} for name in ("virtual", "platform")]
    cells = {"virtual": {**rate, "entry": VIRTUAL}, "platform": {**rate, "entry": PLATFORM}}
    (job,) = planned(claim(rules, cells))
    assert job.entries == (VIRTUAL, PLATFORM)


def test_loads_that_are_shares_of_one_rate_are_of_the_run_that_found_it() -> None:
    """As two runs these would take less time, each at rates of its own."""
    cells = {
        "less": {"scenario": "rate", "entry": VIRTUAL, "case": "70pct", "tier": "1k"},
        "more": {"scenario": "rate", "entry": VIRTUAL, "case": "77pct", "tier": "100"},
    }
    rule = {"rule": "ratio", "quantity": "peak RSS", "of": "more", "over": "less", "at_most": 1}
    (job,) = planned(claim([rule], cells))
    assert (job.cases, job.tiers) == (("77pct", "70pct"), ("100", "1k"))


def test_a_run_that_was_too_short_does_not_have_the_cell() -> None:
    of = claim([RATIO], {"virtual": hello(VIRTUAL, duration=60), "platform": hello(PLATFORM, duration=60)})
    brief = rounds(VIRTUAL) + rounds(PLATFORM)
    (job,) = planned(of, given=[brief])
    assert job.duration == 60
    long = [record.model_copy(update={"measurement": lasting(record, 60)}) for record in brief]
    assert planned(of, given=[long]) == []


def lasting(record: Record, seconds: float) -> Measurement:
    assert record.measurement is not None
    load = record.measurement.load.model_copy(update={"duration_s": seconds})
    return record.measurement.model_copy(update={"load": load})
