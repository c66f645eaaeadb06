"""Tests of every rule of the ledger, on records whose truth is known: each rule gives the right verdict."""

from __future__ import annotations

import dataclasses
from typing import Any

import builders
import pytest
from claimed import PLATFORM, STEADY, UNSTEADY, VIRTUAL, archive, claim, hello, records, said, times
from test_study import behind, loaded

from zoo.claims.estimates import ClaimEvidence
from zoo.claims.ledger import Rule
from zoo.claims.verdicts import ClaimWord, Judgement, Size, combine_cells, judge_claim, judge_each
from zoo.core.entry_id import aa_id
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.stats.memory_per_request import costs
from zoo.stats.metrics import cpu_per_million
from zoo.stats.summary import cells, rows

PAIR = {"virtual": hello(VIRTUAL), "platform": hello(PLATFORM)}
RATIO = {"rule": "ratio", "quantity": "requests", "of": "virtual", "over": "platform"}
BELOW = {**RATIO, "at_least": 0.6, "at_most": 0.9, "leans_below": 1}
LEVELS = ["100", "1k"]
GRID = {"virtual": hello(VIRTUAL, LEVELS), "platform": hello(PLATFORM, LEVELS)}

R, C, OPEN, N = ClaimWord.HOLDS, ClaimWord.NOT_REPRODUCED, ClaimWord.OPEN, ClaimWord.NOT_MEASURED
FIT, SMALL, LARGE, UNSURE = Size.AS_PUBLISHED, Size.SMALLER, Size.LARGER, Size.OPEN


def pair(ratio: float, by: tuple[float, ...] = STEADY, tier: str = "1k") -> list[Record]:
    return records(VIRTUAL, times(1000 * ratio, by), tier) + records(PLATFORM, [1000.0] * len(by), tier)


@pytest.mark.parametrize(
    ("ratio", "by", "word", "size"),
    [
        (0.75, STEADY, R, FIT),
        (0.93, STEADY, R, SMALL),
        (0.40, STEADY, R, LARGE),
        (1.20, STEADY, C, None),
        (1.00, STEADY, C, None),
        (0.90, STEADY, R, UNSURE),
        (0.75, UNSTEADY, R, UNSURE),
        (0.95, UNSTEADY, OPEN, UNSURE),
        (1.20, UNSTEADY, C, None),
        (0.75, (1.0,), OPEN, UNSURE),
    ],
)
def test_a_ratio(ratio: float, by: tuple[float, ...], word: ClaimWord, size: Size | None) -> None:
    found = said(claim([BELOW], PAIR), pair(ratio, by)).judgement
    assert (found.word, found.size) == (word, size)


def test_a_claim_without_a_published_figure_has_no_size() -> None:
    rule = {"rule": "bound", "quantity": "peak RSS", "of": "it", "at_least": 33, "leans_above": 20}
    found = records(VIRTUAL, times(44 * 1024, STEADY), name="rss_peak_kb")
    cells = {"it": hello(VIRTUAL)}
    assert said(claim([rule], cells), found).judgement.size is FIT
    assert said(claim([rule], cells, published=[]), found).judgement.size is None


def test_a_claim_does_not_hold_without_its_size_even_if_the_direction_is_open() -> None:
    found = said(claim([BELOW], PAIR), pair(1.2, UNSTEADY)).parts[0].judgement
    assert found.reason == "the interval includes both directions, but not the published size"
    two = said(claim([BELOW], GRID), [*pair(1.02, (0.98, 1.0, 1.02)), *pair(0.75, tier="100")])
    assert two.word is C
    by_chance = said(claim([BELOW], GRID), [*pair(1.2, UNSTEADY), *pair(0.75, tier="100")])
    assert by_chance.word is OPEN


def test_what_is_open_says_how_many_rounds_would_decide() -> None:
    # Half-widths shrink with the square root of the rounds. Here 0.95 is compared with a bound of 1, with an interval
    # of ± 0.248.
    found = said(claim([BELOW], PAIR), pair(0.95, UNSTEADY)).judgement
    assert found.reason == "the interval includes both directions; over 20 more rounds would decide"
    near = said(claim([BELOW], PAIR), pair(0.85, UNSTEADY)).judgement
    assert near.reason == "the interval includes both directions; about 4 more rounds would decide"
    assert near.rounds_needed == 4
    both = said(claim([BELOW], GRID), [*pair(0.85, UNSTEADY), *pair(0.75, tier="100")]).judgement
    assert both.reason == "it holds in 1 of 2 cells, 2 needed; 1 not decided; about 4 more rounds would decide"


