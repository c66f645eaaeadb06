"""The HTML report in a real browser, from a file and without a network."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from zoo.report.html import page
from zoo.report.pictures import TOOLS

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
)

pytestmark = pytest.mark.skipif(
    (DRIVER is None or BROWSER is None) and not os.environ.get("CI"),
    reason="no chromium with chromedriver here; harness/install-browser.sh installs them",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records, evidence = synthetic.records()
    path = tmp_path_factory.mktemp("run") / "report.html"
    path.write_text(page(synthetic.run(), records, evidence, TOOLS, synthetic.REFERENCE), encoding="utf-8")
    return path


@pytest.fixture
def browser(report: Path, tmp_path: Path) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = BROWSER or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={tmp_path}", "--window-size=1440,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER or "chromedriver"))
    try:
        driver.get(report.as_uri())
        yield driver
    finally:
        driver.quit()


def drawn(browser: webdriver.Chrome) -> None:
    """Wait until all charts that are not folded away are drawn."""
    done = 'return document.documentElement.dataset.drawn === "all" && !document.querySelector("[data-state=drawing]")'
    WebDriverWait(browser, 60).until(lambda b: b.execute_script(done))


def log(browser: webdriver.Chrome, name: str) -> list[dict[str, Any]]:
    return browser.get_log(name)  # type: ignore[no-untyped-call, no-any-return]


def asked(browser: webdriver.Chrome) -> list[str]:
    """Addresses that the page asked for, itself included."""
    events = [json.loads(entry["message"])["message"] for entry in log(browser, "performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


def unfold(browser: webdriver.Chrome, details: WebElement) -> None:
    """Open a folded group and wait for its charts."""
    browser.execute_script("arguments[0].open = true; arguments[0].scrollIntoView()", details)
    first = details.find_element(By.CSS_SELECTOR, ".chart")
    WebDriverWait(browser, 30).until(lambda _: first.get_attribute("data-state") == "drawn")


def test_all_charts_are_drawn_without_an_error_or_a_request(browser: webdriver.Chrome) -> None:
    drawn(browser)
    for details in browser.find_elements(By.CSS_SELECTOR, "details:has(.chart)"):
        unfold(browser, details)
    states = browser.execute_script(
        'return [...document.querySelectorAll("[data-chart]")].map((box) => box.dataset.state ?? "waiting")'
    )
    assert "failed" not in states
    empty = browser.execute_script(
        'return [...document.querySelectorAll("[data-state=drawn]")]'
        '.filter((box) => !box.querySelector("svg path")).map((box) => box.dataset.chart)'
    )
    assert empty == []
    assert [entry for entry in log(browser, "browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    assert {url.partition(":")[0] for url in asked(browser)} <= {"file", "data", "chrome"}  # it starts on a blank page


def test_filters_leave_the_rows_asked_for(browser: webdriver.Chrome) -> None:
    def rows() -> set[tuple[str | None, str | None]]:
        visible = browser.find_elements(By.CSS_SELECTOR, "#cells-table tbody tr:not([hidden])")
        return {(row.get_attribute("data-server"), row.get_attribute("data-tier")) for row in visible}

    assert len(rows()) == 4 * 3
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="server"]')).select_by_visible_text("java-vertx")
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="tier"]')).select_by_visible_text("1k")
    assert rows() == {("java-vertx", "1k")}
    assert browser.find_element(By.CSS_SELECTOR, ".filter output").text == "6 of 72 cells"
    browser.find_element(By.CSS_SELECTOR, '.filter [type="reset"]').click()
    WebDriverWait(browser, 5).until(lambda _: len(rows()) == 4 * 3)


def test_a_header_sorts_by_figures_and_again_the_other_way(browser: webdriver.Chrome) -> None:
    def figures() -> list[float | None]:
        script = (
            'return [...document.querySelectorAll("#cells-table tbody tr")]'
            ".map((row) => row.cells[2].dataset.order === undefined ? null : Number(row.cells[2].dataset.order))"
        )
        return browser.execute_script(script)  # type: ignore[no-any-return]

    head = browser.find_element(By.XPATH, '//table[@id="cells-table"]//th[.="req/s"]')
    for way, reverse in (("ascending", False), ("descending", True)):
        head.find_element(By.TAG_NAME, "button").click()
        assert head.get_attribute("aria-sort") == way
        known = [value for value in figures() if value is not None]
        assert known == sorted(known, reverse=reverse)
        assert figures()[-1] is None


def test_a_link_to_a_record_unfolds_the_records(browser: webdriver.Chrome) -> None:
    link = browser.find_element(By.CSS_SELECTOR, '#cells-table a[href="#r1"]')
    browser.execute_script("arguments[0].click()", link)
    WebDriverWait(browser, 5).until(lambda b: b.find_elements(By.ID, "r1"))
    assert browser.find_element(By.ID, "r1").is_displayed()
    hrefs = {link.get_dom_attribute("href") for link in browser.find_elements(By.CSS_SELECTOR, "#records-table a")}
    assert hrefs == {name for name in synthetic.records()[1].files if name.startswith("raw/")}


def test_nothing_is_wider_than_a_phone(browser: webdriver.Chrome) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    browser.refresh()
    drawn(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_answer_the_pictures_and_the_tables_are_there(browser: webdriver.Chrome) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.refresh()
    assert browser.find_elements(By.CSS_SELECTOR, ".verdicts td")
    assert browser.find_elements(By.CSS_SELECTOR, "#answer .chart svg path")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#cells-table tbody tr")) == 72
    assert not browser.find_element(By.CSS_SELECTOR, "form.filter").is_displayed()
