"""`openapi.yaml`: valid, the same contract as the suite's, and every entry fits it under generated requests."""

import copy
import re
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import hypothesis
import pytest
import requests
import schemathesis
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from kit.rules import (
    ALLOW,
    CPU,
    LOCK,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    PARAMETERS,
    SLEEP,
    WAIT,
    Parameter,
    openapi,
)
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.schemas import OpenApiSchema

PATHS = ("/", "/sleep", "/bytes", "/cpu", "/info")
Case = schemathesis.Case[Any]
OPERATIONS = tuple(f"{method} {path}" for path in PATHS for method in ("GET", "HEAD"))
EXAMPLES = 50
MODERATE = {"ms": 20, "lock": 1, "n": 100_000, "rounds": 2_000}
"""Largest values that valid generated requests use, so that they cost milliseconds."""


def schema_of(document: dict[str, Any]) -> OpenApiSchema:
    return schemathesis.openapi.from_dict(document, config=SchemathesisConfig(seed=1))


def moderate(document: dict[str, Any]) -> dict[str, Any]:
    """The document with smaller maxima, and `ms` required: its default is ten seconds."""
    smaller = copy.deepcopy(document)
    for parameter in smaller["components"]["parameters"].values():
        parameter["schema"]["maximum"] = MODERATE[parameter["name"]]
        parameter["required"] = True
    return smaller


def test_document_is_valid_openapi() -> None:
    schema_of(openapi()).validate()


def test_document_names_exactly_the_contracts_paths() -> None:
    paths = {path: item for path, item in openapi()["paths"].items() if not path.startswith("x-")}
    assert tuple(paths) == PATHS
    for path, item in paths.items():
        methods = {key for key in item if key in ("get", "head", "put", "post", "delete", "options", "patch", "trace")}
        assert methods == {"get", "head"}, f"{path} has {methods}"


def test_document_and_suite_agree() -> None:
    """Ranges, refusals and fixed bodies are written twice: there for people, in `kit.rules` for the tests."""
    components = openapi()["components"]
    by_name = {p["name"]: p for p in components["parameters"].values()}
    bodies = {
        name: content["example"]
        for name, response in components["responses"].items()
        for content in response["content"].values()
        if "example" in content
    }
    for parameter in PARAMETERS:
        written = by_name[parameter.name]
        assert (written["schema"]["minimum"], written["schema"]["maximum"]) == (0, parameter.maximum)
        assert written.get("required", False) is parameter.required
        assert parameter.refusal.decode() in bodies.values()
    lock = by_name[LOCK.name]["schema"]
    assert (lock["minimum"], lock["maximum"]) == (0, LOCK.maximum)
    refusals = components["responses"]["BadMilliseconds"]["content"]["text/plain;charset=utf-8"]["schema"]["enum"]
    assert refusals == [SLEEP.refusal.decode(), LOCK.refusal.decode()]
    wait = components["parameters"]["Wait"]["schema"]
    assert (wait["minimum"], wait["maximum"]) == (0, WAIT.maximum)
    refusals = components["responses"]["BadRounds"]["content"]["text/plain;charset=utf-8"]["schema"]["enum"]
    assert refusals == [CPU.refusal.decode(), WAIT.refusal.decode()]
    assert bodies["NotFound"].encode() == NOT_FOUND
    assert bodies["MethodNotAllowed"].encode() == METHOD_NOT_ALLOWED
    assert components["headers"]["Allow"]["schema"]["const"] == ALLOW


def test_info_schema_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(openapi()["components"]["schemas"]["Info"])


@cache
def generated(label: str, mode: GenerationMode, count: int) -> tuple[Case, ...]:
    """Requests that schemathesis makes from the document: always the same ones, made once for all entries.

    Of the invalid ones only those are kept that this contract refuses; others are just a further, ignored parameter.
    """
    method, path = label.split()
    valid = mode is GenerationMode.POSITIVE
    operation = schema_of(moderate(openapi()) if valid else openapi())[path][method]
    cases: list[Case] = []

    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    def collect(case: Case) -> None:
        hypothesis.assume(valid or is_bad(path, case))
        cases.append(case)

    collect()
    return tuple(cases)


@pytest.mark.parametrize("label", OPERATIONS)
def test_generated_valid_requests(port: int, label: str) -> None:
    """Each answer is held against the document."""
    for case in generated(label, GenerationMode.POSITIVE, EXAMPLES):
        response = case.call_and_validate(base_url=f"http://127.0.0.1:{port}", timeout=20)
        assert response.status_code == 200


@pytest.mark.parametrize(("method", "count"), [("GET", EXAMPLES), ("HEAD", 10)])
@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
def test_generated_invalid_requests(port: int, parameter: Parameter, method: str, count: int) -> None:
    for case in generated(f"{method} {parameter.path}", GenerationMode.NEGATIVE, count):
        response = case.call_and_validate(base_url=f"http://127.0.0.1:{port}", timeout=20)
        assert response.status_code == 400
        assert response.content == (b"" if method == "HEAD" else parameter.refusal)


def is_bad(path: str, case: Case) -> bool:
    """The contract's rule for parameters, once more."""
    parameter = next(p for p in PARAMETERS if p.path == path)
    sent = case.as_transport_kwargs(base_url="http://localhost")
    url = requests.Request("GET", sent["url"], params=sent.get("params")).prepare().url or ""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, errors="surrogateescape")
    values = [value for name, value in pairs if name == parameter.name]
    if not values:
        return parameter.required
    fits = re.fullmatch("[0-9]{1,19}", values[0]) and int(values[0]) <= parameter.maximum
    return len(values) > 1 or not fits
