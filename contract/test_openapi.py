"""Tests of `openapi.yaml`: it is valid, agrees with the suite, and every entry passes its generated requests."""

import copy
from functools import cache
from typing import Any

import hypothesis
import pytest
import schemathesis
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from kit.rules import BYTES, CPU, LOCK, SLEEP, WAIT, about, openapi
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.schemas import OpenApiSchema

PATHS = ("/", "/sleep", "/bytes", "/cpu", "/info")
OPERATIONS = tuple((path, method) for path in PATHS for method in ("GET", "HEAD"))
BAD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/sleep", {"ms": -1}),
    ("/bytes", {"n": "x"}),
    ("/cpu", {}),
    ("/cpu", {"rounds": 1, "ms": 60_001}),
)
EXAMPLES = {"GET": 8, "HEAD": 2}
MODERATE = {"ms": 20, "lock": 1, "n": 100_000, "rounds": 2_000}
"""Largest values in valid generated requests, so that each request takes milliseconds."""

Case = schemathesis.Case[Any]


def schema_of(document: dict[str, Any]) -> OpenApiSchema:
    return schemathesis.openapi.from_dict(document, config=SchemathesisConfig(seed=1))


def moderate(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with smaller maxima and with `ms` required, because its default is ten seconds."""
    smaller = copy.deepcopy(document)
    for parameter in smaller["components"]["parameters"].values():
        parameter["schema"]["maximum"] = MODERATE[parameter["name"]]
        parameter["required"] = True
    return smaller


def test_document_is_valid_openapi() -> None:
    schema_of(openapi()).validate()
    Draft202012Validator.check_schema(openapi()["components"]["schemas"]["Info"])


def test_document_names_exactly_the_contracts_paths() -> None:
    paths = {path: item for path, item in openapi()["paths"].items() if not path.startswith("x-")}
    assert tuple(paths) == PATHS
    for path, item in paths.items():
        methods = {key for key in item if key in ("get", "head", "put", "post", "delete", "options", "patch", "trace")}
        assert methods == {"get", "head"}, f"{path} has {methods}"


def test_document_and_suite_agree() -> None:
    """Compare the ranges, which the document states for users and `kit.rules` for the tests."""
    written = {
        name: (p["name"], p["schema"]["minimum"], p["schema"]["maximum"], p.get("required", False))
        for name, p in openapi()["components"]["parameters"].items()
    }
    tested = {"Milliseconds": SLEEP, "Lock": LOCK, "Size": BYTES, "Rounds": CPU, "Wait": WAIT}
    assert written == {name: (p.name, 0, p.maximum, p.required) for name, p in tested.items()}


@cache
def generated(path: str, method: str) -> tuple[Case, ...]:
    """Return requests that schemathesis generates from the document, always the same and only once for all entries."""
    operation = schema_of(moderate(openapi()))[path][method]
    cases: list[Case] = []

    @hypothesis.given(case=operation.as_strategy())
    @hypothesis.settings(max_examples=EXAMPLES[method], derandomize=True, database=None, deadline=None)
    def collect(case: Case) -> None:
        cases.append(case)

    collect()
    return tuple(cases)


def call(case: Case, port: int) -> int:
    """Send the request, check the response against the document and return the status."""
    return case.call_and_validate(base_url=f"http://127.0.0.1:{port}", timeout=20).status_code


def test_generated_requests_fit_the_document(port: int) -> None:
    for path, method in OPERATIONS:
        for case in generated(path, method):
            with about(f"{method} {path} {case.query}"):
                assert call(case, port) == 200


@cache
def whole() -> OpenApiSchema:
    return schema_of(openapi())


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_refusals_fit_the_document(port: int, method: str) -> None:
    for path, query in BAD:
        with about(f"{path} {query}"):
            assert call(whole()[path][method].Case(query=query), port) == 400
