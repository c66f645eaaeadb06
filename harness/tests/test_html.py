"""Tests of the HTML report: its text, that it lets nothing untrusted through, and that no set of records breaks it."""

from __future__ import annotations

import html.parser
import json
import re
from functools import cache
from typing import Any

import builders
import pytest
import synthetic
from builders import record
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_histograms, any_records, any_samples
from syrupy.assertion import SnapshotAssertion

from zoo.core.entry_id import aa_id, with_condition
from zoo.core.flag import Flag
from zoo.core.histogram import Histogram
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.samples import Samples
from zoo.report.page import svg, tables
from zoo.report.page.contents import Contents
from zoo.report.page.html import ChartTools, render_page
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary

PLAIN = ChartTools(library=lambda: "/* Vega */", svg=lambda figure: "<svg></svg>")
ENTRIES = ["java-a:platform", "java-a:virtual", "rust-n:bare", "java-b:platform"]

LONGEST = 60
"""Maximum lines of a snapshot. Nobody reads a longer one."""

NONE = RawFiles()


def page_of(
    run: Run, records: list[Record], evidence: RawFiles = NONE, reference: str | None = None, tools: ChartTools = PLAIN
) -> str:
    return render_page(Contents.of(Summary.of(run, records, reference), evidence), tools)


@cache
def whole(rounds: int = 3) -> str:
    return page_of(synthetic.run(rounds), *synthetic.records(rounds), synthetic.REFERENCE)