@pytest.mark.parametrize(
    ("band", "ratio", "word", "size"),
    [
        ({"at_least": 1.5, "at_most": 3}, 1.2, R, SMALL),
        ({"at_least": 1.5, "at_most": 3}, 4.0, R, LARGE),
        ({"at_least": 1.5}, 0.8, C, None),
        ({"at_most": 0.5}, 0.8, R, SMALL),
        ({"at_least": 0.9, "at_most": 1.1}, 1.0, R, None),
        ({"at_least": 0.9, "at_most": 1.1}, 1.3, C, None),
        ({"at_most": 1.1}, 0.4, R, None),
    ],
)
def test_a_band_on_one_side_of_no_difference_has_a_direction(
    band: dict[str, float], ratio: float, word: ClaimWord, size: Size | None
) -> None:
    found = said(claim([{**RATIO, **band}], PAIR), pair(ratio)).judgement
    assert (found.word, found.size) == (word, size)


def test_a_ratio_of_which_nothing_was_measured() -> None:
    found = said(claim([BELOW], PAIR), records(PLATFORM, [1000.0] * 3))
    assert found.word is N
    assert found.judgement.reason == "none of its runs has java-a:virtual, hello 1k"


@pytest.mark.parametrize(
    ("mb", "by", "word", "size"),
    [
        (44, STEADY, R, FIT),
        (60, STEADY, R, LARGE),
        (20, STEADY, C, None),
        (55, STEADY, R, UNSURE),
        (40, UNSTEADY, OPEN, UNSURE),
        (44, (1.0,), OPEN, UNSURE),
    ],
)
def test_a_bound(mb: float, by: tuple[float, ...], word: ClaimWord, size: Size | None) -> None:
    rule = {"rule": "bound", "quantity": "peak RSS", "of": "it", "at_least": 33, "at_most": 55, "leans_above": 33}
    found = said(claim([rule], {"it": hello(VIRTUAL)}), records(VIRTUAL, times(mb * 1024, by), name="rss_peak_kb"))
    assert (found.word, found.judgement.size) == (word, size)


def test_a_bound_of_which_nothing_was_measured() -> None:
    rule = {"rule": "bound", "quantity": "peak RSS", "of": "it", "at_most": 55}
    found = said(claim([rule], {"it": hello(VIRTUAL, "25k")}), pair(1.0))
    assert (found.word, found.judgement.reason) == (N, "none of its runs has java-a:virtual, hello 25k")


@pytest.mark.parametrize(
    ("us", "word"),
    [((1, 1, 1), R), ((1, 3, 1), OPEN), ((3, 3, 3), R), ((9, 9, 9), C)],
)
def test_a_count(us: tuple[int, ...], word: ClaimWord) -> None:
    # Each round is judged separately, and one round is enough.
    rule = {"rule": "count", "quantity": "p50", "of": "it", "at_most": 2, "leans_below": 5}
    found = [
        builders.record(VIRTUAL, round_number=number, p50_us=seconds * 1_000_000)
        for number, seconds in enumerate(us, start=1)
    ]
    assert said(claim([rule], {"it": hello(VIRTUAL)}), found).word is word


@pytest.mark.parametrize("failure", [None, "out of heap"])
def test_a_count_of_failing_cells_takes_failures_for_figures(failure: str | None) -> None:
    rule = {"rule": "count", "quantity": "failing", "of": "it", "at_most": 0}
    found = [builders.record(VIRTUAL, round_number=n, failure=failure) for n in (1, 2, 3)]
    assert said(claim([rule], {"it": hello(VIRTUAL)}), found).word is (C if failure else R)


def test_a_cell_that_failed_by_no_fault_of_the_server_was_not_measured() -> None:
    rule = {"rule": "count", "quantity": "failing", "of": "it", "at_most": 0}
    record = builders.record(VIRTUAL, failure="the agent ended")
    assert record.failure is not None
    lost = record.model_copy(update={"failure": record.failure.model_copy(update={"kind": "agent_lost"})})
    found = said(claim([rule], {"it": hello(VIRTUAL)}), [lost])
    assert (found.word, found.judgement.reason) == (N, "the agent ended")


@pytest.mark.parametrize(
    ("more", "by", "word"),
    [
        (347, STEADY, R),
        (200, STEADY, R),
        (-100, STEADY, C),
        (399, STEADY, R),
        (100, UNSTEADY, C),
        (150, (0.7, 1.0, 1.3), OPEN),
        (347, (1.0,), OPEN),
    ],
)
def test_a_difference(more: float, by: tuple[float, ...], word: ClaimWord) -> None:
    rule = {
        "rule": "difference",
        "quantity": "requests",
        "of": "virtual",
        "less": "platform",
        "at_least": 295,
        "at_most": 399,
        "leans_above": 0,
    }
    found = records(VIRTUAL, times(500 + more, by)) + records(PLATFORM, [500.0] * len(by))
    assert said(claim([rule], PAIR), found).word is word


def test_a_difference_of_two_runs_is_not_measured() -> None:
    rule = {"rule": "difference", "quantity": "requests", "of": "virtual", "less": "platform", "at_least": 0}
    found = said(claim([rule], PAIR), records(VIRTUAL, [1.0, 2.0]), records(PLATFORM, [1.0, 2.0]))
    assert (found.word, found.judgement.reason) == (N, "the two are in different runs")


LOW, HIGH = (records(entry, [kb] * 3, name="rss_peak_kb") for entry, kb in ((VIRTUAL, 100), (PLATFORM, 200)))


def test_memory_is_taken_from_two_runs_where_none_has_both_sides() -> None:
    of = claim([{**RATIO, "quantity": "peak RSS", "at_most": 1}], PAIR)
    assert said(of, LOW, HIGH).word is R
    assert said(of, LOW, HIGH, [*records(VIRTUAL, [300.0] * 3, name="rss_peak_kb"), *HIGH]).word is C


def test_speed_is_never_taken_from_two_runs() -> None:
    of = claim([{**RATIO, "at_most": 1}], PAIR)
    slow, fast = records(VIRTUAL, [100.0] * 3), records(PLATFORM, [200.0] * 3)
    spoiled = [*records(VIRTUAL, [100.0] * 3, flags=[Flag.NOT_ESTABLISHED]), *fast]
    assert (
        said(of, slow, fast).judgement.reason == "the two are in different runs, and speed is not compared between runs"
    )
    assert said(of, slow, fast, spoiled).judgement.reason == f"{VIRTUAL}: {Flag.NOT_ESTABLISHED.text}"


@pytest.mark.parametrize(
    ("first", "second", "by", "word"),
    [
        (6.0, 2.0, STEADY, R),
        (2.4, 2.0, STEADY, R),
        (1.0, 2.0, STEADY, C),
        (3.0, 2.0, STEADY, R),
        (6.0, 2.0, (0.4, 1.0, 2.5), OPEN),
    ],
)
def test_a_gain(first: float, second: float, by: tuple[float, ...], word: ClaimWord) -> None:
    rule = {
        "rule": "gain",
        "quantity": "requests",
        "of": "a",
        "over": "b",
        "than": "c",
        "than_over": "d",
        "at_least": 1.5,
        "leans_above": 1,
    }
    cells = {
        "a": hello(VIRTUAL, "100"),
        "b": hello(PLATFORM, "100"),
        "c": hello(VIRTUAL, "1k"),
        "d": hello(PLATFORM, "1k"),
    }
    assert said(claim([rule], cells), pair(first, by, "100") + pair(second, STEADY, "1k")).word is word
    assert said(claim([rule], cells), pair(first, by, "100")).word is N


@pytest.mark.parametrize(
    ("low", "high", "by", "word"),
    [
        (0.7, 1.0, STEADY, R),
        (0.9, 1.0, STEADY, R),
        (0.99, 1.0, STEADY, C),
        (0.95, 1.0, STEADY, C),
        (0.7, 1.0, UNSTEADY, OPEN),
    ],
)
def test_a_spread(low: float, high: float, by: tuple[float, ...], word: ClaimWord) -> None:
    rule = {**RATIO, "rule": "spread", "at_least": 0.15, "leans_above": 0.05}
    assert said(claim([rule], GRID), pair(low, by, "100") + pair(high, by, "1k")).word is word
    assert said(claim([rule], GRID), pair(low, by, "100")).word is N


