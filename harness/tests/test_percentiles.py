"""Tests of the figures wrk prints, compared with what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.scripted_server import ScriptedServer
from waits import PATIENCE_S, stopping

from zoo.load.spec import LoadSpec
from zoo.load.wrk import REPORT, Wrk
from zoo.reference import percentiles
from zoo.reference.percentiles import QUANTILES, WrkOutput

MICROSECONDS = {"µs": 1.0, "ms": 1e3, "s": 1e6}


@pytest.fixture(scope="module")
def stalled() -> WrkOutput:
    """Run wrk against a server that stalls once, so that there is something to correct."""
    wrk = Wrk(options=("--latency",))
    with ScriptedServer() as server:
        spec = LoadSpec(f"{server.url}/stall", 8, 2 * PATIENCE_S, 30)
        enough = stopping(wrk.pids, lambda: server.answered_since_stall > 500)
        done = wrk.execute(spec, enough)
    return WrkOutput(
        entry="java-a:platform",
        connections=8,
        threads=2,
        timeout_s=spec.timeout_whole_s,
        wrk=wrk.version(),
        jdk=None,
        cpu_model="Some CPU",
        cores=2,
        commit="0123456789abcdef",
        started_at="2026-01-02T00:00:00+00:00",
        builds={},
        output=done.output,
        report=json.load(done.open(REPORT)),
    )


def test_what_wrk_prints_are_quantiles_of_the_corrected_histogram(stalled: WrkOutput) -> None:
    assert list(stalled.percentiles) == list(QUANTILES)
    for percent, q in QUANTILES.items():
        value, _, unit = stalled.percentiles[percent].partition(" ")
        assert float(value) * MICROSECONDS[unit] == pytest.approx(stalled.outcome.corrected.quantile(q), rel=0.02)


def test_the_correction_invents_samples_and_the_table_counts_them(stalled: WrkOutput) -> None:
    seen = stalled.outcome
    invented = seen.corrected.total - seen.histogram.total
    assert seen.histogram.total == seen.requests
    assert invented > 0
    text = percentiles.render_output(stalled)
    assert f"wrk invented the other {invented:,} (" in text
    assert [row.count("|") for row in text.splitlines()[:6]] == [5] * 6


def test_it_is_kept_as_it_was(stalled: WrkOutput, tmp_path: Path) -> None:
    path = tmp_path / "printed.json.gz"
    percentiles.write(path, stalled)
    assert percentiles.read(path) == stalled
