"""The ledger of published claims judged by stored runs, and written: a page, Markdown, a badge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zoo.catalog.manifest import Catalog, CatalogError
from zoo.claims.ledger import CellSpec, Claim, Ledger, LedgerError
from zoo.claims.verdicts import ClaimVerdict, verdicts
from zoo.docs import archives
from zoo.docs.ledger_files import load
from zoo.plan.request import programs_of
from zoo.plan.scenario import SCENARIOS, Asked
from zoo.plan.tier import PlanError, tier
from zoo.report.ledger import page
from zoo.report.ledger.badge import badge
from zoo.report.ledger.text import Counted, sections
from zoo.report.text.markdown import render
from zoo.scenarios.startup.spec import AOT_SINCE

FOLDER = "claims"
PROGRAMS = frozenset({"jvm", "jdbc", "jdbc-flood"})
"""Scenarios whose entries are no servers of the catalog."""


def read(root: Path, catalog: Catalog) -> Ledger:
    """The ledger of this checkout; `LedgerError` where it names what is not there."""
    found = load(root / FOLDER)
    for claim in found.claims:
        for cells in claim.cells.values():
            _check(claim, cells, catalog)
    return found


def judged(
    claims: Sequence[Claim], runs: Mapping[str, Path], home: Path, catalog: Catalog
) -> tuple[list[ClaimVerdict], list[str]]:
    """The verdicts from those of these runs that the claims name, and which of them were left out.

    Links are given from `home`.
    """
    found, left = archives.read(of_claims(claims, runs), home, catalog)
    return verdicts(claims, found), left


def of_claims(claims: Iterable[Claim], runs: Mapping[str, Path]) -> dict[str, Path]:
    """Those of the runs that the claims name."""
    return {name: runs[name] for claim in claims for name in claim.runs if name in runs}


def write(folder: Path, found: Ledger, said: Sequence[ClaimVerdict]) -> Path:
    """`ledger.html`, `ledger.md` and `badge.svg` in this folder; gives the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ledger.md").write_text(render(sections(found, said, links=True)), encoding="utf-8")
    (folder / "badge.svg").write_text(badge(Counted.of(said).words), encoding="utf-8")
    written = folder / "ledger.html"
    written.write_text(page.page(found, said), encoding="utf-8")
    return written


def _check(claim: Claim, cells: CellSpec, catalog: Catalog) -> None:
    try:
        names = [] if cells.scenario in PROGRAMS else [_in_tree(claim, name) for name in cells.axis("entry")]
        entries = [catalog.entry(name) for name in names]
        if cells.scenario not in {*SCENARIOS, *PROGRAMS}:
            raise CatalogError(f'no scenario "{cells.scenario}"; known: {", ".join([*SCENARIOS, *sorted(PROGRAMS)])}')
        if cells.scenario in SCENARIOS:
            for case in cells.axis("case"):
                programs_of([cells.scenario], Asked(entries, jdk=str(AOT_SINCE)), [case])
        for name in filter(None, cells.axis("tier")):
            tier(name)
    except (CatalogError, PlanError) as error:
        raise LedgerError(f"{FOLDER}/{claim.article}.toml: {claim.id}: {error}") from error


def _in_tree(claim: Claim, entry: str) -> str:
    """The entry, or that which it is a copy of."""
    server, _, variant = entry.partition(":")
    return f"{claim.copies.get(server, server)}:{variant}"