def test_what_is_recorded_is_shown_and_not_judged() -> None:
    recorded = {"rule": "recorded", "quantity": "requests", "of": "virtual"}
    alone = claim([recorded], {"virtual": PAIR["virtual"]})
    assert said(alone, pair(9.0)).word is ClaimWord.RECORDED
    assert said(alone, records(PLATFORM, [1.0])).word is N
    extra = {**recorded, "of": "extra"}
    beside = claim([BELOW, extra], {**PAIR, "extra": hello(VIRTUAL, "100")})
    assert said(beside, pair(0.75)).word is R


def test_where_a_claim_is_contradicted_only_beyond_a_limit_it_is_open_before() -> None:
    rule = {**RATIO, "at_most": 1, "contradicted_above": 1.1}
    words = [said(claim([rule], PAIR), pair(ratio)).word for ratio in (0.9, 1.06, 1.3)]
    assert words == [R, OPEN, C]


# --- validity


@pytest.mark.parametrize(
    "flag",
    [Flag.BAD_ANSWERS, Flag.NOT_ESTABLISHED, Flag.LITTLE_HIGH, Flag.LITTLE_WORK],
    ids=lambda flag: str(flag.value),
)
def test_figures_of_a_load_with_faults_are_not_judged(flag: Flag) -> None:
    found = pair(0.75)[:3] + records(PLATFORM, [1000.0] * 3, flags=[flag])
    assert said(claim([BELOW], PAIR), found).word is N


def test_one_failed_round_is_enough_not_to_judge() -> None:
    found = [*pair(0.75)[1:], builders.record(VIRTUAL, round_number=1, failure="hung")]
    verdict_ = said(claim([BELOW], PAIR), found)
    assert (verdict_.word, verdict_.judgement.reason) == (N, "java-a:virtual failed in round 1: hung")


@pytest.mark.parametrize(
    ("sent", "quantity", "word"),
    [(24_000, "peak RSS", R), (24_000, "p50", N), (24_000, "share of good responses", N), (23_000, "peak RSS", N)],
)
def test_of_a_rate_that_was_made_too_late_only_memory_is_judged(sent: int, quantity: str, word: ClaimWord) -> None:
    found = [
        behind(loaded(entry, 70, number, mb, 1.0), sent=sent)
        for entry, mb in ((VIRTUAL, 75.0), (PLATFORM, 100.0))
        for number in (1, 2, 3)
    ]
    cells = {
        name: {"scenario": "rate", "entry": entry, "case": "70pct", "tier": "100"}
        for name, entry in (("virtual", VIRTUAL), ("platform", PLATFORM))
    }
    verdict_ = judge_claim(
        claim([{**RATIO, "quantity": quantity, "at_most": 1}], cells), ClaimEvidence([archive(found)])
    )
    assert verdict_.word is word
    assert (word is R) is ("too late" not in (verdict_.judgement.reason or ""))


def test_a_lower_bound_leaves_a_ratio_open_upwards() -> None:
    bounded = records(VIRTUAL, times(1300, STEADY), flags=[Flag.GENERATOR_SATURATED]) + pair(1.0)[3:]
    at_least = {**RATIO, "at_least": 1.2}
    assert said(claim([at_least], PAIR), bounded).word is R
    assert said(claim([{**at_least, "at_most": 1.5}], PAIR), bounded).judgement.size is UNSURE
    assert said(claim([{**at_least, "at_least": 0.9, "at_most": 1.5}], PAIR), bounded).word is OPEN


def cut(ratio: float, entry: str = VIRTUAL) -> list[Record]:
    return records(
        entry,
        times(1000 * ratio, STEADY),
        "25k",
        actual=19_500,
        limited_by="nofile hard limit 20,000",
        rss_peak_kb=90_000,
    )


def test_at_a_cut_tier_only_ratios_and_costs_per_connection_are_judged() -> None:
    cells = {"virtual": hello(VIRTUAL, "25k"), "platform": hello(PLATFORM, "25k")}
    found = [*cut(0.75), *cut(1.0, PLATFORM)]
    judged = said(claim([BELOW], cells), found)
    assert judged.word is R
    assert "ran at 19,500 connections instead of 25k (nofile hard limit 20,000)" in judged.parts[0].figures[0][0].notes
    alone = {"it": hello(VIRTUAL, "25k")}
    cost = {"rule": "bound", "quantity": "growth from idle per connection", "of": "it", "at_most": 3}
    assert said(claim([cost], alone), found).word is R
    for rule, quantity in (("bound", "peak RSS"), ("count", "failing")):
        whole = said(claim([{"rule": rule, "quantity": quantity, "of": "it", "at_most": 1e9}], alone), found)
        assert whole.word is N
        assert "only ratios and costs per connection are judged" in (whole.judgement.reason or "")


