"""Tests of the HTML report in a real browser, from a file and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chrome
import pytest
import synthetic
from chrome import asked, log
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium_axe_python.axe import Axe

from zoo.core.entry_id import with_condition, without_aa
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report.page.contents import Contents
from zoo.report.page.html import render_page
from zoo.report.page.svg import TOOLS
from zoo.report.raw_files import RawFiles
from zoo.report.summary import Summary

CELLS = (2 * len(synthetic.NATURES) + len(synthetic.TWINS)) * 3
PHONE = 390
"""Width in pixels."""

pytestmark = [pytest.mark.browser, chrome.needed]


def written(folder: Path, run: Run, records: list[Record], evidence: RawFiles) -> Path:
    path = folder / "report.html"
    path.write_text(
        render_page(Contents.of(Summary.of(run, records, synthetic.REFERENCE), evidence), TOOLS), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("run"), synthetic.run(), *synthetic.records())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page with everything a page can have, but for few entries: axe checks every element."""
    records, evidence = synthetic.records(2)
    few = ("java-spring:platform", "java-spring:virtual", "rust-axum:async")
    mine = [r for r in records if without_aa(r.entry) in few]
    again = [
        r.model_copy(update={"entry": with_condition(r.entry, "heap=50m")}) for r in mine if r.entry.startswith("java")
    ]
    return written(tmp_path_factory.mktemp("small"), synthetic.run(2), [*mine, *again], evidence)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("long"), synthetic.run(20), *synthetic.records(20))


