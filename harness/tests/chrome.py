"""A real browser for tests of pages, with its logs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

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
    reason="no chromium with chromedriver here; harness/install-browser.sh installs them",
)


@contextmanager
def showing(page: Path, profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser that shows the page from its file; its profile is kept in that folder."""
    options = Options()
    options.binary_location = BROWSER or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER or "chromedriver"))
    try:
        driver.get(page.as_uri())
        yield driver
    finally:
        driver.quit()


def log(browser: webdriver.Chrome, name: str) -> list[dict[str, Any]]:
    return browser.get_log(name)  # type: ignore[no-untyped-call, no-any-return]


def asked(browser: webdriver.Chrome) -> list[str]:
    """Addresses that the page asked for, itself included."""
    events = [json.loads(entry["message"])["message"] for entry in log(browser, "performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]
