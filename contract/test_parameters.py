"""Tests of numeric parameters: anything but an integer in range gets a 400 that names the parameter and its range."""

import pytest
from kit.rules import (
    BINARY,
    BYTES,
    FIRST_DIGEST,
    LOCK,
    PARAMETERS,
    SLEEP,
    TEXT,
    WAIT,
    Parameter,
    about,
    expect,
    expect_hello,
    expect_refusal,
)
from kit.targets import Target
from kit.wire import Response, fetch

NO_INTEGER = ("abc", "1.5", "1e3", "null")
OUT_OF_RANGE = ("-1", "2147483648", "4294967297", "9223372036854775808", "18446744073709551617", "1" * 100)
"""Numbers out of range, including some that would fit if their upper bits were cut off."""

SEVENTH_DIGEST = b"5d1adcb5797c2eff1ba0460af9324ac6df5b6ffb66be6df2547872c2f29ba4c2"


def bad_values(parameter: Parameter) -> list[str]:
    """Return bad values; an empty one only if a value is required, because a framework may treat it as missing."""
    empty = [""] if parameter.required else []
    return [*NO_INTEGER, *OUT_OF_RANGE, str(parameter.maximum + 1), *empty]


def expect_seven(parameter: Parameter, response: Response) -> None:
    if parameter == SLEEP:
        expect_hello(response)
    elif parameter == BYTES:
        expect(response, BINARY, b"abcdefg")
    else:
        expect(response, TEXT, FIRST_DIGEST if parameter == WAIT else SEVENTH_DIGEST)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=str)
def test_bad_number(port: int, parameter: Parameter) -> None:
    for value in bad_values(parameter):
        with about(value):
            expect_refusal(fetch(port, parameter.ask(value)), parameter)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=str)
def test_good_number_among_others(port: int, parameter: Parameter) -> None:
    for value in ("7", "7&x=1&y=abc&z"):
        with about(value):
            expect_seven(parameter, fetch(port, parameter.ask(value)))


@pytest.mark.parametrize("parameter", [p for p in PARAMETERS if p.required], ids=str)
def test_missing_number(port: int, parameter: Parameter) -> None:
    for path in (parameter.path, f"{parameter.path}?x=1"):
        with about(path):
            expect_refusal(fetch(port, path), parameter)


def test_bad_lock_is_refused_by_java_and_ignored_by_others(port: int, target: Target) -> None:
    for value in ("2", "-1", "x"):
        with about(value):
            response = fetch(port, LOCK.ask(value))
            if target.jvm:
                expect_refusal(response, LOCK)
            else:
                expect_hello(response)
