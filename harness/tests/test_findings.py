"""Tests that the committed runs support the conclusions in docs/explanation/findings.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations

import pytest

from zoo import ROOT
from zoo.core.entry_id import condition_name, server_name
from zoo.core.manifest_files import load_catalog
from zoo.explain.files import read_paragraph
from zoo.reference.claims_page import judge_claims, read_ledger
from zoo.reference.conclusions import CONCLUSIONS, Conclusion, render
from zoo.reference.documents import find_runs
from zoo.reference.findings import pair_builds
from zoo.reference.origin import quoted_database
from zoo.reference.readmes import fast_pairs, list_cases
from zoo.reference.runs import FINDINGS, Reference, StoredRun
from zoo.scenarios.cold import view as cold
from zoo.scenarios.pool_size.view import switch_advice
from zoo.stats import databases
from zoo.stats.metrics import CPU, Word
from zoo.stats.pairs import Comparison, Kind

CATALOG = load_catalog(ROOT)
MOST = 15


@cache
def reference() -> Reference:
    return Reference(ROOT, CATALOG)


def is_more(comparison: Comparison) -> bool:
    verdict = comparison.verdict
    return Word.MORE in (verdict.word, verdict.likely)


def is_less(comparison: Comparison) -> bool:
    verdict = comparison.verdict
    return Word.LESS in (verdict.word, verdict.likely)


def hold(*claims: str) -> bool:
    """Return True if all of these claims hold."""
    judged = [claim for claim in read_ledger(ROOT, CATALOG).claims if claim.id in claims]
    verdicts, _ = judge_claims(judged, reference().folders, ROOT / "docs", CATALOG)
    return len(verdicts) == len(claims) and all(verdict.word.value == "holds" for verdict in verdicts)


def cost_depends_on_server_and_load(runs: Sequence[StoredRun]) -> bool:
    few, many = zip(
        *([p.comparisons[CPU] for p in pairs] for _, pairs in fast_pairs(runs, CATALOG).values()), strict=True
    )
    saves = any(map(is_less, few)) and any(map(is_more, few))
    return saves and sum(map(is_more, many)) > 0 and not any(map(is_less, many))


def scheduler_takes_part(runs: Sequence[StoredRun]) -> bool:
    texts = [read_paragraph(one.folder)[1] for one in runs]
    costly = [text for text in texts if "more CPU time" in text]
    return bool(costly) and all("scheduler of threads and tasks" in text for text in costly)


def servers_differ_more_than_models(runs: Sequence[StoredRun]) -> bool:
    summary = runs[0].summary
    rows = [row for row in summary.cells.rows.values() if row.model == "virtual-thread" and row.cpu_s_per_million]
    costs = [row.cpu_s_per_million.median for row in rows if row.cpu_s_per_million]
    ratios = [p.comparisons[CPU].ratio for p in summary.compared.of(Kind.MODEL)]
    within = [max(ratio.value, 1 / ratio.value) for ratio in ratios if ratio]
    loops = {server_name(row.entry): row for row in summary.cells.rows.values() if row.model == "event-loop"}
    over_loop = [
        row.cpu_s_per_million.median / loop.cpu_s_per_million.median
        for row in rows
        if (loop := loops.get(server_name(row.entry))) and loop.cpu_s_per_million and row.cpu_s_per_million
    ]
    return max(costs) / min(costs) > max(within) and min(over_loop) > 1.5


def waiting_needs_a_change(runs: Sequence[StoredRun]) -> bool:
    pools = [one for one in runs if re.fullmatch(r"answers/.*/pools", one.listing.name)]
    advised = [switch_advice(one.records) for one in pools]
    return bool(pools) and all(a and a.action.startswith(("enlarge the pool", "switch")) for a in advised)


def waiting_requests_differ_in_memory(runs: Sequence[StoredRun]) -> bool:
    cases = [case for case, _ in list_cases(runs[0], runs[1:], CATALOG) if case]
    [texts] = [case.by_server for case in cases if case.requests.startswith("hold")]
    ends = {
        server: [float(end) for pair in re.findall(r" kB \[([\d.]+), ([\d.]+)\]", text) for end in pair]
        for server, text in texts.items()
    }
    heavy = ends["java-tomcat"] + ends["java-spring"]
    return max(ends["java-vertx"] + ends["java-liberty"]) < 50 and min(heavy) > 100


def cold_starts_differ_by_server(runs: Sequence[StoredRun]) -> bool:
    texts = {text.partition(",")[0]: text for text in cold.list_first(runs[0].records)}

    def bounds(server: str, by: str) -> tuple[int, int]:
        found = re.search(rf"[\d,]+ \(([\d,]+)–([\d,]+)\) by {by}", texts[server])
        assert found, texts[server]
        low, high = (int(end.replace(",", "")) for end in found.groups())
        return low, high

    def answers_more(server: str, one: str, other: str) -> bool:
        return bounds(server, one)[0] > bounds(server, other)[1]

    models = ("virtual threads", "the pool")
    differ = all(answers_more(server, *models) for server in ("java-spring", "java-tomcat"))
    overlap = not any(answers_more(s, *by) for s in ("java-liberty", "java-vertx") for by in permutations(models))
    return differ and overlap


def latency_hides_the_model(runs: Sequence[StoredRun]) -> bool:
    found = quoted_database(one for one in runs if one.listing.words[0] == "jdbc")
    far = found is not None and found[1].ratio is not None and round(100 * found[1].ratio.value) == 106
    [one] = [one for one in runs if one.listing.name == "claims/jdbc"]
    near = [p for p in databases.compare(one.records).of(Kind.MODEL) if p.scenario.endswith(" none")]
    short, slow = (
        [p.comparisons[databases.OPS] for p in near if ("update" in p.scenario) is is_slow] for is_slow in (False, True)
    )
    gains, changes = (
        [round(100 * c.ratio.value - 100) for c in of if c.ratio and c.verdict.differs] for of in (short, slow)
    )
    return far and len(gains) == len(short) and (min(gains), max(gains)) == (23, 59) and changes == [-19]


def zgc_costs_and_headers_do_not(runs: Sequence[StoredRun]) -> bool:
    pairs = runs[0].summary.compared.of(Kind.CONDITION)
    zgc, compact = (
        [p.comparisons[CPU] for p in pairs if condition_name(p.a) == name] for name in ("jvm=zgc", "jvm=compact")
    )
    return (
        sum(map(is_more, zgc)) > len(zgc) / 2
        and not any(map(is_less, zgc))
        and not any(c.verdict.differs for c in compact)
    )


SUPPORT: dict[str, Callable[[Sequence[StoredRun]], bool]] = {
    "fast": cost_depends_on_server_and_load,
    "why": scheduler_takes_part,
    "servers": servers_differ_more_than_models,
    "waiting": waiting_needs_a_change,
    "arrivals": lambda _: hold("S1", "S2"),
    "memory": waiting_requests_differ_in_memory,
    "cold": cold_starts_differ_by_server,
    "database": latency_hides_the_model,
    "async": lambda _: hold("T5", "T9"),
    "conditions": zgc_costs_and_headers_do_not,
}


@pytest.mark.parametrize("conclusion", CONCLUSIONS, ids=lambda one: one.marker)
def test_the_runs_support_each_conclusion(conclusion: Conclusion) -> None:
    runs = find_runs(conclusion.runs, reference())
    assert runs, "its run is not committed"
    assert SUPPORT[conclusion.marker](runs), "the runs say otherwise: change the heading"


@pytest.mark.parametrize("conclusion", CONCLUSIONS, ids=lambda one: one.marker)
def test_each_conclusion_has_its_chart_and_the_articles_view(conclusion: Conclusion) -> None:
    text = render(find_runs(conclusion.runs, reference()) or [], CATALOG, conclusion)
    assert ("docs/charts/" in text) is bool(conclusion.chart)
    assert conclusion.chart or "explain.html" in text
    assert re.search(r"^- \[\w+\]\(docs/claims.md\) |^The articles make no claim", text, flags=re.MULTILINE)


def test_each_heading_is_a_conclusion() -> None:
    text = (ROOT / FINDINGS).read_text(encoding="utf-8")
    assert len(re.findall(r"^## ", text, flags=re.MULTILINE)) == len(CONCLUSIONS) <= MOST


def test_each_build_is_compared_with_its_earlier_one() -> None:
    runs = reference().matching("builds/*")
    earlier = {
        (pair.b, pair.a.partition(":")[2]): pair.comparisons[CPU].ratio
        for one in runs
        for pair in one.summary.compared.of(Kind.GUEST)
    }
    pairs = pair_builds(runs)
    assert len(pairs) == sum(len(one.run.plan.entries) for one in runs) / 2
    for pair in pairs:
        now, before = pair.comparisons[CPU].ratio, earlier[pair.a, pair.a.partition(":")[2]]
        assert now is not None
        assert before is not None
        assert now.value == pytest.approx(1 / before.value)
