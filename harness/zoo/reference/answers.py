"""The answer for one server from its own runs, with what only the reference machine measured, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from zoo.core.answer_runs import COLD, COST, HELD, PARTS, POOLS, WAITING
from zoo.core.entry_id import server_name
from zoo.core.jdbc import PROGRAM
from zoo.core.manifest import Catalog
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.reference.origin import describe_age, quoted_database, usual_costs
from zoo.reference.runs import TABLE, Reference, StoredRun
from zoo.report.answer import (
    Answer,
    AnswerBlock,
    AnswerFigure,
    Found,
    Line,
    Variants,
    cold_block,
    format_estimate,
    make_answer,
    memory_block,
    sides_of,
)
from zoo.report.page.answer import render_badge, render_page, render_picture
from zoo.report.summary import Summary
from zoo.report.wording import describe_rounds
from zoo.scenarios.pool_size.view import answer_block
from zoo.stats.pairs import Comparison

REFERENCE = "measured on the reference machine"
QUOTED = "1k"
"""The connection count of waiting requests that an answer quotes, if a run has several."""


def server_sides(server: str, catalog: Catalog) -> Variants | None:
    """Return the two variants of a server that its answer compares, or None if it has no such pair."""
    return sides_of({entry.id: entry.variant.model for entry in catalog.select([server])})


def read_found(folders: Iterable[Path]) -> Found:
    """Return the parts of an answer that these runs' folders fill; a later folder replaces a part of an earlier one."""
    found: dict[str, Summary] = {}
    for folder in folders:
        store = Store.open(folder)
        found |= split_run(Summary.of(store.run(), store.records()))
    return {part: found[part] for part in dict.fromkeys([COST, *PARTS.values()]) if part in found}


def read_answers(folders: Iterable[Path], root: Path, catalog: Catalog) -> list[Answer]:
    """Return the answer for each server that has both sides in one of these runs.

    Memory of waiting requests comes from the committed runs, which have a rule for choosing among several.
    """
    stores = [Store.open(folder) for folder in folders]
    runs = [Summary.of(store.run(), store.records()) for store in stores if ANSWERED & set(store.run().plan.scenarios)]
    reference = committed_runs(root, catalog)
    made = []
    for server in catalog.servers:
        entries = [e for e in catalog.entries if e.server.name == server.name and e.id not in catalog.synthetic]
        sides = sides_of({entry.id: entry.variant.model for entry in entries})
        found: dict[str, Summary] = {}
        for summary in runs:
            if sides and set(sides) <= set(summary.run.plan.entries):
                found |= {part: one for part, one in split_run(summary).items() if part != HELD}
        if sides and COST in found:
            made.append(read_answer(sides, found, reference, catalog))
    return made


ANSWERED = set(PARTS) - {"held"}
"""The scenarios of the runs from which answers are made."""


def split_run(summary: Summary) -> dict[str, Summary]:
    """Return the parts of an answer that a run fills, each with only the records of its scenario."""
    found = {}
    for scenario, part in PARTS.items():
        records = [record for record in summary.records if record.scenario == scenario]
        if part == WAITING:
            records = _quoted(records)
        if records:
            found[part] = Summary.of(summary.run, records)
    return found


def _quoted(records: Sequence[Record]) -> list[Record]:
    """Return the records of the connection count that an answer quotes, or all if there are none."""
    return [record for record in records if record.tier == QUOTED] or list(records)


def committed_runs(root: Path, catalog: Catalog) -> list[StoredRun]:
    """Return the committed runs of a checkout, whose files are read when they are first needed."""
    return Reference(root, catalog).matching("*") if (root / TABLE).exists() else []


def read_answer(sides: Variants, found: Found, reference: Sequence[StoredRun], catalog: Catalog) -> Answer:
    """Return the answer from these runs; the committed runs in `reference` fill what they cannot.

    The answer says so if a run measured an earlier build of the server, or by an earlier protocol.
    """
    pools = answer_block(records_of(found[POOLS].records, sides.server)) if POOLS in found else None
    made = make_answer(sides, found, [*([pools] if pools else []), *reference_blocks(sides, reference, catalog)])
    ages = {describe_age(summary.run, catalog, {sides.server}) for summary in found.values()} - {""}
    if not ages:
        return made
    of = f"build of {sides.server}" if "earlier build" in ages else "protocol"
    older = f"Measured with an earlier {of}."
    return made.model_copy(update={"certainty": [*made.certainty, older]})


def records_of(records: Iterable[Record], server: str) -> list[Record]:
    """Return the records of one server."""
    return [record for record in records if server_name(record.entry) == server]


def reference_blocks(sides: Variants, runs: Sequence[StoredRun], catalog: Catalog) -> list[AnswerBlock]:
    """Return the blocks that committed runs fill: a cold start, the memory of waiting requests, and a database."""
    bench = [one for one in runs if one.listing.words[0] == "bench" and one.listing.name.startswith("scenarios/")]
    return [*_memory(sides, bench, catalog), *_cold(sides, bench, catalog), *_database(runs, catalog)]


def _memory(sides: Variants, runs: Sequence[StoredRun], catalog: Catalog) -> list[AnswerBlock]:
    costs = {e: of for (e, quantity), of in usual_costs(runs).items() if quantity == "rss" and e in sides}
    if not costs:
        return []
    links = ", ".join(dict.fromkeys(one.link for one, _ in costs.values()))
    source = _source([one for one, _ in costs.values()], sides.server, catalog)
    return [memory_block(sides, {entry: cost.interval for entry, (_, cost) in costs.items()}, source, links)]


def _cold(sides: Variants, runs: Sequence[StoredRun], catalog: Catalog) -> list[AnswerBlock]:
    """Return when each side reaches its full speed after a start under load, from the newest run that has both."""
    for one in sorted(runs, key=lambda one: one.run.started_at, reverse=True):
        if COLD in one.run.plan.scenarios and set(sides) <= set(one.run.plan.entries):
            source = f"{_source([one], sides.server, catalog)}, {describe_rounds(one.run.plan)}"
            return [cold_block(sides, records_of(one.records, sides.server), source, one.link)]
    return []


def _database(runs: Sequence[StoredRun], catalog: Catalog) -> list[AnswerBlock]:
    found = quoted_database([one for one in runs if one.listing.words[0] == "jdbc"])
    if found is None:
        return []
    one, comparison, connections, wire_ms = found
    source = f"{_source([one], PROGRAM, catalog)}, without an HTTP server"
    return [database_block(comparison, connections, wire_ms, source, one.link)]


def database_block(comparison: Comparison, connections: int, wire_ms: int, source: str, link: str) -> AnswerBlock:
    """Return what virtual threads gain over a cached pool of threads when few database connections are shared."""
    ratio = comparison.ratio
    assert ratio is not None
    gain = comparison.verdict.differs and ratio.value > 1
    line = Line(
        subject=f"Queries per second with {connections} connections and {wire_ms} ms to the database",
        text=format_estimate(comparison),
        ratio=AnswerFigure(value=ratio.value, low=ratio.low, high=ratio.high),
        verdict=comparison.verdict.text,
        quoted=True,
    )
    return AnswerBlock(
        name="database",
        heading=f"A database pool of {connections} behind it",
        verdict="a small gain" if gain and ratio.value < SMALL else "a gain" if gain else comparison.verdict.label,
        reason="virtual threads vs. a cached pool of threads",
        lines=[line],
        source=source,
        run=link,
    )


SMALL = 1.2
"""The ratio below which a gain is called small."""


def _source(runs: Iterable[StoredRun], server: str, catalog: Catalog) -> str:
    ages = sorted({describe_age(one.run, catalog, {server}) for one in runs} - {""})
    return ", with an ".join([REFERENCE, *ages[:1]])


def write_answer(answer: Answer, folder: Path) -> Path:
    """Write the answer as a page, as JSON, as a badge and as a picture; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in answer_files(answer).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / PAGE


PAGE = "answer.html"


def answer_files(answer: Answer) -> dict[str, str]:
    """Return the text of each file of an answer, by its name."""
    return {
        "answer.json": answer.model_dump_json(indent=2) + "\n",
        "answer-badge.svg": render_badge(answer),
        "answer.svg": render_picture(answer),
        PAGE: render_page(answer),
    }