@pytest.mark.parametrize("requests", [999, 1_000])
def test_cpu_per_request_is_known_of_a_claim_where_a_report_has_it(requests: int) -> None:
    found = [builders.record(VIRTUAL, "1k", "hello", number, requests=requests) for number in (1, 2, 3)]
    rule = {"rule": "bound", "quantity": "CPU per request", "of": "it", "at_most": 30}
    claimed = said(claim([rule], {"it": hello(VIRTUAL)}), found)
    assert found[0].measurement is not None
    reported = cpu_per_million(found[0].measurement)
    assert (claimed.word, reported is not None) == ((R, True) if requests == 1_000 else (N, False))


def test_a_connection_costs_the_same_in_report_claim_and_scenario() -> None:
    found = [
        builders.record(VIRTUAL, tier, "sleep", number, actual=count, rss_peak_kb=60_000 + kb * count)
        for number, kb in enumerate((14, 15, 17), start=1)
        for tier, count in (("100", 100), ("1k", 1_000), ("25k", 19_500))
    ]
    named = {"it": {"scenario": "sleep", "entry": VIRTUAL, "tier": ["100", "1k", "25k"]}}
    rule = {"rule": "bound", "quantity": "RSS per connection", "of": "it", "at_most": 30}
    claimed = said(claim([rule], named), found).parts[0].figures[0][0]
    reported = rows(cells(found))[-1].kb_per_connection
    assert reported is not None
    assert (claimed.value, claimed.low, claimed.high) == (reported.value, reported.low, reported.high)
    assert costs(found)[VIRTUAL, "rss"].interval == reported
    assert reported.value == pytest.approx(46 / 3)


def test_sides_with_different_connection_counts_are_not_compared() -> None:
    cells = {"virtual": hello(VIRTUAL, "25k"), "platform": hello(PLATFORM, "25k")}
    found = said(claim([BELOW], cells), [*cut(0.75), *records(PLATFORM, [1000.0] * 3, "25k")])
    assert (found.word, found.judgement.reason) == (N, "ran at different connection counts: 19,500, 25,000")


def test_a_difference_within_the_noise_of_the_run_is_inconclusive() -> None:
    # A/A in the same run differs by 10%, so a 7% difference is no finding, however narrow its interval.
    noisy = records(aa_id(PLATFORM), times(1100, STEADY))
    rule = {**RATIO, "at_most": 0.95, "leans_below": 1}
    assert said(claim([rule], PAIR), pair(0.93)).word is R
    found = said(claim([rule], PAIR), [*pair(0.93), *noisy])
    assert (found.word, found.judgement.reason) == (
        OPEN,
        "the difference is within the noise of the same program measured twice",
    )
    assert said(claim([rule], PAIR), [*pair(0.5), *noisy]).word is R


def test_the_noise_of_a_mean_over_cells_is_that_of_the_mean() -> None:
    noisy = [r for tier in MANY for r in records(aa_id(PLATFORM), times(1100, STEADY), tier)]
    rule = {**RATIO, "at_most": 0.95, "leans_below": 1}
    found = [r for tier in MANY for r in pair(0.93, tier=tier)]
    one = claim([rule], PAIR | {name: {**cell, "tier": MANY[0]} for name, cell in PAIR.items()})
    assert said(one, [*found, *noisy]).word is OPEN, "A/A of one cell differs by a tenth"
    assert said(claim([{**rule, "together": True}], NINE), [*found, *noisy]).word is R


def test_noise_is_no_objection_to_a_claim_of_likeness() -> None:
    noisy = records(aa_id(PLATFORM), times(1100, STEADY))
    alike = {**RATIO, "at_least": 0.9, "at_most": 1.1}
    assert said(claim([alike], PAIR), [*pair(1.01), *noisy]).word is R


