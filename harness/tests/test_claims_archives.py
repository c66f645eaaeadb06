"""Tests of runs that measured programs without a server as evidence: the bare JVM and databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import builders
import pytest
from claimed import claim
from test_jdbc import WIRE, flood_output, output

from zoo.bench.bare_jvm import ARTICLE, record_of
from zoo.bench.readings import Readings
from zoo.claims.ledger import Claim
from zoo.claims.quantities import QUANTITIES
from zoo.claims.verdicts import ClaimVerdict, ClaimWord, judge_each
from zoo.core.run import JvmRun
from zoo.core.samples import Samples
from zoo.reference import claims_page
from zoo.report.text.soak_and_jvm import jvm_section
from zoo.sample.jcmd import parse_heap_used, parse_native_memory
from zoo.sample.proc import Snapshot
from zoo.sample.requests import Info
from zoo.scenarios.jdbc import launcher
from zoo.scenarios.jdbc.spec import find_profile

STARTED = "2026-01-02T03:04:05+00:00"

SUMMARY = """4711:

Native Memory Tracking:

(Omitting categories weighting less than 1KB)

Total: reserved=1893452KB, committed=189452KB
       malloc: 36208KB #103284

-                 Java Heap (reserved=503808KB, committed=32768KB)
                            (mmap: reserved=503808KB, committed=32768KB)

