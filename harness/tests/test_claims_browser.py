"""Tests of the ledger's page in a real browser, from a file and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chrome
import pytest
from chrome import asked, log
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from test_claims_page import ledger, said

from zoo.report.ledger_page import render_page

pytestmark = [pytest.mark.browser, chrome.needed]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("claims") / "ledger.html"
    path.write_text(render_page(ledger(), said(ledger())), encoding="utf-8")
    return path


@pytest.fixture
def browser(written: Path, chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    with chrome.showing(chromium, written):
        yield chromium


def shown(browser: webdriver.Chrome) -> list[str]:
    rows = browser.find_elements(By.CSS_SELECTOR, "details.claim")
    return [row.get_attribute("id") or "" for row in rows if row.is_displayed()]


def test_claims_are_filtered_by_article_and_verdict(browser: webdriver.Chrome) -> None:
    assert shown(browser) == ["Q1", "Q2", "Q3", "Q4"]
    verdict = Select(browser.find_element(By.CSS_SELECTOR, "[data-filter=verdict]"))
    verdict.select_by_visible_text("not measured")
    assert shown(browser) == ["Q3", "Q4"]
    assert browser.find_element(By.CSS_SELECTOR, "form output").text == "2 of 4 claims"
    browser.find_element(By.CSS_SELECTOR, "form [type=reset]").click()
    assert shown(browser) == ["Q1", "Q2", "Q3", "Q4"]


def test_a_row_opens_to_its_evidence(browser: webdriver.Chrome) -> None:
    evidence = browser.find_element(By.CSS_SELECTOR, "#Q1 .evidence")
    assert not evidence.is_displayed()
    browser.find_element(By.CSS_SELECTOR, "#Q1 summary").click()
    assert evidence.is_displayed()
    assert evidence.find_element(By.CSS_SELECTOR, "td.line svg").size["width"] > 50


def test_a_link_to_a_claim_opens_it(browser: webdriver.Chrome) -> None:
    browser.get(f"{browser.current_url}#Q2")
    chrome.until(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#Q2 .evidence").is_displayed())


def test_nothing_is_asked_of_a_network_and_nothing_fails(browser: webdriver.Chrome) -> None:
    assert [address for address in asked(browser) if not address.startswith(("file:", "data:", "chrome"))] == []
    assert [entry["message"] for entry in log(browser, "browser")] == []
    assert browser.title == "Server zoo, published claims"
