"""Tests of the ledger as a reader sees it: page, Markdown and badge."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from xml.etree import ElementTree

import builders
import pytest
from claimed import NOISY, PLATFORM, VIRTUAL, archive, claim, hello, records, times

from zoo.claims.estimates import Estimate
from zoo.claims.ledger import Ledger, LedgerFile, Rule
from zoo.claims.verdicts import ClaimVerdict, ClaimWord, judge_each
from zoo.core.record import Record
from zoo.report import ledger_text as told
from zoo.report.ledger_page import place_strips, render_badge, render_page
from zoo.report.text.markdown import render

RATIO = {"rule": "ratio", "quantity": "requests", "of": "virtual", "over": "platform", "at_least": 0.6, "at_most": 0.9}
PAIR = {"virtual": hello(VIRTUAL), "platform": hello(PLATFORM)}
EVIL = "</script><script>document.title = 'taken over'</script>"


def ledger() -> Ledger:
    """Return a ledger of four claims: one holds, one does not, one lacks its cells, and one cannot be decided."""
    article = {"key": "Q", "about": f"Pools & threads {EVIL}", "machine": "Big Iron", "cores": 64, "jdk": "21"}
    figures = [{"of": "ratio", "value": 0.74, "quote": "0.74"}, {"of": "graph", "value": 2, "unit": "×"}]
    made = [
        claim([RATIO], PAIR, published=figures, ambiguous="What a pool is.", note="Ours is small."),
        claim(
            [{**RATIO, "at_least": 1.5, "at_most": 2}, {**RATIO, "quantity": "peak RSS", "at_most": 2}], PAIR, id="Q2"
        ),
        claim([RATIO], {**PAIR, "virtual": hello(VIRTUAL, "100")}, id="Q3"),
        claim([], {}, id="Q4", unmeasured="there is no such machine"),
    ]
    return Ledger((LedgerFile.model_validate({"article": article, "claims": made}),))


def measured() -> list[Record]:
    return records(VIRTUAL, times(740, NOISY)) + records(PLATFORM, [1000.0] * 3)


def said(found: Ledger) -> list[ClaimVerdict]:
    return judge_each(found.claims, {"a-run": archive(measured())})


def test_every_claim_is_a_row_that_opens_to_its_evidence() -> None:
    text = render_page(ledger(), said(ledger()))
    rows = dict(re.findall(r'<details class="claim" id="(Q\d)" .*?data-verdict="([^"]+)"', text))
    assert rows == {"Q1": "holds", "Q2": "not reproduced here", "Q3": "not measured", "Q4": "not measured"}
    first = text.partition('id="Q1"')[2].partition("</details>")[0]
    for words in (
        "ratio 0.74; graph 2 × (graph)",
        "<small>as published if</small> requests, virtual ÷ platform: 0.6 to 0.9",
        "×0.74 [0.72, 0.76]",
        "requests, virtual ÷ platform: 0.6 to 0.9",
        "What a pool is.",
        "Ours is small.",
        'href="../results/20260102-030405-full/records.ndjson"',
        "lines 1, 2, 3, 4, 5, 6",
        "Published on Big Iron, 64 cores; measured on Some CPU, 2 cores, shared by server and generator.",
        "JDK: published with 21, measured with 25.0.1.",
        "20,000 descriptors per process",
    ):
        assert words in first
    assert "of 2 parts 1 holds, 1 does not hold" in text.partition('id="Q2"')[2].partition("</details>")[0].lower()
    assert "none of its runs has java-a:virtual, hello 100" in text.partition('id="Q3"')[2]
    assert "there is no such machine" in text.partition('id="Q4"')[2]


def test_the_page_needs_no_network_and_runs_no_script_but_its_own() -> None:
    text = render_page(ledger(), said(ledger()))
    assert "default-src 'none'" in html.unescape(text)
    assert EVIL not in text
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)


def test_the_ledger_names_all_machines() -> None:
    one = archive(measured())
    other = replace(one, machine=replace(one.machine, processor="Other CPU"))
    verdicts = [verdict for run in (one, other) for verdict in judge_each(ledger().claims, {"a-run": run})]
    text = render(told.ledger_sections(ledger(), verdicts))
    assert "Measured on Some CPU, 2 cores and on Other CPU, 2 cores, in 2 runs of 1 commit." in text


def test_the_ledger_as_markdown_links_the_runs() -> None:
    found = ledger()
    text = render(told.ledger_sections(found, said(found), links=True))
    assert "1 holds, 1 not reproduced here, 2 not measured." in text
    assert "| holds (size: as published) | " in text
    details = text.partition("<details>")[2]
    assert "| [1](../results/20260102-030405-full/) |" in details
    assert "Server and generator share 2 cores, so requests per second depend on how they share them." in text
    assert "- Q4 not measured: there is no such machine" in text
    plain = render(told.ledger_sections(found, said(found)))
    assert "](" not in plain


def test_a_claim_is_shown_with_the_figure_that_decides_it() -> None:
    holding, failing = {**RATIO, "quantity": "peak RSS", "at_most": 2}, {**RATIO, "at_least": 1.5, "at_most": 2}
    made = {"article": {"key": "Q", "about": "Pools"}, "claims": [claim([holding, failing], PAIR)]}
    found = Ledger((LedgerFile.model_validate(made),))
    text = render(told.ledger_sections(found, said(found)))
    assert "| not reproduced here | requests, virtual ÷ platform: ×0.74 " in text


def test_the_ledger_links_the_explanations_that_there_are() -> None:
    first, *others = said(ledger())
    named = first.claim.model_copy(update={"explained_by": ["explain/a", "explain/b"]})
    verdicts, pages = [replace(first, claim=named), *others], {"explain/a": "../results/a.html"}
    text = render(told.ledger_sections(ledger(), verdicts, links=True, explanations=pages))
    assert "[1](../results/20260102-030405-full/); [explain/a](../results/a.html) |" in text
    assert "explain/b" not in text


def test_the_badge_is_a_picture_that_says_what_it_shows() -> None:
    drawn = ElementTree.fromstring(render_badge({ClaimWord.HOLDS: 12, ClaimWord.NOT_MEASURED: 3}))
    name = "{http://www.w3.org/2000/svg}"
    assert drawn.findtext(f"{name}title") == "published claims, measured: 12 hold, 3 not measured"
    assert [text.text for text in drawn.iter(f"{name}text")] == [
        "published claims, measured",
        "12 hold",
        "3 not measured",
    ]
    widths = [float(rect.attrib["width"]) for rect in drawn.iter(f"{name}rect")]
    assert sum(widths) == pytest.approx(float(drawn.attrib["width"]), abs=0.2)


def test_a_strip_shows_where_the_interval_lies_against_the_band() -> None:
    rule = Rule.model_validate({**RATIO})
    inside = Estimate("inside", "×", 0.75, 0.7, 0.8, 3)
    above = Estimate("above", "×", 2.0, 1.5, float("inf"), 3)
    lost = Estimate("lost", objection="nothing was measured")
    first, second, third = place_strips(rule, [inside, above, lost])
    assert third is None
    assert first is not None
    assert second is not None
    assert first.band_low < first.low < first.value < first.high < first.band_high < second.low < second.value
    assert second.high == 100
    assert first.band_high < (first.one or 0) < second.low


def test_figures_are_told_with_intervals_and_units() -> None:
    found = ledger()
    first, *_ = said(found)
    assert told.format_measured(first) == "×0.74 [0.72, 0.76]"
    count = claim([{"rule": "count", "quantity": "failing", "of": "it", "at_most": 0}], {"it": hello(VIRTUAL)})
    failed = [builders.record(VIRTUAL, round_number=1), builders.record(VIRTUAL, round_number=2, failure="hung")]
    of_two, of_three = judge_each(
        [count.model_copy(update={"rounds": rounds}) for rounds in (2, 3)],
        {"a-run": archive(failed)},
    )
    assert told.format_measured(of_two) == told.format_measured(of_three) == "0, 1"
    assert told.explain_verdict(of_two) == "it holds in 1 of 2 rounds"
    assert told.explain_verdict(of_three) == "it holds in 1 of 2 rounds; 2 of the 3 required rounds"