def data(text: str) -> dict[str, Any]:
    """Return the data that the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def rows_of(text: str, name: str) -> list[dict[str, Any]]:
    """Return the rows that a chart of the page draws."""
    packed = data(text)
    columns = packed["sets"][packed["figures"][name][1]]
    values = [c["values"] if "values" in c else [c["words"][place] for place in c["places"]] for c in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


class Outline(html.parser.HTMLParser):
    """Outline of a page: elements by name, their attributes, the text of each table's rows, and whether tags nest."""

    VOID = frozenset({"meta", "br", "path", "link", "input", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.mistakes.append(tag)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


# --- what it says


def test_a_ranking_starts_with_the_lowest_which_is_one() -> None:
    summary = Summary.of(synthetic.run(), synthetic.records()[0], synthetic.REFERENCE)
    found = tables.ranking(summary.plain_cells)
    assert {table.title.partition(",")[0] for table in found} == {
        "server CPU µs per request",
        "memory per waiting request kB",
    }
    for table in found:
        relative = [float(row[1]) for row in table.rows]
        assert relative[0] == 1
        assert relative == sorted(relative)
        assert len({row[0] for row in table.rows}) == len(table.rows) > 1


PART = re.compile(
    r'^(?=<(?:main|section|aside|footer|table class|div class="told"|div class="scroll"|h3>\w+: v))', re.MULTILINE
)
"""Start of each part of the page that has its own snapshot."""


def parts(text: str) -> dict[str, str]:
    """Split the page into named parts, without styles, scripts and the charts' data."""
    text = re.sub(r"sha256-[^&]+", "sha256-…", text)
    text = re.sub(r"(<(style|script)[^>]*>).*?(</\2>)", r"\1\3", text, flags=re.DOTALL)
    named: dict[str, str] = {}
    for part in PART.split(text):
        first = re.search(r'(?:id|class)="([\w-]+)"|<h3>([^<:]+)', part) if named else None
        name = (first[1] or first[2]) if first else "main" if named else "head"
        same = sum(other.rstrip(" 234") == name for other in named)
        named[f"{name} {same + 1}" if same else name] = part
    return named


def outlined(value: object, indent: str = "") -> str:
    """Format JSON so that everything that fits on one line is on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) <= 150 or not isinstance(value, dict | list):
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        lines = [f"{deeper}{json.dumps(key)}: {outlined(one, deeper)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + outlined(one, deeper) for one in value) + f"\n{indent}]"


def check(found: dict[str, str], snapshot: SnapshotAssertion) -> None:
    """Check each part against its snapshot, and that it is small enough to read."""
    for name, part in found.items():
        assert part.count("\n") < LONGEST, name
        assert part == snapshot(name=name)


@cache
def small() -> str:
    """Return a run of two variants, in one scenario at two tiers, with a third server that failed."""
    rates = {"java-a:platform": 50_000.0, "java-a:virtual": 61_000.0}
    loads = [("hello", "100"), ("hello", "1k"), ("sleep", "1k")]
    records = [
        record(entry, tier, scenario, n, rps=rps * (1 + n / 100))
        for n in (1, 2, 3)
        for entry, rps in rates.items()
        for scenario, tier in loads
    ]
    records.append(record("rust-n:bare", "1k", round_number=1, failure="ended with exit code 1 before it listened"))
    return page_of(builders.run(ENTRIES, tiers=["100", "1k"]), records, reference="rust-n:bare")


def test_each_part_of_the_page_of_a_small_run(snapshot: SnapshotAssertion) -> None:
    check(parts(small()), snapshot)


def test_what_the_charts_of_a_small_run_draw(snapshot: SnapshotAssertion) -> None:
    figures = {name: figure for name, figure in data(small())["figures"].items() if "sleep" not in name}
    for name, (form, _, *rest) in figures.items():
        rows = rows_of(small(), name)
        table = [list(rows[0]), *(list(row.values()) for row in rows)]
        check({name: "\n".join(outlined(line) for line in ([form, *rest], *table))}, snapshot)


def test_the_forms_that_the_charts_of_a_small_run_have(snapshot: SnapshotAssertion) -> None:
    for name, form in data(small())["templates"].items():
        layers = {f"{name} layer {number}": outlined(one) for number, one in enumerate(form.get("layer", []), 1)}
        check({name: outlined({key: one for key, one in form.items() if key != "layer"}), **layers}, snapshot)


def test_the_records_of_a_small_run_are_the_table_that_the_script_makes(snapshot: SnapshotAssertion) -> None:
    check({name: outlined(value) for name, value in data(small())["records"].items()}, snapshot)


def test_the_same_files_give_the_same_page() -> None:
    assert page_of(synthetic.run(), *synthetic.records(), synthetic.REFERENCE) == whole()


def test_every_cell_is_in_the_table_and_leads_to_its_records() -> None:
    outline = Outline(whole())
    rows = [attrs for attrs in outline.all("tr") if "data-variant" in attrs]
    assert len(rows) == (len(synthetic.NATURES) * 2 + len(synthetic.TWINS)) * 3
    ids = {attrs.get("id") for _, attrs in outline.elements}
    count = len(data(whole())["records"]["rows"])
    for attrs in outline.all("a"):
        href = attrs["href"] or ""
        if re.fullmatch(r"#r\d+", href):  # a row of the table that the script creates
            assert 1 <= int(href[2:]) <= count
        elif href.startswith("#"):
            assert href[1:] in ids, href


def test_ids_are_unlike_each_other_and_elements_nest() -> None:
    outline = Outline(whole())
    ids = [attrs["id"] for _, attrs in outline.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert outline.mistakes == []
    assert outline.open == []


def test_links_lead_to_files_of_the_runs_folder_and_nowhere_else() -> None:
    _, evidence = synthetic.records()
    hrefs = {attrs["href"] or "" for attrs in Outline(whole()).all("a")}
    linked = {href for href in hrefs if not href.startswith("#")}
    assert linked == {"run.json", "records.ndjson", "raw/java-spring-virtual-hello-r2.log"}
    assert linked <= evidence.files


def test_every_chart_is_drawn_somewhere_and_described() -> None:
    figures = data(whole())["figures"]
    places = [attrs for attrs in Outline(whole()).all("div") if "data-chart" in attrs]
    assert sorted(attrs["data-chart"] or "" for attrs in places) == sorted(figures)
    assert all(attrs["role"] == "img" and len(attrs["aria-label"] or "") > 20 for attrs in places)
    kinds = {name.partition("-")[0] for name in figures}
    assert kinds == {
        "forest", "requests", "cpu", "latency", "curves", "cost", "held", "memory", "threads", "warmup", "noise"
    }  # fmt: skip


def test_every_table_names_its_load_model() -> None:
    captions = re.findall(r"<caption>(.*?)</caption>", whole(), re.DOTALL)
    assert len(captions) == len(Outline(whole()).all("table"))
    assert "closed, c = 1,000" in whole()
    assert "hello 25k → 19,500 (nofile hard limit 20,000) · closed, c = 19,500" in whole()


def test_flags_are_explained_and_lower_bounds_are_hollow() -> None:
    for flag in (Flag.SHARED_CORES, Flag.POOL_CEILING, Flag.WARMUP_SHORT, Flag.FOREIGN_CPU):
        assert f'id="flag-{flag.value}"' in whole()
    assert all(row["bound"] for row in rows_of(whole(), "requests-hello-1k"))
    assert not any(row["bound"] for row in rows_of(whole(), "requests-sleep-1k"))


def test_a_failed_cell_is_told_with_its_log_and_stands_in_the_charts_as_failed() -> None:
    assert "java.lang.OutOfMemoryError: Java heap space" in whole()
    notes = {row["entry"]: row["note"] for row in rows_of(whole(), "requests-sleep-25k")}
    assert notes["rust-axum:platform"] == "failed"
    assert notes["java-tomcat:platform"] == "pool: at most 20/s"


def test_one_round_is_called_a_smoke_run_without_statistics() -> None:
    text = whole(1)
    assert "One round gives no statistics" in text
    assert "faster</b>" not in text
    assert "One round" not in whole()


def test_the_answer_comes_first_then_the_noise_then_how_it_was_measured() -> None:
    text = whole()
    order = [
        "Virtual threads vs. platform threads</h2>",
        'class="strip"',
        'class="filter"',
        'id="forest-model-hello-requests-per-second"',
        "hello: no wait</h3>",
        "Limits: shared cores in every cell",
        "sleep: every request waits 10 s</h3>",
        "Memory per waiting request, kB: java-liberty:virtual",
        "<b>Noise</b> (A/A",
        "expected by chance",
        "Load: wrk, closed model",
        'class="verdicts"',
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def told(text: str) -> list[str]:
    """Return the sentences of a page as a person reads them."""
    items = re.findall(r"<li>(.*?)</li>", text.partition('<div class="told">')[2].partition("</div>")[0], re.DOTALL)
    return [re.sub(r"<.*?>", "", item) for item in items]


def test_a_sentence_names_who_where_and_by_how_much() -> None:
    rates = {"java-a:platform": 50_000.0, "java-a:virtual": 61_000.0}
    records = [
        record(entry, tier, round_number=n, rps=rps * (1 + n / 1000))
        for n in (1, 2, 3)
        for entry, rps in rates.items()
        for tier in ("100", "1k")
    ]
    sentences = told(page_of(builders.run(ENTRIES, ["hello"], ["100", "1k"]), records))
    assert sentences[0] == "Requests per second: faster in java-a at every load (22%)."
    assert sentences[1] == "CPU per request: the same (within 5%) everywhere."
    one = [r for r in records if r.tier == "1k"]
    assert told(page_of(builders.run(ENTRIES, ["hello"], ["1k"]), one))[0] == (
        "Requests per second: faster in java-a at 1k (22%, 22%)."
    )


def test_an_entry_under_another_condition_is_compared_like_thread_models() -> None:
    name = with_condition("rust-n:bare", "runtime=container")
    records = [
        record(entry, round_number=n, rps=rps * (1 + n / 1000))
        for n in (1, 2, 3)
        for entry, rps in (("rust-n:bare", 50_000.0), (name, 40_000.0))
    ]
    alone = page_of(builders.run(["rust-n:bare"], ["hello"], ["1k"]), records, reference="rust-n:bare")
    assert told(alone)[0] == f"Requests per second: slower in {name} at 1k (20%, 20%)."
    assert [row["row"] for row in rows_of(alone, "forest-condition-hello-requests-per-second")] == [f"{name} · 1k"]
    assert "entry@condition ÷ entry, same round" in alone
    models = [record(e, round_number=n) for n in (1, 2, 3) for e in ("java-a:platform", "java-a:virtual")]
    both = page_of(builders.run([*ENTRIES], ["hello"], ["1k"]), [*records, *models])
    assert both.index('<section id="answer">') < both.index('<section id="condition">')
    assert '<a href="#condition">Conditions</a>' in both


def test_a_run_without_pairs_says_so() -> None:
    assert "No comparison" in page_of(builders.run(["rust-n:bare"]), [record("rust-n:bare")])


# --- nothing untrusted gets through


def test_a_log_cannot_become_part_of_the_page() -> None:
    text = whole()
    assert "taken over" in text
    assert "<script>document.title" not in text
    assert "\x1b" not in text
    assert len(Outline(text).all("script")) == 3


def test_a_message_cannot_end_the_charts_data() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    records = [record("java-a:platform", failure=hostile), record(f"java-a:{hostile}")]
    text = page_of(builders.run(), records)
    assert len(Outline(text).all("script")) == 3
    assert hostile in json.dumps(data(text))


def test_the_policy_allows_the_pages_own_scripts_and_no_network() -> None:
    (policy,) = (
        a["content"] or "" for a in Outline(whole()).all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == 2
    for word in ("unsafe-eval", "http", "*", "connect-src"):
        assert word not in policy


def test_nothing_is_fetched() -> None:
    outline = Outline(whole())
    assert not [attrs for _, attrs in outline.elements if "src" in attrs or "srcset" in attrs]
    assert not outline.all("link")
    assert not re.search(r"@import|url\(", whole())


# --- whatever the records are


FURTHER = [
    aa_id("java-a:virtual"),
    with_condition("java-a:virtual", "heap=50m"),
    with_condition("rust-n:bare", "runtime=container"),
]


@given(records=any_records([*ENTRIES, *FURTHER]), rounds=st.integers(1, 3))
@settings(max_examples=25)
def test_no_set_of_records_breaks_the_page(records: list[Record], rounds: int) -> None:
    text = page_of(builders.run(ENTRIES, rounds=rounds), records, reference="rust-n:bare")
    outline = Outline(text)
    assert outline.mistakes == []
    assert len([a for a in outline.all("tr") if "data-variant" in a]) == len({r.key[:3] for r in records})
    ids = [attrs["id"] for _, attrs in outline.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


@given(any_histograms(), any_samples())
@settings(max_examples=25)
def test_no_raw_file_breaks_the_page(histogram: Histogram, samples: Samples) -> None:
    records = [record(entry, tier, round_number=n) for entry in ENTRIES for tier in ("100", "1k") for n in (1, 2)]
    names = frozenset({"raw/h.json.gz", "raw/s.json.gz"})
    evidence = RawFiles({"raw/h.json.gz": histogram}, {"raw/s.json.gz": samples}, names)
    assert Outline(page_of(builders.run(ENTRIES, rounds=2), records, evidence)).mistakes == []


def test_a_run_without_a_record_has_a_page() -> None:
    text = page_of(builders.run(), [])
    assert "0 of 18 cells measured" in text
    assert Outline(text).mistakes == []


# --- the largest page


def test_twenty_rounds_of_all_entries_stay_under_two_megabytes() -> None:
    text = page_of(synthetic.run(20), *synthetic.records(20), synthetic.REFERENCE, svg.TOOLS)
    assert len(text.encode()) < 2_000_000
    assert text.count("vegaEmbed=") <= 1


@pytest.mark.parametrize("name", ["forest", "requests"])
def test_charts_become_pictures_without_a_browser(name: str) -> None:
    records, evidence = synthetic.records(2)
    contents = Contents.of(Summary.of(synthetic.run(2), records, synthetic.REFERENCE), evidence)
    figure = next(figure for figure in contents.figures if figure.name.startswith(name))
    for picture in (svg.render_svg(figure), svg.render_standalone(figure)):
        assert picture.startswith("<svg")
        assert "java-tomcat" in picture


def test_the_page_marks_a_synthetic_entry_in_its_tables_and_says_why() -> None:
    records, _ = synthetic.records(1)
    pool = "rust-axum:platform"
    text = render_page(Contents.of(Summary.of(synthetic.run(1), records, synthetic={pool: "a toy"}), NONE), PLAIN)
    assert f"{pool} is synthetic: a toy." in text
    assert f'<th scope="row">{pool} (synthetic)<small>' in text
    assert f'<th scope="row">{pool}<' not in text
    assert data(text)["marks"][pool] == f"{pool} (synthetic)"
