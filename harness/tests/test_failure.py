"""A cell without figures says why, in the words of the program that ended."""

from __future__ import annotations

import pytest

from zoo.model.failure import Failure

LISTENING = "listening on http://127.0.0.1:9103 (java-tomcat:platform)"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (f"{LISTENING}\nTerminating due to java.lang.OutOfMemoryError: Java heap space", "OutOfMemoryError"),
        ("thread 'main' panicked at src/main.rs:7:5:\ncalled `unwrap()`", "panicked at src/main.rs:7:5"),
        ("#\n# A fatal error has been detected by the Java Runtime Environment:\n#", "fatal error"),
    ],
)
def test_a_crash_is_told_with_the_error_that_the_program_left(log: str, told: str) -> None:
    failure = Failure(kind="crashed", message="the server ended", log_tail=log)
    assert failure.text.startswith("the server ended: ")
    assert told in failure.text


@pytest.mark.parametrize(("kind", "log"), [("crashed", LISTENING), ("hung", "java.lang.Exception: of another request")])
def test_nothing_is_added_where_no_error_ended_it(kind: str, log: str) -> None:
    assert Failure(kind=kind, message="what happened", log_tail=log).text == "what happened"