-                    Thread (reserved=231606KB, committed=10874KB)
                            (threads #226)
                            (stack: reserved=230504KB, committed=9772KB)
"""


def written(folder: Path, run: dict[str, Any], lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    (folder / "records.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def described(kind: str) -> dict[str, Any]:
    host = builders.run().host.model_dump(mode="json")
    return {
        "kind": kind,
        "protocol": 1,
        "id": f"a-{kind}",
        "started_at": STARTED,
        "commit": None,
        "jdk": "25",
        "host": host,
    }


def databases(warmup_s: int = 5, iteration_s: int = 5, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    times = {"rounds": 3, "warmups": 2, "warmup_s": warmup_s, "iterations": 3, "iteration_s": iteration_s}
    facts = {"finished_at": STARTED, "dirty": False, "harness": "0.1.0"}
    plan = {
        "cells": [WIRE.model_dump()],
        "floods": [],
        "seed": 1,
        "runtime": "process",
        "profile": {"name": "known", **times},
    }
    return {**described("jdbc"), **facts, "plan": plan, **changes}


def said(of: Claim, folder: Path) -> ClaimVerdict:
    found, left = claims_page.read_runs({"a-run": folder}, folder.parent, builders.catalog())
    assert left == []
    [only] = judge_each([of], found)
    return only


def jvm(folder: Path) -> Path:
    """Return a run of the bare JVM: 44 MB by default and 41 MB with the article's flags, each started six times."""
    made = [
        record_of(
            flags,
            took_s=[0.040 + n / 1000 for n in range(6)],
            rest=dict.fromkeys(("rss_kb", "peak_kb", "anon_kb"), [kb] * 6),
        )
        for flags, kb in (((), 44 * 1024), (ARTICLE, 41 * 1024))
    ]
    lines = [one.model_dump(mode="json") for one in made]
    run = JvmRun.model_validate({**described("jvm"), "harness": "0.1.0", "dirty": None})
    return written(folder / "jvm", run.model_dump(mode="json"), lines)


def test_the_jvm_with_no_server_is_judged_by_its_starts(tmp_path: Path) -> None:
    cells = {
        "small": {"scenario": "jvm", "entry": "java-hello", "case": "-Xmx15m -Xms15m"},
        "default": {"scenario": "jvm", "entry": "java-hello", "case": "default"},
    }
    bound = {"rule": "bound", "quantity": "RSS at rest", "of": "default", "at_least": 33, "at_most": 55}
    ratio = {"rule": "ratio", "quantity": "RSS at rest", "of": "small", "over": "default", "at_most": 1}
    took = {"rule": "bound", "quantity": "start and exit", "of": "small", "at_most": 84}
    found = said(claim([bound, ratio, took], cells), jvm(tmp_path))
    assert [part.judgement.word for part in found.parts] == [ClaimWord.HOLDS] * 3
    assert found.parts[2].figures[0][0].n == 6


def test_a_jvm_run_tells_medians_with_intervals() -> None:
    record = record_of((), watched=True, rest={"rss_kb": [2048] * 6, "peak_kb": [4096] * 6, "anon_kb": [1024] * 6})
    (table,) = jvm_section("Java 25", [record]).tables
    assert table.rows == [["default, watched", "–", "2", "4", "1", "–"]]


def test_of_parked_threads_a_jvm_run_tells_their_heap_alone() -> None:
    record = record_of(("-Xx",), parked_kb=[0.5] * 6)
    (table,) = jvm_section("Java 25", [record]).tables
    assert table.rows == [["-Xx, parked", "–", "–", "–", "–", "0.5"]]
    assert QUANTITIES["heap per parked thread"].read(record.model_dump()) == [0.5] * 6


def test_a_difference_of_starts_is_that_of_their_means(tmp_path: Path) -> None:
    cells = {
        "more": {"scenario": "jvm", "entry": "java-hello", "case": "default"},
        "less": {"scenario": "jvm", "entry": "java-hello", "case": "-Xmx15m -Xms15m"},
    }
    rule = {"rule": "difference", "quantity": "RSS at rest", "of": "more", "less": "less", "at_least": 2, "at_most": 4}
    found = said(claim([rule], cells), jvm(tmp_path))
    assert [part.judgement.word for part in found.parts] == [ClaimWord.HOLDS]
    assert found.parts[0].figures[0][0].value == pytest.approx(3)


def jdbc(executor: str, ops: float, number: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    cell = WIRE.model_copy(update={"executor": executor, "latency": "none"})
    printed = output(launcher.arguments(cell, find_profile("short"), "out.json"), ops)
    result = launcher.measurement(json.dumps(printed), cell, "raw")
    return {
        "kind": "jdbc",
        "protocol": 1,
        "cell": cell.model_dump(mode="json"),
        "round": number,
        "position": 0,
        "started_at": STARTED,
        "measurement": result.model_dump(mode="json", exclude={"kind"}),
        **changes,
    }


def test_databases_are_judged_by_executor(tmp_path: Path) -> None:
    lines = [jdbc(e, ops + n, n) for e, ops in (("virtual", 5000.0), ("cached", 2000.0)) for n in (1, 2, 3)]
    case = "postgresql find-by-code 10/100 none"
    cells = {e: {"scenario": "jdbc", "entry": e, "case": case} for e in ("virtual", "cached")}
    ratio = {
        "rule": "ratio",
        "quantity": "operations",
        "of": "virtual",
        "over": "cached",
        "at_least": 1.7,
        "at_most": 3.8,
    }
    assert said(claim([ratio], cells), written(tmp_path / "jdbc", databases(), lines)).word is ClaimWord.HOLDS
    lost = {"measurement": None, "failure": {"kind": "crashed", "message": "the database ended"}}
    spoiled = [*lines, jdbc("cached", 0.0, 3, **lost)]
    found = said(claim([ratio], cells), written(tmp_path / "spoiled", databases(), spoiled))
    assert (found.word, found.judgement.reason) == (
        ClaimWord.NOT_MEASURED,
        "cached failed in round 3: the database ended",
    )


def virtual_over_cached() -> Claim:
    """Return the claim that virtual threads are at least as good."""
    case = "postgresql find-by-code 10/100 none"
    cells = {e: {"scenario": "jdbc", "entry": e, "case": case} for e in ("virtual", "cached")}
    return claim([{"rule": "ratio", "quantity": "operations", "of": "virtual", "over": "cached", "at_least": 1}], cells)


def test_databases_answer_to_the_number_of_their_jdk(tmp_path: Path) -> None:
    lines = [jdbc("virtual", 5000.0 + n, n) for n in (1, 2, 3)]
    folder = written(tmp_path / "jdbc", databases(jdk="21.0.8+9"), lines)
    cell = {"scenario": "jdbc", "entry": "virtual", "case": "postgresql find-by-code 10/100 none"}
    rule = {"rule": "bound", "quantity": "operations", "of": "on", "at_least": 1}
    words = {jdk: said(claim([rule], {"on": {**cell, "jdk": jdk}}), folder).word for jdk in ("", "21", "25")}
    assert words == {"": ClaimWord.HOLDS, "21": ClaimWord.HOLDS, "25": ClaimWord.NOT_MEASURED}


@pytest.mark.parametrize(
    ("outcome", "word"), [("crashed with exit code 1", ClaimWord.HOLDS), ("finished", ClaimWord.NOT_REPRODUCED)]
)
def test_a_flood_that_crashes_is_a_finding(tmp_path: Path, outcome: str, word: ClaimWord) -> None:
    flood = {"database": "postgresql", "executor": "cached", "tasks": 50_000}
    result = {**flood_output("cached").model_dump(mode="json", exclude={"kind"}), "outcome": outcome}
    line = {"kind": "jdbc-flood", "protocol": 1, "flood": flood, "started_at": STARTED, "result": result}
    rule = {"rule": "count", "quantity": "failing", "of": "cached", "at_least": 1}
    cells = {"cached": {"scenario": "jdbc-flood", "entry": "cached", "case": "postgresql", "tier": "50k"}}
    assert said(claim([rule], cells), written(tmp_path / "flood", databases(), [line])).word is word


def test_a_run_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "broken", described("jvm"), [])
    (folder / "records.ndjson").write_text("{]\n", encoding="utf-8")
    assert left_out(folder).startswith(f"{folder}/records.ndjson: ")
    (folder / "run.json").write_text("[]", encoding="utf-8")
    assert left_out(folder) == f"{folder}/run.json: expected a run, got list"
    (folder / "run.json").write_text('{"protocol": 3}', encoding="utf-8")
    assert "run.json: " in left_out(folder)


def left_out(folder: Path) -> str:
    found, [why] = claims_page.read_runs({"a-run": folder}, folder.parent, builders.catalog())
    assert found == {}
    return why


@pytest.mark.parametrize(("by_jcmd_kb", "claimed_mb"), [(5_120, 5.0), (None, 9.0)])
def test_a_claimed_heap_is_what_jcmd_tells(by_jcmd_kb: int | None, claimed_mb: float) -> None:
    # If jcmd reported the heap, its figure is used: a server whose threads are all taken does not answer `/info`.
    info = Info.model_construct(heap_used=9 << 20, heap_committed=None, heap_max=None)
    seen = Snapshot(processes=1, rss_kb=9, cpu_s=1, threads=1, heap_used_kb=by_jcmd_kb)
    samples = Samples(hz=5, elapsed_s=1, vanished=False, t=[], rss_kb=[], threads=[], established=[], tcp_mem_kb=[])
    found = Readings(None, seen, after=seen, info=info).memory(1, samples)
    assert found is not None
    assert found.heap_used_kb == 9_216
    assert QUANTITIES["heap"].read({"trial": {"memory": found.model_dump()}}) == claimed_mb


def test_thread_memory_is_read_off_what_the_jvm_prints() -> None:
    assert parse_native_memory(SUMMARY) == {"thread_reserved_kb": 231_606, "thread_committed_kb": 10_874}
    assert parse_native_memory("Native memory tracking is not enabled") == {}


@pytest.mark.parametrize(
    ("printed", "kb"),
    [
        (" garbage-first heap   total reserved 6172672K, committed 524288K, used 245480K [0x1, 0x2)\n", 245_480),
        (" garbage-first heap   total 264192K, used 2050K [0x1, 0x2)\n  region size 2048K, 2 young (4096K)\n", 2_050),
        (
            "DefNew     total 9216K, used 800K [0x1)\n eden space 8K, 10% used\nTenured    total 1024K, used 7K\n",
            807,
        ),
        (" def new generation   total 78656K, used 2800K\n tenured generation   total 174784K, used 3K\n", 2_803),
        (" PSYoungGen      total 76288K, used 2621K\n ParOldGen       total 175104K, used 1K\n", 2_622),
        (" Metaspace       used 8000K, committed 8200K, reserved 1114112K\n", None),
    ],
)
def test_the_heap_in_use_is_read_off_what_the_jvm_prints(printed: str, kb: int | None) -> None:
    assert parse_heap_used(printed) == kb