@pytest.mark.parametrize("band", [{"at_least": 1.05, "leans_above": 1}, {"at_most": 0.95, "leans_below": 1}])
def test_a_claim_of_a_twentieth_does_not_hold_where_both_are_surely_alike(band: dict[str, float]) -> None:
    found = said(claim([{**RATIO, **band}], PAIR), pair(1.0, (1.0, 1.004, 0.996)))
    assert found.word is C
    assert (found.parts[0].judgement.word, found.parts[0].judgement.reason) == (
        ClaimWord.DOES_NOT,
        "the whole interval is within 5% of no difference",
    )


def test_an_emulated_host_tells_of_memory_and_not_of_speed() -> None:
    def emulated(found: list[Record]) -> list[Record]:
        there = {"runtime": "vm", "accelerator": "tcg", "memory": "11g"}
        return [r.model_copy(update={"condition": r.condition.model_copy(update=there)}) for r in found]

    assert said(claim([BELOW], PAIR), emulated(pair(0.75))).judgement.reason == "an emulated host cannot measure speed"
    memory = {"rule": "bound", "quantity": "peak RSS", "of": "virtual", "at_most": 100}
    assert said(claim([memory], {"virtual": PAIR["virtual"]}), emulated(pair(0.75))).word is R


# --- several cells, parts and runs


def judgements(words: str) -> list[Judgement]:
    made = {
        "r": Judgement(R, size=FIT),
        "p": Judgement(R, size=SMALL),
        "c": Judgement(ClaimWord.DOES_NOT),
        "i": Judgement(OPEN, size=UNSURE),
        "n": Judgement(N),
    }
    return [made[word] for word in words]


@pytest.mark.parametrize(
    ("in_cells", "words", "said_", "size"),
    [
        ("every", "rrr", R, FIT),
        ("every", "rrc", ClaimWord.DOES_NOT, None),
        ("every", "rri", OPEN, UNSURE),
        ("every", "rrp", R, UNSURE),
        ("every", "ppp", R, SMALL),
        ("every", "rpi", OPEN, UNSURE),
        ("every", "rrn", N, None),
        ("every", "rnc", ClaimWord.DOES_NOT, None),
        ("any", "ccr", R, FIT),
        ("any", "ccc", ClaimWord.DOES_NOT, None),
        ("any", "cci", OPEN, UNSURE),
        ("any", "ccn", N, None),
        (0.7, "rrrrrrrccc", R, FIT),
        (0.7, "rrrrrriccc", OPEN, UNSURE),
        (0.7, "rrrrrrcccc", ClaimWord.DOES_NOT, None),
        (0.7, "rrrrrrpccc", R, UNSURE),
    ],
)
def test_a_band_that_must_hold_in_some_of_the_cells(
    in_cells: object, words: str, said_: ClaimWord, size: Size | None
) -> None:
    rule = Rule.model_validate({**BELOW, "in_cells": in_cells})
    found = combine_cells(rule, judgements(words))
    assert (found.word, found.size) == (said_, size)


MANY = [str(count) for count in range(100, 1_000, 100)]
NINE = {"virtual": hello(VIRTUAL, MANY), "platform": hello(PLATFORM, MANY)}


def nine(against: float, by: tuple[float, ...], others: tuple[float, ...]) -> list[Record]:
    """Return records of nine cells: one that contradicts `BELOW`, and eight that are not conclusive."""
    first, *rest = MANY
    return pair(against, by, first) + [r for tier in rest for r in pair(0.95, others, tier)]


def test_one_of_many_uncertain_cells_does_not_contradict_by_chance() -> None:
    barely = (0.94, 1.0, 1.06)
    assert said(claim([BELOW], PAIR), pair(1.2, barely)).word is C
    found = said(claim([BELOW], NINE), nine(1.2, barely, UNSTEADY))
    assert found.word is OPEN
    assert (
        found.judgement.reason == "it holds in 0 of 9 cells, 9 needed; 9 not decided; over 20 more rounds would decide"
    )
    assert "chance alone" in (found.parts[0].figures[0][1].reason or "")


def test_one_of_many_cells_that_surely_does_not_hold_is_enough_against_every() -> None:
    assert said(claim([BELOW], NINE), nine(1.5, STEADY, UNSTEADY)).word is C