@pytest.fixture
def browser(report: Path, chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    with chrome.showing(chromium, report):
        yield chromium


def drawn(browser: webdriver.Chrome) -> None:
    """Wait until all charts outside folded groups are drawn."""
    done = 'return document.documentElement.dataset.drawn === "all" && !document.querySelector("[data-state=drawing]")'
    chrome.until(browser, lambda b: b.execute_script(done))


def emulate(browser: webdriver.Chrome, width: int, **features: str) -> None:
    """Set the window's width and media features such as the colour scheme. A narrow window emulates a phone."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})


def unfold(browser: webdriver.Chrome, details: WebElement) -> None:
    """Open a folded group and wait for its charts."""
    browser.execute_script("arguments[0].open = true; arguments[0].scrollIntoView()", details)
    first = details.find_element(By.CSS_SELECTOR, ".chart")
    chrome.until(browser, lambda _: first.get_attribute("data-state") == "drawn")


def open_all(browser: webdriver.Chrome) -> None:
    """Open all folded groups and draw their charts."""
    browser.find_element(By.CSS_SELECTOR, "[data-open]").click()


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
    def rows() -> set[tuple[str, str]]:
        script = (
            'return [...document.querySelectorAll("#cells-table tbody tr:not([hidden])")]'
            ".map((row) => [row.dataset.server, row.dataset.tier])"
        )
        return set(map(tuple, browser.execute_script(script)))

    assert len(rows()) == 5 * 3
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="server"]')).select_by_visible_text("java-vertx")
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="tier"]')).select_by_visible_text("1k")
    assert rows() == {("java-vertx", "1k")}
    assert browser.find_element(By.CSS_SELECTOR, ".filter output").text == f"6 of {CELLS} cells"
    shown = browser.find_elements(By.CSS_SELECTOR, ".strip tbody tr")
    assert [row.text.split()[0] for row in shown if row.is_displayed()] == ["java-vertx"]
    browser.find_element(By.CSS_SELECTOR, '.filter [type="reset"]').click()
    assert len(rows()) == 5 * 3


def test_a_filter_leaves_the_marks_asked_for_in_the_charts(browser: webdriver.Chrome) -> None:
    # Every chart describes its content for people who cannot see it. The test counts the marks of the first chart.
    drawn(browser)
    marks = 'return document.querySelector(".four [data-state=drawn]").querySelectorAll("path[aria-label]").length'
    before = browser.execute_script(marks)
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="server"]')).select_by_visible_text("java-vertx")
    chrome.until(browser, lambda b: 0 < b.execute_script(marks) < before)
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="scenario"]')).select_by_visible_text("sleep")
    assert not browser.find_element(By.CSS_SELECTOR, ".four figure").is_displayed(), "it is of hello"
    browser.find_element(By.CSS_SELECTOR, '.filter [type="reset"]').click()
    chrome.until(browser, lambda b: b.execute_script(marks) == before)


def test_an_address_with_a_filter_shows_the_same_view_again(browser: webdriver.Chrome) -> None:
    output = (By.CSS_SELECTOR, ".filter output")
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="server"]')).select_by_visible_text("java-vertx")
    Select(browser.find_element(By.CSS_SELECTOR, '[data-filter="tier"]')).select_by_visible_text("1k")
    shared, told = browser.current_url, browser.find_element(*output).text
    assert shared.endswith("#server=java-vertx&tier=1k")
    browser.find_element(By.CSS_SELECTOR, '.filter [type="reset"]').click()
    assert "#" not in browser.current_url
    assert browser.find_element(*output).text != told
    browser.get(shared)
    browser.refresh()
    assert browser.find_element(*output).text == told
    browser.get(f"{shared.partition('#')[0]}#server=nobody")
    browser.refresh()
    assert browser.find_element(*output).text == f"{CELLS} of {CELLS} cells"


def test_on_a_phone_the_names_of_rows_leave_their_marks_the_width(browser: webdriver.Chrome) -> None:
    emulate(browser, PHONE)
    browser.refresh()
    drawn(browser)
    chart = browser.find_element(By.CSS_SELECTOR, ".four [data-state=drawn]")
    script = (
        "const box = arguments[0].getBoundingClientRect();"
        'const plot = arguments[0].querySelector(".background").getBoundingClientRect();'
        'const names = [...arguments[0].querySelectorAll(".role-axis-label text")];'
        "const right = Math.max(...names.map((name) => name.getBoundingClientRect().right));"
        "return [plot.width / box.width, right <= box.right];"
    )
    share, inside = browser.execute_script(script, chart)
    assert share > 0.85
    assert inside


def test_before_the_folds_a_report_is_eight_screens_of_a_phone(browser: webdriver.Chrome) -> None:
    emulate(browser, PHONE)
    browser.refresh()
    drawn(browser)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    assert height <= 8 * 844


def test_a_header_sorts_by_figures_and_again_the_other_way(browser: webdriver.Chrome) -> None:
    def figures() -> list[float | None]:
        script = (
            'return [...document.querySelectorAll("#cells-table tbody tr")]'
            ".map((row) => row.cells[3].dataset.order === undefined ? null : Number(row.cells[3].dataset.order))"
        )
        return browser.execute_script(script)  # type: ignore[no-any-return]

    open_all(browser)
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
    chrome.until(browser, lambda b: b.find_elements(By.ID, "r1"))
    assert browser.find_element(By.ID, "r1").is_displayed()
    hrefs = browser.execute_script(
        'return [...document.querySelectorAll("#records-table a")].map((link) => link.getAttribute("href"))'
    )
    assert set(hrefs) == {name for name in synthetic.records()[1].files if name.startswith("raw/")}


def test_nothing_is_wider_than_a_phone(browser: webdriver.Chrome) -> None:
    emulate(browser, PHONE)
    browser.refresh()
    drawn(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE


def test_without_scripts_the_answer_the_pictures_and_the_tables_are_there(browser: webdriver.Chrome) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.refresh()
    assert browser.find_elements(By.CSS_SELECTOR, ".verdicts td")
    assert browser.find_elements(By.CSS_SELECTOR, "#answer .chart svg path")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#cells-table tbody tr")) == CELLS
    assert not browser.find_element(By.CSS_SELECTOR, "form.filter").is_displayed()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (PHONE, "light")])
def test_axe_finds_no_serious_issue(browser: webdriver.Chrome, small: Path, width: int, scheme: str) -> None:
    # Contrast is checked once per colour scheme, on the wide page only: axe needs minutes for a page as long as on a
    # phone, and its colours are the same. Apart from its colours, a page is the same in both schemes.
    emulate(browser, width, prefers_color_scheme=scheme)
    browser.get(small.as_uri())
    drawn(browser)
    browser.execute_script('document.querySelectorAll("details").forEach((details) => { details.open = true; })')
    drawn(browser)
    axe = Axe(browser)
    axe.inject()  # type: ignore[no-untyped-call]
    contrast = {"enabled": width > PHONE}
    run = "axe.run(arguments[0]).then(arguments[1])"
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": contrast}}
    found = browser.execute_async_script(run, options)
    serious = [issue for issue in found["violations"] if issue["impact"] in ("serious", "critical")]
    assert serious == [], Axe.report(serious)
    assert len(found["passes"]) > 20


def test_the_page_is_used_by_keyboard_alone(browser: webdriver.Chrome) -> None:
    drawn(browser)

    def press(key: str) -> WebElement:
        ActionChains(browser).send_keys(key).perform()
        return browser.switch_to.active_element

    def reach(css: str) -> WebElement:
        found = browser.find_element(By.CSS_SELECTOR, css)
        browser.execute_script("arguments[0].focus()", found)
        assert browser.switch_to.active_element == found
        return found

    skip = press(Keys.TAB)
    assert skip.text == "Skip to the answer"
    assert skip.rect["x"] >= 0
    press(Keys.ENTER)
    chrome.until(browser, lambda b: b.execute_script("return location.hash") == "#answer")
    reach("#cells summary")
    press(Keys.ENTER)
    reach("#cells-table th button")
    press(Keys.ENTER)
    assert browser.find_element(By.CSS_SELECTOR, "#cells-table th").get_attribute("aria-sort") == "ascending"
    reach("#records-all summary")
    press(Keys.ENTER)
    chrome.until(browser, lambda b: b.find_elements(By.ID, "r1"))
    assert browser.find_element(By.ID, "r1").is_displayed()
    wide = browser.find_elements(By.CSS_SELECTOR, ".scroll")
    assert all(place.get_attribute("tabindex") == "0" and place.get_attribute("aria-label") for place in wide)


def test_a_run_of_twenty_rounds_opens_in_under_a_second(browser: webdriver.Chrome, long: Path) -> None:
    # The limit applies to CPU time until the page has loaded and painted its answer. Time taken by other programs does
    # not count.
    browser.execute_cdp_cmd("Performance.enable", {})
    painted = 'return performance.getEntriesByName("first-contentful-paint").length'
    took = []
    for _ in range(3):
        browser.get(long.as_uri())
        chrome.until(browser, lambda b: b.execute_script(painted))
        metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        took.append(next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime"))
        assert browser.find_element(By.CSS_SELECTOR, "#answer .strip td").is_displayed()
    assert 0 < min(took) < 1.0


def test_a_print_has_the_charts_and_nothing_beyond_the_paper(browser: webdriver.Chrome) -> None:
    parts = 'document.querySelectorAll("main > section > details").forEach((part) => { part.open = true; });'
    browser.execute_script(f'{parts} document.dispatchEvent(new CustomEvent("unfolded"))')
    drawn(browser)
    paper = browser.execute_cdp_cmd("Page.printToPDF", {"landscape": True, "printBackground": True})
    assert len(paper["data"]) > 100_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    metrics = {"width": 1045, "height": 717, "deviceScaleFactor": 1, "mobile": False}  # A4 with Chromium's margins
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1045
    assert browser.execute_script('return document.querySelectorAll("[data-state=drawn] svg").length') > 40
