"""One rule for all parameters: decoded, `[0-9]{1,19}`, in range, given once; anything else is a 400 that says so."""

import pytest
from kit.rules import BINARY, BYTES, CPU, PARAMETERS, SLEEP, TEXT, Parameter, expect, expect_hello, expect_refusal
from kit.wire import Wire, fetch

BAD_VALUES = {
    "empty": "{p}=",
    "no-equals": "{p}",
    "negative": "{p}=-1",
    "minus-zero": "{p}=-0",
    "plus": "{p}=+5",
    "encoded-plus": "{p}=%2B5",
    "leading-space": "{p}=%205",
    "trailing-space": "{p}=5%20",
    "trailing-plus": "{p}=5+",
    "newline": "{p}=5%0A",
    "nul": "{p}=5%00",
    "decimal": "{p}=1.0",
    "exponent": "{p}=1e3",
    "hex": "{p}=0x10",
    "underscore": "{p}=1_0",
    "grouped": "{p}=1,000",
    "word": "{p}=abc",
    "null": "{p}=null",
    "too-large": "{p}={above}",
    "over-int32": "{p}=2147483648",
    "wraps-int32": "{p}=4294967297",
    "nineteen-digits": "{p}=9999999999999999999",
    "over-int64": "{p}=9223372036854775808",
    "wraps-int64": "{p}=18446744073709551617",
    "twenty-zeros": "{p}=00000000000000000005",
    "very-long": "{p}=" + "1" * 400,
    "arabic-digits": "{p}=%D9%A1%D9%A2",
    "fullwidth-digit": "{p}=%EF%BC%95",
    "not-utf8": "{p}=%ff",
    "broken-encoding": "{p}=%zz",
    "half-encoding": "{p}=1%3",
    "lone-percent": "{p}=1%",
    "twice": "{p}=1&{p}=2",
    "twice-the-same": "{p}=1&{p}=1",
    "twice-one-without-value": "{p}=1&{p}",
    "twice-one-encoded": "{p}=1&{encoded}=2",
    "second-bad": "{p}=1&x=2&{p}=abc",
    "semicolon": "{p}=1;x=2",
    "two-equals": "{p}==1",
    "bracketed": "{p}=[1]",
}

GOOD_QUERIES = {
    "plain": "{p}=7",
    "leading-zeros": "{p}=007",
    "nineteen-digits": "{p}=0000000000000000007",
    "encoded-value": "{p}=%37",
    "encoded-name": "{encoded}=7",
    "others-ignored": "x=1&{p}=7&y=abc&z",
    "other-broken": "x=%zz&{p}=7",
    "other-twice": "x=1&x=2&{p}=7",
    "other-case-is-another": "{upper}=abc&{p}=7",
    "empty-pairs": "&&{p}=7&",
    "name-with-suffix": "{p}s=abc&{p}=7&a{p}=abc",
}

SEVENTH_DIGEST = b"5d1adcb5797c2eff1ba0460af9324ac6df5b6ffb66be6df2547872c2f29ba4c2"


def fill(template: str, parameter: Parameter) -> str:
    name = parameter.name
    encoded = f"{name[:-1]}%{ord(name[-1]):02x}"
    query = template.format(p=name, encoded=encoded, upper=name.upper(), above=parameter.maximum + 1)
    return f"{parameter.path}?{query}"


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_parameter(port: int, parameter: Parameter, name: str) -> None:
    expect_refusal(fetch(port, fill(BAD_VALUES[name], parameter)), parameter)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
@pytest.mark.parametrize("name", GOOD_QUERIES)
def test_good_parameter(port: int, parameter: Parameter, name: str) -> None:
    response = fetch(port, fill(GOOD_QUERIES[name], parameter))
    match parameter.name:
        case "ms":
            expect_hello(response)
        case "n":
            expect(response, 200, BINARY, b"abcdefg")
        case _:
            expect(response, 200, TEXT, SEVENTH_DIGEST)


@pytest.mark.parametrize("parameter", [BYTES, CPU], ids=lambda p: p.name)
@pytest.mark.parametrize("query", ["", "?", "?x=1"])
def test_missing_parameter(port: int, parameter: Parameter, query: str) -> None:
    expect_refusal(fetch(port, parameter.path + query), parameter)


def test_missing_ms_means_the_default(port: int) -> None:
    """Not a refusal, and not no delay at all; that it is ten seconds is tested in test_delays."""
    for query in ("", "?", "?MS=1", "?x=1"):
        with Wire(port) as wire:
            wire.send(f"GET {SLEEP.path}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert wire.silent_for(0.15), f"/sleep{query} answered at once"


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_head_is_refused_alike(port: int, parameter: Parameter) -> None:
    head = fetch(port, f"{parameter.path}?{parameter.name}=-1", "HEAD")
    assert (head.status, head.header("Content-Length")) == (400, str(len(parameter.refusal)))