def test_cells_are_set_against_those_of_the_same_load() -> None:
    found = said(claim([BELOW], GRID), pair(0.75, tier="100") + pair(1.3, tier="1k"))
    assert [(e.label, j.word) for e, j in found.parts[0].figures] == [
        ("java-a:virtual, hello 100 ÷ java-a:platform, hello 100", R),
        ("java-a:virtual, hello 1k ÷ java-a:platform, hello 1k", ClaimWord.DOES_NOT),
    ]
    assert found.word is C


def test_cells_taken_together_are_judged_by_their_mean() -> None:
    found = said(claim([{**BELOW, "together": True}], GRID), pair(0.5, tier="100") + pair(1.125, tier="1k"))
    assert found.word is R
    assert found.parts[0].figures[0][0].value == pytest.approx(0.75, rel=1e-3)


def test_cells_taken_together_are_of_one_run_even_where_a_newer_one_has_some() -> None:
    of = claim([{**BELOW, "together": True}], GRID)
    newer, whole = pair(2.0, tier="1k"), pair(0.5, tier="100") + pair(1.125, tier="1k")
    found = said(of, newer, whole)
    assert found.word is R
    assert found.parts[0].figures[0][0].value == pytest.approx(0.75, rel=1e-3)
    apart = said(of, newer, pair(0.5, tier="100"))
    assert (apart.word, apart.judgement.reason) == (N, "no run has all of its cells in one round")


def test_tiers_below_so_many_times_the_cores_are_left_out() -> None:
    cells = {name: {**cell, "tiers_from_cores": 100} for name, cell in GRID.items()}  # of a host with 2 cores
    found = said(claim([BELOW], cells), pair(1.3, tier="100") + pair(0.75, tier="1k"))
    assert found.word is R
    none = {name: {**cell, "tiers_from_cores": 1_000} for name, cell in GRID.items()}
    assert "no connection count is large enough" in (said(claim([BELOW], none), pair(0.75)).judgement.reason or "")


def test_every_part_of_a_claim_must_hold() -> None:
    memory = {**RATIO, "quantity": "peak RSS", "at_most": 1.1}
    both = claim([BELOW, memory], PAIR)
    assert said(both, pair(0.75)).word is R
    more = [*records(VIRTUAL, times(750, STEADY), rss_peak_kb=200_000), *pair(1.0)[3:]]
    assert said(both, more).word is C


def test_of_alternatives_one_is_enough() -> None:
    memory = {**RATIO, "quantity": "peak RSS", "at_least": 5}
    either = claim([{**BELOW, "either": "way"}, {**memory, "either": "way"}], PAIR)
    assert said(either, pair(0.75)).word is R
    assert said(either, pair(1.3)).word is C


def test_runs_of_one_condition_are_taken_together_whichever_is_newer() -> None:
    of = claim([BELOW], PAIR)
    low, high = pair(0.75), pair(1.3)
    both, turned = said(of, low, high), said(of, high, low)
    [[seen, _]] = both.parts[0].figures
    assert seen.value == pytest.approx((0.75 * 1.3) ** 0.5, rel=1e-3)
    assert (seen.n, seen.notes) == (6, ("2 runs combined",))
    assert both.judgement == turned.judgement
    assert both.word is OPEN
    assert [archive.id for archive in both.archives] == ["run-0", "run-1"]


def test_what_is_spoiled_or_of_another_condition_is_not_taken_in() -> None:
    of = claim([BELOW], PAIR)
    spoiled = records(VIRTUAL, times(1300, STEADY), flags=[Flag.NOT_ESTABLISHED]) + pair(1.0)[3:]
    assert said(of, spoiled, pair(0.75)).word is R
    changes = ({"protocol": 1}, {"host": builders.run().host.model_copy(update={"cores_usable": 8.0})})
    for change in changes:
        archives = [archive(pair(0.75)), archive(pair(1.3), "other", **change)]
        assert judge_claim(of, ClaimEvidence(archives)).word is R


def test_an_older_build_is_noted_and_not_taken_together_with_this_one() -> None:
    of = claim([BELOW], PAIR)
    older = dataclasses.replace(archive(pair(1.3), "older"), outdated=frozenset({"java-a"}))
    found = judge_claim(of, ClaimEvidence([older, archive(pair(0.75), "of this build")]))
    assert found.word is C
    assert found.parts[0].figures[0][0].notes == ("java-a measured with an earlier build",)


