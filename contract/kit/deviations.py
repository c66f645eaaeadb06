"""Where a framework departs from the contract and the server on it cannot help it: these tests must fail."""

DEVIATIONS = {
    ("java-liberty", "test_wrong_method", "get"): "Open Liberty takes the names of methods in any case",
    ("java-liberty", "test_garbage", "http-nine"): "Open Liberty answers any version of HTTP, in that version",
}
"""By server, test function, and the test's own parameter."""


def deviation(name: str) -> str | None:
    """The reason why this test (`function[server:variant-parameter]`) must fail, or None."""
    function, _, parameters = name.rstrip("]").partition("[")
    server, _, rest = parameters.partition(":")
    return DEVIATIONS.get((server, function, rest.partition("-")[2]))
