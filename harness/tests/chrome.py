"""A real browser for tests of pages, with its logs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait
from waits import PATIENCE_S

DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,900",
)

needed = pytest.mark.skipif(
    (DRIVER is None or BROWSER is None) and not os.environ.get("CI"),
    reason="no browser (`make browser` installs Chromium)",
)


@contextmanager
def running(profile: Path) -> Iterator[webdriver.Chrome]:
    """Yield a browser without a page. Its profile is stored in that folder."""
    options = Options()
    options.binary_location = BROWSER or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER or "chromedriver"))
    try:
        driver.set_script_timeout(10 * PATIENCE_S)
        yield driver
    finally:
        driver.quit()


@contextmanager
def showing(driver: webdriver.Chrome, page: Path) -> Iterator[None]:
    """Show a page from its file in a new tab, with its own logs, size and media."""
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    for name in ("browser", "performance"):
        log(driver, name)
    try:
        driver.get(page.as_uri())
        yield
    finally:
        driver.close()
        driver.switch_to.window(first)


def until(driver: webdriver.Chrome, condition: Callable[[webdriver.Chrome], object]) -> None:
    WebDriverWait(driver, PATIENCE_S, poll_frequency=0.02).until(condition)


def log(browser: webdriver.Chrome, name: str) -> list[dict[str, Any]]:
    return browser.get_log(name)  # type: ignore[no-untyped-call, no-any-return]


def asked(browser: webdriver.Chrome) -> list[str]:
    """Return the addresses that the page requested, including its own."""
    events = [json.loads(entry["message"])["message"] for entry in log(browser, "performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]
