from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator

import chrome
import pytest
from hypothesis import settings
from selenium import webdriver

import zoo.scenarios  # noqa: F401 (registers the scenarios)

# A busy machine makes examples slow, but not wrong.
settings.register_profile("zoo", deadline=None)
settings.load_profile("zoo")


def pytest_configure() -> None:
    """Restore the handlers for SIGINT and SIGHUP.

    A shell's background job ignores the first, nohup the second, and so would every process started here.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which tests were skipped and why. Otherwise a run without a browser looks like a complete one."""
    reports: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    why = Counter(report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple))
    for reason, count in why.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}", yellow=True)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Share one browser between all tests. Each test has its own tab."""
    with chrome.running(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver
