"""Renders what committed runs of each further scenario found: a part of docs/findings.md."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.catalog.manifest import Catalog
from zoo.docs.origin import origin
from zoo.reference.committed import Committed
from zoo.report import view
from zoo.report.text.markdown import body


def experiments(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render a heading for each scenario in their order, and below it the answers and the folded tables of each run."""
    found: dict[str, list[str]] = {name: [] for name in view.views()}
    for one in runs:
        rounds = one.run.plan.rounds
        source = f"[Committed run](../{one.link}), {rounds} round(s): {origin(one.run, catalog)}."
        for name, shown, records in view.viewed(one.records):
            pairs = [pair for pair in one.summary.compared.pairs if pair.scenario.partition(" ")[0] == name]
            answers = view.answers(records, pairs)
            tables = "\n\n".join(["<details><summary>Tables</summary>", *body(shown.section(records)), "</details>"])
            if answers:
                found[name].append("\n".join(f"- {answer}" for answer in answers))
            found[name] += [source, tables]
    return "\n\n".join("\n\n".join([f"### {name}", *parts]) for name, parts in found.items() if parts)
