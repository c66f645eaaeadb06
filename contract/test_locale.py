"""Tests of the machine's locale: machine-readable output is the same in every locale."""

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from kit.rules import BYTES, about, expect_hello, expect_refusal, info, openapi
from kit.server import Runtime
from kit.targets import Target
from kit.wire import fetch

LOCALES = {
    language: {"LC_ALL": f"{language}_{country}.UTF-8", "JDK_JAVA_OPTIONS": f"-Duser.language={language}"}
    for language, country in (("fa", "IR"), ("tr", "TR"))
}
"""Locales with special digits (Persian) and a special capital I (Turkish).

A JVM ignores LC_ALL if that locale is not generated, so JDK_JAVA_OPTIONS sets the language.
"""


@pytest.mark.parametrize("language", LOCALES)
def test_answers_do_not_depend_on_the_locale(folder_target: Target, runtime: Runtime, language: str) -> None:
    with runtime.serving(folder_target, LOCALES[language]) as server:
        expect_hello(fetch(server.port, "/"))
        errors = Draft202012Validator(openapi()["components"]["schemas"]["Info"]).iter_errors(info(server.port))
        assert not [error.message for error in errors]
        expect_refusal(fetch(server.port, BYTES.ask("x")), BYTES)


@pytest.mark.parametrize("language", LOCALES)
def test_errors_do_not_depend_on_the_locale(folder_target: Target, runtime: Runtime, language: str) -> None:
    with about(language), runtime.start(folder_target, {**LOCALES[language], "PORT": "x"}) as server:
        assert server.wait() != 0
        assert server.stderr.endswith('PORT must be an integer from 1 to 65535, got "x"\n'), server.stderr
