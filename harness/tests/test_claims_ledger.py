"""Tests of the ledger as data: published figures appear in the articles, and invalid entries are rejected."""

from __future__ import annotations

import os
import re
from pathlib import Path

import articles
import pytest

from zoo.claims.ledger import Claim, LedgerError, combinations, list_points
from zoo.core.manifest_files import load_catalog
from zoo.reference import claims_page
from zoo.reference.claims_page import read_ledger_file, read_ledger_files

ROOT = Path(__file__).parents[2]
LEDGER = claims_page.read_ledger(ROOT, load_catalog(ROOT))
ARTICLES = articles.kept()
COUNTS = {"R": 19, "L": 11, "D": 14, "T": 9, "S": 7, "X": 5}

FILE = """
[article]
key = "Q"
about = "Something"

[[claims]]
id = "Q1"
says = "One is faster."
runs = ["bench-all"]

[claims.cells]
a = { scenario = "hello", entry = "java-tomcat:virtual", tier = ["100", "1k"] }
b = { scenario = "hello", entry = "java-tomcat:platform", tier = ["100", "1k"] }

[[claims.rules]]
rule = "ratio"
quantity = "requests"
of = "a"
over = "b"
at_least = 1.2
"""


def test_all_claims_are_there() -> None:
    assert {key: len(LEDGER.select([key])) for key in LEDGER.articles} == COUNTS
    assert [c.id for c in LEDGER.select(["S"])] == [f"S{n}" for n in range(1, 8)]


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_published_figures_stand_in_the_article(claim: Claim) -> None:
    # Graphs and articles that are not stored cannot be checked. They say so.
    if not LEDGER.articles[claim.article].kept:
        return
    for figure in claim.published:
        if figure.quote is None:
            assert claim.ambiguous, f"{figure.of} is in no text, and the claim does not say where it is from"
            continue
        assert articles.states(ARTICLES[claim.article], figure.quote), f"{figure.quote!r} is not in the article"
        assert figure.value == number(figure.quote)


def number(quote: str) -> float:
    """Return the value of a figure as printed: `24k`, `165298.27`, `7 times`."""
    token = quote.split(maxsplit=1)[0]
    found = re.match(r"\d+(?:\.\d+)?", token)
    assert found
    return float(found[0]) * (1000 if token == f"{found[0]}k" else 1)


@pytest.mark.skipif("ZOO_ARTICLES" not in os.environ, reason="ZOO_ARTICLES names no folder with the articles' texts")
def test_the_kept_figures_are_those_of_the_articles() -> None:
    assert articles.read(Path(os.environ["ZOO_ARTICLES"])) == ARTICLES


def test_a_figure_that_is_not_in_the_text_is_noticed() -> None:
    assert articles.states(ARTICLES["R"], "44104")
    assert articles.states(ARTICLES["R"], "7 times")
    assert not articles.states(ARTICLES["R"], "44105")
    assert not articles.states(ARTICLES["R"], "4410")


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_every_rule_has_cells_to_judge(claim: Claim) -> None:
    for rule in claim.rules:
        cells = [claim.cells[name] for name in rule.names]
        assert list(combinations(rule, cells))
        if rule.rule != "count" and rule.leans_above is not None:
            assert rule.at_least is not None
            assert rule.leans_above <= rule.at_least


def test_lists_stand_for_all_their_combinations(tmp_path: Path) -> None:
    claim = read_ledger_file(written(tmp_path)).claims[0]
    rule = claim.rules[0]
    pairs = list(combinations(rule, [claim.cells["a"], claim.cells["b"]]))
    assert [(a.text, b.text) for a, b in pairs] == [
        ("java-tomcat:virtual, hello 100", "java-tomcat:platform, hello 100"),
        ("java-tomcat:virtual, hello 1k", "java-tomcat:platform, hello 1k"),
    ]
    assert len(list_points(claim.cells["a"])) == 2
    assert [p.text for p in list_points(claim.cells["a"], over_tiers=True)] == ["java-tomcat:virtual, hello 100–1k"]


