"""Tests that the runs each claim names are listed and have the cells that its rules need."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from zoo.claims.evidence import Archive
from zoo.claims.ledger import Claim
from zoo.claims.verdicts import judge_each
from zoo.core.manifest_files import load_catalog
from zoo.reference import claims_page, runs
from zoo.reference.runs import COMMITTED

ROOT = Path(__file__).parents[2]
CATALOG = load_catalog(ROOT)
LISTED = {run.name: run for run in runs.load(ROOT).runs}
CLAIMS = [claim for claim in claims_page.read_ledger(ROOT, CATALOG).claims if claim.rules]
NAMED = {name for claim in CLAIMS for name in claim.runs}
EXPLANATIONS = {name for claim in CLAIMS for name in claim.explained_by}
PAGE = "docs/claims.md"
NO_SUCH_CELLS = re.compile(
    "none of its runs has|in different runs|from different machines|under different protocols|no round (has|measured)"
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
    [found] = judge_each([claim], {name: committed(name) for name in claim.runs})
    why = {estimate.objection for part in found.parts for estimate, _ in part.figures if estimate.objection}
    assert [reason for reason in why if NO_SUCH_CELLS.search(reason)] == []
    assert {archive.folder for archive in found.archives} == set(claim.runs)


def test_the_page_of_claims_quotes_exactly_the_runs_that_claims_name() -> None:
    assert {run.name for run in LISTED.values() if PAGE in run.quoted_by} == NAMED | EXPLANATIONS
