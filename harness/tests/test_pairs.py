"""Tests of pairs, noise band and verdicts: which word a run's figures deserve."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from builders import measurement, record
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.capacity import PlanError, parse_percent
from zoo.core.entry_id import aa_id, is_aa, without_aa
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.stats import Ratio, student_ratio
from zoo.stats.extra_rounds import find_needs
from zoo.stats.metrics import CPU, P99, PEAK_RSS, PER_CONNECTION, REQUESTS, Metric, Word, cpu_per_million
from zoo.stats.pair_interval import CONFIDENCE, from_error
from zoo.stats.pairs import Band, Kind, Pair, RunPairs, compare, entry_pairs, noise_band
from zoo.stats.verdict import MARGIN, REASONABLE, Verdict, judge, rounds_to_decide

PLATFORM, VIRTUAL, BARE = "java-a:platform", "java-a:virtual", "rust-n:bare"
ENTRIES = [PLATFORM, VIRTUAL, BARE]
STEADY = (1.0, 1.001, 0.999, 1.0005, 0.9995)


def cells(entry: str, factor: float = 1.0, wobble: Sequence[float] = STEADY, **changes: Any) -> list[Record]:  # noqa: ANN401
    """Return one entry over as many rounds as there are values in `wobble`, with requests per second times `factor`."""
    return [record(entry, round_number=n, rps=50_000 * factor * w, **changes) for n, w in enumerate(wobble, 1)]


def only(compared: RunPairs, kind: Kind = Kind.MODEL) -> Pair:
    (pair,) = compared.of(kind)
    return pair


def verdict(records: list[Record], metric: Metric = REQUESTS, reference: str | None = None) -> Verdict:
    return only(compare(ENTRIES, records, reference)).comparisons[metric].verdict


# --- pairs


def test_the_named_pairs_are_virtual_over_platform_and_others_are_held_against_the_first() -> None:
    models = {
        "t:platform": "platform-thread",
        "t:virtual": "virtual-thread",
        "t:async": "async-servlet",
        "v:eventloop": "event-loop",
        "v:platform": "platform-thread",
        "v:virtual": "virtual-thread",
        "v:verticle": "virtual-thread",
        "r:async": "async-task",
        "r:async.again": "async-task",
    }
    entries = [*(entry for entry in models if entry != "r:async.again"), "x:lost"]
    assert entry_pairs(entries, models) == [
        (Kind.AA, "r:async.again", "r:async"),
        (Kind.MODEL, "t:virtual", "t:platform"),
        (Kind.VARIANT, "t:async", "t:platform"),
        (Kind.MODEL, "v:virtual", "v:platform"),
        (Kind.VARIANT, "v:platform", "v:eventloop"),
        (Kind.VARIANT, "v:virtual", "v:eventloop"),
        (Kind.VARIANT, "v:verticle", "v:eventloop"),
    ]


def test_a_guest_is_held_against_every_entry_of_the_zoo_and_its_own_default() -> None:
    models = {
        "t:platform": "platform-thread",
        "r:async": "async-task",
        "target:9000": "unknown",
        "g:a": "x",
        "g:b": "x",
    }
    assert entry_pairs(list(models), models, ["target:9000", "g:a", "g:b"]) == [
        (Kind.GUEST, "target:9000", "t:platform"),
        (Kind.GUEST, "target:9000", "r:async"),
        (Kind.GUEST, "g:a", "t:platform"),
        (Kind.GUEST, "g:a", "r:async"),
        (Kind.GUEST, "g:b", "t:platform"),
        (Kind.GUEST, "g:b", "r:async"),
        (Kind.VARIANT, "g:b", "g:a"),
    ]


def test_a_twin_is_named_after_its_entry() -> None:
    assert (aa_id(BARE), without_aa(aa_id(BARE)), without_aa(BARE)) == ("rust-n:bare.again", BARE, BARE)
    assert (is_aa(aa_id(BARE)), is_aa(BARE)) == (True, False)


def test_rounds_are_matched_by_number() -> None:
    records = [
        *(record(VIRTUAL, round_number=n, rps=rps) for n, rps in [(1, 200.0), (2, 400.0), (3, 800.0)]),
        *(record(PLATFORM, round_number=n, rps=rps) for n, rps in [(1, 100.0), (2, 200.0), (4, 50.0)]),
    ]
    pair = only(compare(ENTRIES, records))
    ratio = pair.comparisons[REQUESTS].ratio
    assert (pair.a, pair.b, pair.scenario, pair.tier, pair.rounds) == (VIRTUAL, PLATFORM, "hello", "1k", 2)
    assert ratio is not None
    assert ratio.value == pytest.approx(2)


def test_pairs_come_by_scenario_and_size() -> None:
    order = [("25k", "hello"), ("100", "sleep"), ("100", "hello")]
    found = compare(ENTRIES, [record(e, t, s) for t, s in order for e in (VIRTUAL, PLATFORM)]).pairs
    assert [(p.scenario, p.tier) for p in found] == [("hello", "100"), ("hello", "25k"), ("sleep", "100")]


def test_the_record_written_last_wins() -> None:
    records = [*cells(VIRTUAL), *cells(PLATFORM, 9.0), *cells(PLATFORM)]
    assert verdict(records).word is Word.SAME


def test_memory_per_connection_is_compared_once_where_tiers_end() -> None:
    def holding(entry: str, kb: int) -> list[Record]:
        return [
            record(entry, t, "sleep", n, actual=c, rss_peak_kb=60_000 + kb * c + n)
            for n in (1, 2, 3)
            for t, c in (("100", 100), ("1k", 1_000), ("25k", 19_500))
        ]

    found = compare(ENTRIES, [*holding(VIRTUAL, 14), *holding(PLATFORM, 28)]).pairs
    assert [PER_CONNECTION in p.comparisons for p in found] == [False, False, True]
    ratio = found[-1].comparisons[PER_CONNECTION].ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(0.5, rel=0.01)
    assert found[-1].comparisons[PER_CONNECTION].verdict.word is Word.LESS
    assert PER_CONNECTION not in only(compare(ENTRIES, [*cells(VIRTUAL), *cells(PLATFORM)])).comparisons


# --- wording


@pytest.mark.parametrize(
    ("changes", "metric", "word"),
    [
        ({"factor": 1.2}, REQUESTS, Word.FASTER),
        ({"factor": 0.9}, REQUESTS, Word.SLOWER),
        ({}, REQUESTS, Word.SAME),
        ({"p99_us": 8_400}, P99, Word.SLOWER),
        ({"p99_us": 2_100}, P99, Word.FASTER),
        ({"cpu_s_per_million": 30.0}, CPU, Word.MORE),
        ({"rss_peak_kb": 40_000}, PEAK_RSS, Word.LESS),
    ],
)
def test_a_clear_difference_has_its_word(changes: dict[str, Any], metric: Metric, word: Word) -> None:
    assert verdict([*cells(VIRTUAL, **changes), *cells(PLATFORM)], metric).word is word


def test_too_much_noise_is_undecided_with_its_size() -> None:
    found = verdict([*cells(VIRTUAL, wobble=(1.0, 1.3, 0.8)), *cells(PLATFORM, wobble=(1.1, 0.9, 1.0))])
    assert found.word is Word.UNCLEAR
    assert re.fullmatch(r"noise too large: ±\d+%", found.why or "")
    assert found.more is None


def test_one_round_has_no_verdict() -> None:
    found = verdict([record(VIRTUAL), record(PLATFORM)])
    assert found.text == "no clear difference (one round has no interval)"


def ratio(value: float, sd: float, n: int = 3, df: float = 10.0) -> Ratio:
    return from_error(math.log(value), sd, n, df)


@pytest.mark.parametrize(
    ("ratio", "rejected", "word"),
    [
        (ratio(1.03, 0.01), True, Word.SAME),  # surely within 5%, although it differs
        (ratio(1.03, 0.01), False, Word.SAME),
        (ratio(1.08, 0.02), True, Word.FASTER),
        (ratio(0.92, 0.02), True, Word.SLOWER),
        (ratio(1.08, 0.02), False, Word.UNCLEAR),  # one of many
        (ratio(1.00, 0.08), False, Word.UNCLEAR),
    ],
)
def test_a_word_follows_from_interval_and_correction(ratio: Ratio, rejected: bool, word: Word) -> None:
    found = judge(REQUESTS, ratio, rejected=rejected, family=18)
    assert found.word is word
    assert (found.why is None) is (word is not Word.UNCLEAR)


@pytest.mark.parametrize(
    ("ratio", "why"),
    [
        (ratio(0.90, 0.10), "about 5 more rounds would decide"),
        (ratio(1.01, 0.05), "about 5 more rounds would decide"),
        (ratio(1.04, 0.30), "noise too large: ±47%"),
    ],
)
def test_what_would_decide_an_undecided_comparison(ratio: Ratio, why: str) -> None:
    assert judge(REQUESTS, ratio, rejected=False, family=4).why == why


def test_a_difference_of_a_single_interval_is_probable() -> None:
    assert judge(REQUESTS, ratio(0.90, 0.06), rejected=False, family=4).label == "probably slower"
    assert judge(REQUESTS, ratio(0.90, 0.06), rejected=True, family=4).label == "slower"
    assert judge(REQUESTS, ratio(0.90, 0.20), rejected=False, family=4).label == "no clear difference"


@given(st.floats(0.5, 2.0), st.floats(0.001, 0.5), st.integers(2, 8), st.integers(1, 20))
def test_the_rounds_that_would_decide_do_decide(value: float, sd: float, n: int, family: int) -> None:
    # With so many rounds and the same mean and variance, the comparison is decided. With one fewer, it is not.
    prior = 5.0
    seen = ratio(value, sd, n, prior + n - 1)
    rounds = rounds_to_decide(seen, family)
    if rounds > n + REASONABLE:
        return
    then = ratio(value, sd, rounds, prior + rounds - 1)
    assert then.p is not None
    found = judge(REQUESTS, then, rejected=then.p * family <= 1 - CONFIDENCE, family=family)
    assert found.word in {Word.SAME, Word.FASTER, Word.SLOWER}


def test_many_comparisons_make_a_word_harder_to_earn() -> None:
    wobble = (1.00, 1.02, 0.985, 1.01)
    one = [*cells(VIRTUAL, 1.05, wobble), *cells(PLATFORM, 1.0, wobble[::-1])]
    assert verdict(one).word is Word.FASTER
    more = [
        record(e, tier, "hello", n, rps=1_000.0 * w)
        for tier in ("100", "25k")
        for e, wobbles in ((VIRTUAL, wobble), (PLATFORM, wobble[::-1]))
        for n, w in enumerate(wobbles, 1)
    ]
    first = next(p for p in compare(ENTRIES, [*one, *more]).pairs if p.tier == "1k").comparisons[REQUESTS]
    assert first.ratio is not None
    assert first.ratio.p is not None
    assert first.adjusted_p == pytest.approx(3 * first.ratio.p)


def test_other_pairs_do_not_make_the_named_ones_harder() -> None:
    entries = [PLATFORM, VIRTUAL, "java-a:other"]
    both = compare(entries, [*cells(VIRTUAL, 1.1), *cells(PLATFORM, wobble=STEADY[::-1]), *cells("java-a:other", 0.8)])
    named = only(both).comparisons[REQUESTS]
    assert named.ratio is not None
    assert named.adjusted_p == named.ratio.p
    assert only(both, Kind.VARIANT).comparisons[REQUESTS].verdict.word is Word.SLOWER


# --- bounds


def bounds(a: Sequence[Flag], b: Sequence[Flag], factor: float = 1.2) -> Verdict:
    return verdict([*cells(VIRTUAL, factor, flags=a), *cells(PLATFORM, flags=b)])


def test_two_lower_bounds_of_shared_cores_are_compared_as_such_and_cpu_stands() -> None:
    shared = [Flag.SHARED_CORES]
    records = [*cells(VIRTUAL, 1.2, cpu_s_per_million=30.0, flags=shared), *cells(PLATFORM, flags=shared)]
    assert verdict(records).text == "faster, on shared cores"
    assert verdict(records, CPU).text == "more"


def test_two_figures_that_the_generator_set_are_not_ranked() -> None:
    found = bounds([Flag.GENERATOR_SATURATED], [Flag.GENERATOR_SATURATED])
    assert found.text == "not measured (both are lower bounds: generator_saturated)"


def test_a_lower_bound_ahead_of_a_value_is_ahead_by_at_least_that() -> None:
    assert bounds([Flag.GENERATOR_SATURATED], []).text == "faster, by at least this"
    assert bounds([], [Flag.GENERATOR_SATURATED], factor=0.8).text == "slower, by at least this"


@pytest.mark.parametrize("factor", [0.8, 1.0])
def test_a_lower_bound_that_is_not_ahead_is_not_ranked(factor: float) -> None:
    assert bounds([Flag.GENERATOR_SATURATED], [], factor).word is Word.NOT_MEASURED
    assert bounds([], [Flag.GENERATOR_SATURATED], 1 / factor).word is Word.NOT_MEASURED


def test_what_is_near_the_bare_reference_is_a_lower_bound() -> None:
    records = [*cells(VIRTUAL, 1.2), *cells(PLATFORM), *cells(BARE, 1.25)]
    assert only(compare(ENTRIES, records)).lower_bound is False
    assert only(compare(ENTRIES, records, BARE)).lower_bound is True
    assert verdict(records, reference=BARE).at_least


def test_one_unlucky_round_of_the_reference_makes_no_lower_bound() -> None:
    unlucky = cells(BARE, 3.0, (1.0, 1.0, 0.3, 1.0, 1.0))
    records = [*cells(VIRTUAL, 1.2), *cells(PLATFORM), *unlucky]
    assert not verdict(records, reference=BARE).at_least
    assert verdict(records, reference=BARE).word is Word.FASTER


# --- not measured


def test_a_side_that_failed_is_named_with_its_reason() -> None:
    found = verdict([record(VIRTUAL, failure="ended with exit code 1"), record(PLATFORM)])
    assert found.text == "not measured (virtual: ended with exit code 1)"


def test_a_round_that_failed_is_told_beside_the_verdict_of_the_others() -> None:
    records = [*cells(VIRTUAL, 1.2), *cells(PLATFORM)[1:], record(PLATFORM, failure="gone")]
    pair = only(compare(ENTRIES, records))
    assert (pair.rounds, pair.lost) == (4, [f"{PLATFORM} failed in round 1: gone"])
    assert pair.comparisons[REQUESTS].verdict.word is Word.FASTER


def test_rounds_that_no_side_shares_and_other_counts_are_not_compared() -> None:
    assert verdict([record(VIRTUAL), record(PLATFORM, round_number=2)]).why == "no round measured both"
    other = [record(VIRTUAL, "25k", actual=19_500), record(PLATFORM, "25k")]
    assert verdict(other).why == "ran at different connection counts: 19,500, 25,000"


@pytest.mark.parametrize(
    ("scenario", "flag", "spoiled"),
    [
        ("sleep", Flag.POOL_CEILING, {REQUESTS, P99, PEAK_RSS}),  # a window of waits counts them
        ("hello", Flag.NOT_ESTABLISHED, {REQUESTS, P99, CPU, PEAK_RSS}),
        ("hello", Flag.WARMUP_SHORT, set()),
    ],
)
def test_a_flag_spoils_the_metrics_it_touches(scenario: str, flag: Flag, spoiled: set[Metric]) -> None:
    records = [
        record(entry, "1k", scenario, n, flags=[flag] if entry == PLATFORM else [])
        for entry in (VIRTUAL, PLATFORM)
        for n in (1, 2, 3)
    ]
    pair = only(compare(ENTRIES, records))
    words = {metric: c.verdict.word for metric, c in pair.comparisons.items() if metric is not PER_CONNECTION}
    assert {metric for metric, word in words.items() if word is Word.NOT_MEASURED} == spoiled


def test_a_quantile_of_a_window_that_was_too_short_for_some_requests_is_not_compared() -> None:
    def slow(record_: Record, max_us: int) -> Record:
        seen = record_.measurement
        assert seen is not None
        latency = seen.load.latency.model_copy(update={"max_us": max_us})
        load = seen.load.model_copy(update={"latency": latency})
        return record_.model_copy(update={"measurement": seen.model_copy(update={"load": load})})

    long = [slow(r, 4_100_000) for r in cells(PLATFORM)]  # of 8 s
    assert verdict([*cells(VIRTUAL), *long], P99).why == (
        "platform: some requests took over half of the window, and the window misses longer ones"
    )
    assert verdict([*cells(VIRTUAL), *long], REQUESTS).word is Word.SAME
    assert verdict([*cells(VIRTUAL), *(slow(r, 3_900_000) for r in cells(PLATFORM))], P99).word is Word.SAME


def test_a_figure_that_nobody_saw_is_not_measured() -> None:
    assert verdict([record(VIRTUAL, p99_us=None), record(PLATFORM)], P99).text == (
        "not measured (too few samples for a figure)"
    )


def test_what_a_process_uses_is_not_measured_where_nobody_said_which_it_is() -> None:
    records = [*cells(VIRTUAL, known=False), *cells(PLATFORM, wobble=STEADY[::-1])]
    for metric in (CPU, PEAK_RSS):
        assert verdict(records, metric).text == "not measured (virtual: its process is unknown (PID= names it))"
    assert verdict(records).word is Word.SAME


# --- A/A


def twice(rps: Sequence[tuple[float, float]], tier: str = "1k", heap_used_kb: int | None = None) -> list[Record]:
    return [
        record(entry, tier, round_number=n, rps=value, heap_used_kb=heap_used_kb)
        for n, both in enumerate(rps, 1)
        for entry, value in zip((aa_id(BARE), BARE), both, strict=True)
    ]


def test_the_band_is_taken_around_no_difference_over_all_tiers() -> None:
    # log-ratios ln 1.1, -ln 1.1 at one tier and 0, 0 at the other: s² = 2 ln² 1.1 / 4
    records = [*twice([(110, 100), (100, 110)]), *twice([(100, 100), (70, 70)], "100")]
    found = compare(ENTRIES, records)
    assert [(p.kind, p.a, p.b) for p in found.pairs] == [(Kind.AA, "rust-n:bare.again", BARE)] * 2
    band = found.bands["hello", REQUESTS, False]
    assert band.sd_log == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert (band.rounds, band.cells) == (2, 2)
    # t(.975, 2) = 4.302653
    assert band.factor(8) == pytest.approx(math.exp(4.302653 * band.sd_log / math.sqrt(8)))


def test_native_and_jvm_have_bands_of_their_own_and_one_round_has_none() -> None:
    records = twice([(110, 100), (100, 100)], heap_used_kb=30_000)
    assert {jvm for _, _, jvm in compare(ENTRIES, records).bands} == {True}
    assert compare(ENTRIES, twice([(110, 100)])).bands == {}


def test_the_noise_of_another_connection_count_vetoes_nothing() -> None:
    pair = [*cells(VIRTUAL, 1.10), *cells(PLATFORM, wobble=STEADY[::-1])]
    noise = twice([(200, 100), (100, 200), (190, 100), (100, 180), (100, 210)], "25k")
    assert verdict(pair).word is Word.FASTER
    assert verdict([*pair, *noise]).word is Word.FASTER


@pytest.mark.parametrize("n", [3, 5, 8])
def test_a_program_stays_inside_its_band_in_95_of_100_runs(n: int) -> None:
    random = np.random.default_rng(20260301 + n)
    runs, tiers = 3_000, 3
    lives = random.normal(0, 0.03, size=(runs, n, 1))  # shared by the tiers of a round
    aa = lives + random.normal(0, 0.01, size=(runs, n, tiers))
    pair = random.normal(0, math.hypot(0.03, 0.01), size=(runs, n))
    inside = 0
    for one, other in zip(aa, pair, strict=True):
        band = noise_band([one[:, t].tolist() for t in range(tiers)])
        value = student_ratio(other.tolist()).value
        inside += 1 / band.factor(n) <= value <= band.factor(n)
    assert 0.93 <= inside / runs <= 0.97


def test_identical_programs_are_called_different_in_fewer_than_5_of_100_runs_and_5_percent_is_found() -> None:
    random = np.random.default_rng(20260302)
    runs, n = 200, 8

    def run(factor: float) -> Word:
        noise = random.lognormal(0, 0.02, size=(2, n))
        records = [*cells(VIRTUAL, factor, noise[0].tolist()), *cells(PLATFORM, 1.0, noise[1].tolist())]
        return verdict(records).word

    alike, slowed = [run(1.0) for _ in range(runs)], [run(0.95) for _ in range(runs)]
    assert sum(w in (Word.FASTER, Word.SLOWER) for w in alike) / runs < 0.08
    assert sum(w is Word.SLOWER for w in slowed) / runs > 0.90
    assert sum(w is Word.SAME for w in alike) / runs > 0.80


def test_the_margin_is_the_one_that_the_documents_name() -> None:
    assert MARGIN == 0.05
    assert Band(0.0, 3, 1).factor(3) == 1


# --- pilot


@pytest.mark.parametrize(("text", "value"), [("3%", 0.03), ("0.03", 0.03), ("2.5 %", 0.025), ("50%", 0.5)])
def test_a_precision_is_read_as_a_person_means_it(text: str, value: float) -> None:
    assert parse_percent(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "%", "0", "-3%", "60%", "3", "three", "3%%"])
def test_what_is_no_precision_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="a precision must be a percentage such as 3%"):
        parse_percent(text)


def test_a_pilot_says_what_each_named_pair_needs() -> None:
    noise = np.random.default_rng(20260303).lognormal(0, 0.05, size=(2, 4))
    records = [*cells(VIRTUAL, 1.0, noise[0].tolist()), *cells(PLATFORM, 1.0, noise[1].tolist()), *cells(BARE)]
    found = {n.metric: n for n in find_needs(compare(ENTRIES, records).pairs, 0.03)}
    assert set(found) == {REQUESTS, CPU}
    need = found[REQUESTS]
    assert (need.a, need.b) == (VIRTUAL, PLATFORM)
    assert 2 < need.expected < need.assured
    assert (found[CPU].expected, found[CPU].assured) == (2, 2)  # its figures never changed
    assert find_needs(compare(ENTRIES, [record(VIRTUAL), record(PLATFORM)]).pairs, 0.03) == []


@pytest.mark.parametrize(
    ("cpu_s", "requests", "expected"),
    [(0.19, 400_000, None), (0.2, 400_000, 21.5), (8.6, 999, None), (8.6, 1_000, 21.5)],
)
def test_cpu_per_request_needs_enough_cpu_time_and_requests(
    cpu_s: float, requests: int, expected: float | None
) -> None:
    seen = measurement(requests=requests)
    assert seen.work is not None
    assert cpu_per_million(seen.model_copy(update={"work": seen.work.model_copy(update={"cpu_s": cpu_s})})) == expected
