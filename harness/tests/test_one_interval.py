"""Tests that a pair in a report, a document and a claim has one ratio and one interval."""

from __future__ import annotations

import itertools
from pathlib import Path

import builders
import numpy as np
import pytest
from claimed import archive
from test_jdbc import WIRE, measured, run_of

from zoo.claims import estimates, evidence
from zoo.claims.estimates import ClaimEvidence, Estimate
from zoo.claims.evidence import Archive, jdbc_case
from zoo.claims.ledger import ClaimPoint
from zoo.claims.quantities import QUANTITIES
from zoo.core.jdbc import JdbcCell
from zoo.core.measurement import LoadWindow
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.scenarios.jdbc import view as text
from zoo.stats import Ratio, databases
from zoo.stats.databases import rows
from zoo.stats.metrics import METRICS, P99, PER_CONNECTION, Metric
from zoo.stats.pairs import Kind, compare

ROUNDS, WINDOWS = 4, 4
TIERS = ("100", "1k", "25k")
VARIANTS = ("platform", "virtual")
SERVERS = [f"java-{letter}" for letter in "abcde"]
NAMES = {quantity.metric: name for name, quantity in QUANTITIES.items()}


def run_of_servers() -> list[Record]:
    """Return pairs of variants with windows in `hello` and without in `sleep`. Each figure varies independently."""
    chance = np.random.default_rng(20_261_127)
    made = []
    for server, variant, tier, number in itertools.product(SERVERS, VARIANTS, TIERS, range(1, ROUNDS + 1)):
        entry, luck = f"{server}:{variant}", chance.lognormal(0, 0.04, 3)
        figures = {"cpu_s_per_million": 20 * luck[0], "rss_peak_kb": round((1e5 + 9 * builders.TIERS[tier]) * luck[1])}
        hello = builders.record(entry, tier, round_number=number, rps=50_000 * luck[2], **figures)
        assert hello.measurement is not None
        windows = [turn(50_000 * luck[2] * by) for by in chance.lognormal(0, 0.05, WINDOWS)]
        hello = hello.model_copy(update={"measurement": hello.measurement.model_copy(update={"windows": windows})})
        made += [hello, builders.record(entry, tier, "sleep", number, **figures)]
    return made


def turn(rate: float) -> LoadWindow:
    return LoadWindow(
        place=0,
        loaded_s=2.0,
        goodput=round(2 * rate),
        cpu_s=1.0,
        generator_cpu_s=1.0,
        p50_us=1_000,
        p99_us=4_000,
        foreign_share=0.0,
    )


def claimed(archive: Archive, a: ClaimPoint, b: ClaimPoint, name: str) -> Estimate:
    found = estimates.estimate_ratio(ClaimEvidence([archive]), (a, b), name)
    assert found.objection is None
    return found


def same(seen: Estimate, printed: Ratio) -> bool:
    return (seen.value, seen.low, seen.high, seen.n) == (printed.value, printed.low, printed.high, printed.rounds)


@pytest.fixture(scope="module")
def servers() -> list[Record]:
    return run_of_servers()


@pytest.mark.parametrize("metric", [m for m in METRICS if m is not P99], ids=lambda m: m.name)
def test_a_claim_about_servers_has_the_figure_of_the_report(servers: list[Record], metric: Metric) -> None:
    made = archive(servers)
    entries = list(dict.fromkeys(record.entry for record in servers))
    pairs = [p for p in compare(entries, servers).of(Kind.MODEL) if metric in p.comparisons]
    known = [(p, c.ratio) for p in pairs for c in p.comparisons.values() if c.metric is metric and c.ratio]
    assert len(known) >= len(SERVERS)
    for pair, printed in known:
        tiers = TIERS if metric is PER_CONNECTION else (pair.tier,)
        a, b = (ClaimPoint(pair.scenario, entry, "", tiers, "") for entry in (pair.a, pair.b))
        assert same(claimed(made, a, b, NAMES[metric]), printed)
        inverse = claimed(made, b, a, NAMES[metric])
        assert (inverse.low, inverse.high) == pytest.approx((1 / (printed.high or 0), 1 / (printed.low or 0)))
        assert (printed.df or 0) > ROUNDS - 1


def test_a_claim_and_a_document_about_databases_have_the_figure_of_the_report(tmp_path: Path) -> None:
    cells = [
        WIRE.model_copy(update={"executor": executor, "database": database})
        for executor in ("virtual", "cached", "fixed-10")
        for database in ("postgresql", "mariadb")
    ]
    store = measured(Store.create(tmp_path, run_of(cells)))
    records, found = store.records(), databases.compare(store.records())
    made = evidence.archive_of_databases(store.run(), records, "run")
    pairs = found.of(Kind.MODEL)
    assert len(pairs) == 2
    for pair in pairs:
        printed = pair.comparisons[databases.OPS].ratio
        assert printed is not None
        assert (printed.df or 0) > printed.rounds - 1
        a, b = (WIRE.model_copy(update={"executor": e, "database": pair.scenario.split()[0]}) for e in (pair.a, pair.b))
        assert same(claimed(made, point(a), point(b), "operations"), printed)
        assert databases.paired_ratio(found, databases.OPS, rows(records)[a], rows(records)[b]) == printed
    assert text.format_gain(pairs[-1].comparisons[databases.OPS].ratio) in text.results(store.run(), records, "run")


def point(cell: JdbcCell) -> ClaimPoint:
    return ClaimPoint("jdbc", cell.executor, jdbc_case(cell), ("",), "")
