"""Claims and runs made up for tests, with rounds of known ratio, spread and faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import builders

from zoo.claims import evidence
from zoo.claims.estimates import ClaimEvidence
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Claim
from zoo.claims.verdicts import ClaimVerdict, judge_claim
from zoo.core.record import Record

VIRTUAL, PLATFORM = "java-a:virtual", "java-a:platform"
STEADY = (0.999, 1.0, 1.001)
NOISY = (0.99, 1.0, 1.01)
UNSTEADY = (0.9, 1.0, 1.1)


def claim(rules: Sequence[Mapping[str, Any]], cells: Mapping[str, Any], **changes: Any) -> Claim:  # noqa: ANN401
    return Claim.model_validate(
        {
            "id": "Q1",
            "says": "Something holds.",
            "published": [{"of": "it", "value": 1}],
            "runs": ["a-run"] if rules else [],
            "cells": dict(cells),
            "rules": list(rules),
            **changes,
        }
    )


def hello(entry: str, tier: str | list[str] = "1k", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"scenario": "hello", "entry": entry, "tier": tier, **changes}


def records(
    entry: str,
    figures: Sequence[float],
    tier: str = "1k",
    name: str = "rps",
    **changes: Any,  # noqa: ANN401
) -> list[Record]:
    """Return one record per round. The figure is requests per second, or the field that `name` names."""
    kind = int if name.endswith("_kb") else float
    made: list[Record] = []
    for number, figure in enumerate(figures, start=1):
        of_round: dict[str, Any] = {**changes, name: kind(figure)}
        made.append(builders.record(entry, tier, round_number=number, **of_round))
    return made


def archive(made: Sequence[Record], run_id: str = "20260102-030405-full", **changes: Any) -> Archive:  # noqa: ANN401
    entries = list(dict.fromkeys(record.entry for record in made))
    run = builders.run(entries).model_copy(update={"id": run_id, **changes})
    return evidence.archive_of_servers(run, made, f"../results/{run_id}")


def said(of: Claim, *made: Sequence[Record]) -> ClaimVerdict:
    """Return the verdict from runs with these records, the newest first."""
    archives = [archive(part, f"run-{number}") for number, part in enumerate(made)]
    return judge_claim(of, ClaimEvidence(archives))


def times(base: float, by: Sequence[float]) -> list[float]:
    return [base * factor for factor in by]
