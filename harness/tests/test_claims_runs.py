"""Each claim names the runs that decide it: they are listed, and have the cells that its rules need."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from zoo.catalog.load import load_catalog
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Claim
from zoo.claims.verdicts import verdicts
from zoo.reference import claims_page, runs
from zoo.reference.runs import COMMITTED

ROOT = Path(__file__).parents[2]
CATALOG = load_catalog(ROOT)
LISTED = {run.name: run for run in runs.load(ROOT).runs}
CLAIMS = [claim for claim in claims_page.read_ledger(ROOT, CATALOG).claims if claim.rules]
NAMED = {name for claim in CLAIMS for name in claim.runs}
PAGE = "docs/claims.md"
NO_SUCH_CELLS = re.compile(
    "none of its runs has|not in one run|of different machines|under different protocols|no round has"
)


@cache
def committed(name: str) -> Archive:
    found, left = claims_page.read_runs({name: ROOT / COMMITTED / name}, ROOT / COMMITTED, CATALOG)
    assert left == []
    return found[name]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_names_the_runs_that_have_its_cells_and_no_others(claim: Claim) -> None:
    assert set(claim.runs) <= LISTED.keys()
    if not all(LISTED[name].measured for name in claim.runs):
        return
    [found] = verdicts([claim], {name: committed(name) for name in claim.runs})
    why = {estimate.why for part in found.parts for estimate, _ in part.found if estimate.why}
    assert [reason for reason in why if NO_SUCH_CELLS.search(reason)] == []
    assert {archive.folder for archive in found.archives} == set(claim.runs)


def test_the_page_of_claims_quotes_exactly_the_runs_that_claims_name() -> None:
    assert {run.name for run in LISTED.values() if PAGE in run.quoted_by} == NAMED
