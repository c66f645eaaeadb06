"""The first sentences of a scenario's report: its own answer, by server or for all entries. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from zoo.analysis.held import costs
from zoo.analysis.metrics import REQUESTS, Word
from zoo.analysis.pairs import Kind, Pair
from zoo.model.entry_id import name_of, plain, server_of
from zoo.model.record import Record
from zoo.model.trial_results import AbResult, HeapResult, RampResult, ScaleResult, StartupResult
from zoo.report.arrival_rates import answered, newest
from zoo.report.cells import variant
from zoo.report.formatting import format_number
from zoo.report.text.wording import MODELS, listed, ranged
from zoo.report.trial_rows import levels, results

R = TypeVar("R")


def answers(records: Sequence[Record], pairs: Iterable[Pair]) -> list[str]:
    """Return the answers of all scenarios that have one of their own, in the order listed here.

    `pairs` compare the entries of the records.
    """
    made = []
    for name, answer in ANSWERS.items():
        mine = [record for record in records if record.scenario == name]
        if mine:
            made += answer(mine)
    return [*made, *_swept(pairs, {record.entry: record.model for record in records})]


def _ramp(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = _each(records, level, RampResult)
        for name, said in _by_server(records, {entry: _t95(each) for entry, each in found.items()}).items():
            one = next(each[0] for entry, each in found.items() if server_of(entry) == name)
            made.append(
                f"{name}, {one.connections:,} connections at once whose requests wait {one.delay_s:g} s; "
                f"95 % are served: {said}."
            )
    return made


def _t95(each: Sequence[RampResult]) -> str:
    known = [r.t95_s for r in each if r.t95_s is not None]
    if len(known) < len(each):
        return f"not within {each[0].duration_s:g} s by"
    return f"after {format_number(statistics.median(known))} s by"


def _open(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        mine = [record for record in records if (record.asked, record.tier) == level]
        found = newest(mine)
        shares = {entry: f"{share.text}{',' if share.late else ''} by" for entry, share in answered(mine).items()}
        for name, said in _by_server(records, shares).items():
            one = next(result for entry, result in found.items() if server_of(entry) == name)
            made.append(
                f"{name}, {one.rate:,} requests a second that wait {one.delay_s:g} s each; "
                f"answered within {one.timeout_s:g} s: {said}."
            )
    return made


def _rate(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = newest([record for record in records if (record.asked, record.tier) == level])
        late = {e: r.latency.p99_us / 1000 for e, r in found.items() if r.latency.p99_us is not None}
        if late:
            rate = next(iter(found.values())).rate
            made.append(f"p99 at {rate:,} requests a second, ms: {ranged(late)}.")
    return made


def _held(records: Sequence[Record]) -> list[str]:
    of: dict[str, dict[str, float]] = {"": {}}
    for (entry, name), cost in costs(records).items():
        if name == "rss":
            of.setdefault(name_of(entry), {})[plain(entry)] = cost.interval.value
    told = [(f"with {name} " if name else "") + ranged(found) for name, found in of.items() if found]
    return [f"Memory per waiting request, kB: {'; '.join(told)}."] if told else []


def _heap(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = _each(records, level, HeapResult)
        known = {e: [r.smallest_mb for r in each if r.smallest_mb is not None] for e, each in found.items()}
        smallest = {entry: statistics.median(values) for entry, values in known.items() if values}
        if smallest:
            made.append(f"Smallest heap that holds {level[1]} connections, MB: {ranged(smallest)}.")
    return made


def _scale(records: Sequence[Record]) -> list[str]:
    return [
        f"{entry}: {each[-1].told}."
        for level in levels(records)
        for entry, each in sorted(_each(records, level, ScaleResult).items())
    ]


def _startup(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = _each(records, level, StartupResult)
        times = {e: [1000 * s for r in each for s in r.first_answer_s] for e, each in found.items()}
        medians = {entry: round(statistics.median(values)) for entry, values in times.items() if values}
        if medians:
            way = level[0].partition(" ")[2]
            made.append(f"From start to first answer ({way}), ms: {ranged(medians)}.")
    return made


def _ab(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = _each(records, level, AbResult)
        speeds = {entry: statistics.median(r.requests_per_s for r in each) for entry, each in found.items()}
        if speeds:
            made.append(f"Requests a second by ApacheBench at {level[1]} connections: {ranged(speeds)}.")
    return made


def _swept(pairs: Iterable[Pair], models: Mapping[str, str]) -> list[str]:
    """Of scenarios with cases of their own: who serves more requests a second, counted over the cells in which two
    variants were measured; those between which nothing is decided in one sentence. `models` are the entries' own."""
    words: dict[tuple[str, str, str], Counter[str]] = {}
    for pair in pairs:
        scenario, compared = pair.scenario.partition(" ")[0], pair.comparisons.get(REQUESTS)
        if scenario in SWEPT and pair.kind in (Kind.MODEL, Kind.VARIANT) and compared and compared.ratio:
            words.setdefault((scenario, pair.a, pair.b), Counter())[compared.verdict.word.value] += 1
    made: list[str] = []
    undecided: dict[str, None] = {}
    none_decided = all(UNDECIDED.issuperset(counts) for counts in words.values())
    for (_, a, b), counts in words.items():
        alike = models[a] == models[b]
        first, second = (variant(e) if alike else MODELS.get(models[e], variant(e)) for e in (a, b))
        if UNDECIDED.issuperset(counts):
            undecided[server_of(a) if none_decided else f"{first} and {second} in {server_of(a)}"] = None
            continue
        told = listed([f"{word} in {count}" for word, count in counts.most_common()])
        made.append(f"{server_of(a)}, requests a second of {first} over {second}: {told} of {counts.total()} cells.")
    if undecided:
        between = f"the variants of {listed(list(undecided))}" if none_decided else listed(list(undecided))
        made.append(f"Requests a second: nothing is decided between {between}.")
    return made


SWEPT = ("service", "cpu", "bytes")
UNDECIDED = {Word.OPEN.value, Word.NOT_MEASURED.value}

ANSWERS: dict[str, Callable[[Sequence[Record]], list[str]]] = {
    "ramp": _ramp,
    "held": _held,
    "heap": _heap,
    "scale": _scale,
    "open": _open,
    "rate": _rate,
    "ab": _ab,
    "startup": _startup,
}


def _each(records: Sequence[Record], level: tuple[str, str], kind: type[R]) -> dict[str, list[R]]:
    return {entry: [result for _, result in of] for entry, of in results(records, level, kind).items()}


def _by_server(records: Sequence[Record], said: Mapping[str, str]) -> dict[str, str]:
    """What is said of its variants, each followed by its thread model, or by its name where two have one model."""
    models = {record.entry: record.model for record in records}
    made: dict[str, list[str]] = {}
    for entry, words in said.items():
        alone = sum(models[e] == models[entry] for e in said if server_of(e) == server_of(entry)) == 1
        by = MODELS.get(models[entry], variant(entry)) if alone else variant(entry)
        made.setdefault(server_of(entry), []).append(f"{words} {by}")
    return {name: listed(parts) for name, parts in made.items()}
