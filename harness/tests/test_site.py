"""Tests of the site of reports: every link leads to one of its pages or files, and none to a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import chrome
import pytest
from chrome import asked, log
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium_axe_python.axe import Axe

from zoo.core.manifest_files import load_catalog
from zoo.core.run_folder import Store
from zoo.reference import site
from zoo.reference.origin import outdated_servers
from zoo.reference.runs import Reference
from zoo.report.answer import Answer

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "results/reference/scenarios/open"
WHOLE = ROOT / "results/reference/bench-all"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("site")
    said: list[str] = []
    catalog = load_catalog(ROOT)
    written = site.write_site(to, [RUN], Reference(ROOT, catalog).folders, ROOT, catalog, said.append)
    assert written == to / "index.html"
    assert said == [f"{Store.open(RUN).run().id}: report"]
    return to


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for href in re.findall(r'(?:href|src)="([^"]+)"', text):
        yield unquote(href.partition("#")[0])


def test_every_link_leads_to_something_of_the_site(made: Path) -> None:
    pages = list(made.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        for href in filter(None, links(page)):
            if href.startswith("https://"):  # an article
                continue
            target = page.parent / href
            found = target / "index.html" if href.endswith("/") else target
            assert found.is_file(), f"{page.relative_to(made)}: {href}"


def test_the_index_leads_to_the_report_and_to_the_claims(made: Path) -> None:
    assert [href for href in links(made / "index.html") if href] == [
        "claims.html",
        f"runs/{Store.open(RUN).run().id}/",
    ]
    assert "java-tomcat" in (made / "index.html").read_text(encoding="utf-8")


def test_the_index_is_the_answer_for_each_server(tmp_path: Path) -> None:
    catalog = load_catalog(ROOT)
    written = site.write_site(tmp_path, [WHOLE, RUN], {}, ROOT, catalog, lambda _: None)
    servers = ["java-liberty", "java-spring", "java-tomcat", "java-vertx"]
    assert sorted(path.name for path in (tmp_path / site.ANSWERS).iterdir()) == servers, "without a synthetic variant"
    text = written.read_text(encoding="utf-8")
    for server in servers:
        answer = Answer.model_validate_json((tmp_path / site.ANSWERS / server / "answer.json").read_text("utf-8"))
        assert answer.server == server
        assert f'href="answers/{server}/answer.html"' in text
        quoted = [line for block in answer.blocks for line in block.lines if line.quoted]
        assert len(quoted) > 3
        assert all(line.text in text for line in quoted)
        older = any(server in outdated_servers(Store.open(run).run(), catalog) for run in (WHOLE, RUN))
        assert (f"Measured with an earlier build of {server}." in answer.certainty) == older


def test_a_site_of_a_zoo_without_a_ledger_has_its_reports(tmp_path: Path) -> None:
    written = site.write_site(tmp_path / "to", [RUN], {}, tmp_path, load_catalog(ROOT), lambda _: None)
    assert [href for href in links(written) if href] == [f"runs/{Store.open(RUN).run().id}/"]


@chrome.needed
@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (390, "dark")])
def test_its_pages_are_read_in_a_browser(made: Path, chromium: webdriver.Chrome, width: int, scheme: str) -> None:
    with chrome.showing(chromium, made / "index.html"):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
        axe = Axe(chromium)
        axe.inject()  # type: ignore[no-untyped-call]
        found = chromium.execute_async_script('axe.run({resultTypes: ["violations"]}).then(arguments[0])')
        serious = [issue for issue in found["violations"] if issue["impact"] in ("serious", "critical")]
        assert serious == [], Axe.report(serious)
        chromium.find_element(By.LINK_TEXT, "Published claims about threads, measured here").click()
        chrome.until(chromium, lambda b: b.title == "Server zoo, published claims")
        assert [entry for entry in log(chromium, "browser") if entry["level"] in ("SEVERE", "WARNING")] == []
        assert {url.partition(":")[0] for url in asked(chromium)} <= {"file", "data", "chrome"}
