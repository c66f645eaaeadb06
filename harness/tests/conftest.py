from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator

import chrome
import pytest
from hypothesis import settings
from selenium import webdriver

import zoo.scenarios  # noqa: F401 (registers the scenarios)

# A loaded machine makes examples slow without making them wrong.
settings.register_profile("zoo", deadline=None)
settings.load_profile("zoo")


def pytest_configure() -> None:
    """A shell's background job has it ignored, and so would all that is started here."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tested, and why: else a run without a browser looks like a whole one."""
    reports: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    why = Counter(report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple))
    for reason, count in why.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}", yellow=True)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """One browser for all tests; each has a tab of its own."""
    with chrome.running(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver
