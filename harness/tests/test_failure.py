"""Tests that a cell without figures says why, in the words of the program that ended."""

from __future__ import annotations

import pytest

from zoo.core.errors import start_failure
from zoo.core.record import Failure

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


CANNOT = "Error: Could not create the Java Virtual Machine.\nError: A fatal exception has occurred. Program will exit."


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (f"Unrecognized VM option 'Foo'\n{CANNOT}", "Unrecognized VM option 'Foo'"),
        (f"Unrecognized option: -Xfoo\n{CANNOT}", "Unrecognized option: -Xfoo"),
        (
            "Error: VM option 'UseEpsilonGC' is experimental and must be enabled via -XX:+Unlock.\n"
            "Error: The unlock option must precede 'UseEpsilonGC'.\n"
            f"Improperly specified VM option 'UseEpsilonGC'\n{CANNOT}",
            "Error: VM option 'UseEpsilonGC' is experimental and must be enabled via -XX:+Unlock.",
        ),
        ("Error occurred during initialization of VM\nToo small maximum heap", "Too small maximum heap"),
        ("OpenJDK 64-Bit Server VM warning: Option X was deprecated\nError: Unable to access jarfile x.jar", "x.jar"),
        (
            'Exception in thread "main" java.io.IOException: full\n\tat zoo.Main.main(Main.java:3)\n',
            "IOException: full",
        ),
        (
            "thread 'main' panicked at src/main.rs:7:5:\nno port\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
            "no port",
        ),
        ("cannot listen on 127.0.0.1:1: in use", "cannot listen on 127.0.0.1:1: in use"),
        ("", "before it listened"),
    ],
)
def test_a_server_that_never_listened_is_told_with_the_line_that_says_why(log: str, line: str) -> None:
    error = start_failure(1, log)
    assert error.message.endswith(line)
    assert "A fatal exception" not in Failure(kind=error.kind, message=error.message, log_tail=log).text