def test_the_runs_that_a_claim_names_first_are_preferred_whatever_others_there_are() -> None:
    of = claim([BELOW], PAIR, runs=["second", "first"])
    first, second = archive(pair(0.75), "first"), archive(pair(1.3), "second", protocol=1)
    known = {"first": first, "second": second, "other": archive(pair(0.75), "other")}
    [found], [without] = (judge_each([of], runs) for runs in (known, {"first": first}))
    assert [archive.id for archive in found.archives] == ["second"]
    assert [archive.id for archive in without.archives] == ["first"]


def test_memory_of_two_runs_is_compared_under_one_protocol() -> None:
    of = claim([{**RATIO, "quantity": "peak RSS", "at_most": 0.9}], PAIR)
    light, heavy = (records(entry, [mb] * 3, name="rss_peak_kb") for entry, mb in ((VIRTUAL, 100.0), (PLATFORM, 200.0)))
    newer, older = archive(light, "newer"), archive(heavy, "older", protocol=3)
    found = judge_claim(of, ClaimEvidence([newer, older]))
    assert (found.word, found.parts[0].figures[0][0].objection) == (
        N,
        "the two were measured under different protocols",
    )


def test_a_claim_is_contradicted_only_by_a_test_that_is_the_article_s() -> None:
    memory = {**RATIO, "quantity": "peak RSS", "at_most": 0.5}
    more = records(VIRTUAL, [200.0] * 3, name="rss_peak_kb") + records(PLATFORM, [100.0] * 3, name="rss_peak_kb")
    unlike, like = claim([memory], PAIR), claim([memory], PAIR, like="Memory does not depend on what differs.")
    assert (said(unlike, more).word, said(unlike, more).test_difference) == (
        ClaimWord.NOT_REPRODUCED,
        "machine and versions differ from the article's",
    )
    assert said(like, more).word is ClaimWord.CONTRADICTED
    speed = claim([BELOW], PAIR, like="All is alike.")
    shared = said(speed, pair(1.3))
    assert (shared.word, shared.test_difference) == (
        C,
        "the generator shares the server's cores, and the figure depends on that",
    )
    apart = dataclasses.replace(
        archive(pair(1.3)),
        machine=dataclasses.replace(archive(pair(1.3)).machine, cores_split="server 0-1, generator 2-3"),
    )
    assert judge_claim(speed, ClaimEvidence([apart])).word is ClaimWord.CONTRADICTED


def test_memory_may_be_compared_between_runs_of_one_machine_only() -> None:
    rule = {**RATIO, "quantity": "peak RSS", "at_most": 1.2}
    of = claim([rule], PAIR)
    first, second = records(VIRTUAL, [9.0] * 3), records(PLATFORM, [9.0] * 3)
    found = said(of, first, second)
    assert found.word is R
    assert found.parts[0].figures[0][0].notes == ("from different runs",)
    host = builders.run().host.model_copy(update={"cores_usable": 8.0})
    apart = judge_claim(of, ClaimEvidence([archive(first), archive(second, "b", host=host)]))
    assert (apart.word, apart.judgement.reason) == (N, "the runs with its cells come from different machines")


def conditioned(made: list[Record], **changes: Any) -> list[Record]:  # noqa: ANN401
    return [r.model_copy(update={"condition": r.condition.model_copy(update=changes)}) for r in made]


@pytest.mark.parametrize(
    ("vary", "changes"),
    [
        ("heap=50m", {"jvm_flags": ["-Xmx50m"]}),
        ("flags=-Xmx50m", {"jvm_flags": ["-Xmx50m"]}),
        ("MAX_THREADS=400", {"env": {"MAX_THREADS": "400"}}),
        ("flags=-XX:+A,-XX:+B", {"jvm_flags": ["-XX:+A", "-XX:+B"]}),
    ],
)
def test_a_condition_is_known_by_what_was_set_however_it_was_asked_for(vary: str, changes: dict[str, Any]) -> None:
    cells = {name: {**cell, "vary": vary} for name, cell in PAIR.items()}
    of = claim([BELOW], cells)
    assert said(of, conditioned(pair(0.75), **changes)).word is R
    assert said(of, pair(0.75)).word is N
    assert said(claim([BELOW], PAIR), conditioned(pair(0.75), **changes)).word is N


def test_what_nothing_here_can_decide_says_why() -> None:
    found = said(claim([], {}, unmeasured="there is no such machine"), pair(1.0))
    assert (found.word, found.judgement.reason) == (N, "there is no such machine")