def written(folder: Path, text: str = FILE, name: str = "Q.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('key = "Q"', 'key = "q"', "article.key: String should match pattern"),
        ('says = "One is faster."\n', "", "claims.0.says: Field required"),
        ('id = "Q1"', 'id = "R1"', "expected ids that start with Q, got R1"),
        ('rule = "ratio"', 'rule = "feeling"', "'ratio'"),
        ('quantity = "requests"', 'quantity = "beauty"', 'no quantity "beauty"; known: requests, operations'),
        ('over = "b"\n', "", 'rule "ratio" requires over'),
        ('rule = "ratio"', 'rule = "bound"', 'rule "bound" does not accept over'),
        ('rule = "ratio"', 'rule = "recorded"', 'rule "recorded" does not accept at_least, over'),
        ('rule = "ratio"', 'rule = "spread"\ntogether = true', 'rule "spread" does not accept together'),
        ("at_least = 1.2", "", "expected at_least, at_most or both"),
        ("at_least = 1.2", "at_least = 2\nat_most = 1", "expected at_least ≤ at_most, got 2 > 1"),
        ("at_least = 1.2", "at_least = 1.2\nleans_above = 1\nleans_below = 1", "expected one direction"),
        ("at_least = 1.2", "at_least = 1.2\nin_cells = 0.5\ntogether = true\nhue = 1", "hue: Extra inputs"),
        ('of = "a"', 'of = "c"', "the difference: a, c"),
        (
            'platform", tier = ["100", "1k"]',
            'platform", tier = ["100"]',
            "if both list tier, the lists must be equal",
        ),
        ('faster."\n', 'faster."\nunmeasured = "no"\n', "expected either rules or"),
        ('runs = ["bench-all"]', "", "expected `runs` (names in results/reference/runs.toml)"),
    ],
)
def test_a_fault_names_file_key_and_what_was_expected(tmp_path: Path, before: str, after: str, expected: str) -> None:
    assert before in FILE
    path = written(tmp_path, FILE.replace(before, after, 1))
    with pytest.raises(LedgerError) as caught:
        read_ledger_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert expected in str(caught.value)


def test_a_claim_needs_rules_or_a_reason_why_there_are_none(tmp_path: Path) -> None:
    text = FILE.partition("runs = ")[0]
    with pytest.raises(LedgerError, match="expected either rules or"):
        read_ledger_file(written(tmp_path, text))
    assert read_ledger_file(written(tmp_path, text + 'unmeasured = "no such machine"\n')).claims[0].unmeasured


def test_a_file_is_named_after_its_article(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match='expected the file\'s name "Z", got "Q"'):
        read_ledger_file(written(tmp_path, name="Z.toml"))


def test_a_folder_without_a_ledger_is_told(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="contains no ledger"):
        read_ledger_files(tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("java-tomcat:platform", "java-tomcat:threads", 'Q1: there is no entry "java-tomcat:threads"'),
        ('scenario = "hello"', 'scenario = "warp"', 'Q1: there is no scenario "warp"; known: hello, '),
        ('scenario = "hello"', 'scenario = "cpu", case = "9ms"', 'Q1: scenario cpu has no case "9ms"; known: 0.1ms'),
        (
            '["100", "1k"]',
            '["100", "many"]',
            'Q1: "many" is not a number of connections; use numbers such as 100, 1k or 25k',
        ),
    ],
)
def test_what_a_claim_names_must_be_there(tmp_path: Path, before: str, after: str, expected: str) -> None:
    (tmp_path / "claims").mkdir()
    written(tmp_path / "claims", FILE.replace(before, after))
    with pytest.raises(LedgerError, match=re.escape(f"claims/Q.toml: {expected}")):
        claims_page.read_ledger(tmp_path, load_catalog(ROOT))


def test_a_copy_of_a_server_need_not_be_there_but_its_original_must(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    text = FILE.replace("java-tomcat:platform", "java-tomcat-other:platform")
    named = text.replace("[claims.cells]", 'copies = { java-tomcat-other = "java-tomcat" }\n[claims.cells]')
    written(tmp_path / "claims", named)
    assert claims_page.read_ledger(tmp_path, load_catalog(ROOT)).claims[0].copies == {
        "java-tomcat-other": "java-tomcat"
    }
    written(tmp_path / "claims", named.replace('"java-tomcat"', '"java-tomkat"'))
    with pytest.raises(LedgerError, match='Q1: there is no entry "java-tomkat:platform"'):
        claims_page.read_ledger(tmp_path, load_catalog(ROOT))


def test_claims_are_chosen_by_article_and_id() -> None:
    assert [claim.id for claim in LEDGER.select(["t"], ["R7", "r1"])] == ["R1", "R7", *(f"T{n}" for n in range(1, 10))]
    with pytest.raises(LedgerError, match='no article or claim "Z"; articles: D, L, R, S, T, X'):
        LEDGER.select(["Z"])
