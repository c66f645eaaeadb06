from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
from fixtures.scripted_server import ScriptedServer

from zoo.core.trial_results import AbResult
from zoo.load.ab import Ab, AbSpec, read_outcome
from zoo.load.spec import LoadError

pytestmark = pytest.mark.ab

PRINTED = """\
Document Length:        13 bytes

Concurrency Level:      100
Time taken for tests:   0.605 seconds
Complete requests:      100000
Failed requests:        0
Keep-Alive requests:    99041
Total transferred:      13472189 bytes
HTML transferred:       1300000 bytes
Requests per second:    165298.27 [#/sec] (mean)
Time per request:       0.605 [ms] (mean)
"""
PERCENTILES = "Percentage served,Time in ms\n" + "".join(f"{p},{p / 10:.3f}\n" for p in range(101))
SPEC = AbSpec("http://127.0.0.1:1/", 100_000, 100)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def read(printed: str, percentiles: str = PERCENTILES) -> AbResult:
    return read_outcome(printed, percentiles, spec=SPEC, cpu_s=0.5, version="2.3")


@needs.AB
def test_a_real_run_adds_up(server: ScriptedServer) -> None:
    ab, began = Ab(), time.monotonic()
    found = ab.run(AbSpec(f"{server.url}/wait/20", 100, 10))
    elapsed_s = time.monotonic() - began
    assert (found.requests, found.complete, found.failed, found.non_2xx) == (100, 100, 0, 0)
    assert found.flawless
    assert server.answered == 100
    assert 0.2 <= found.runtime_s < elapsed_s
    assert found.requests_per_s == pytest.approx(100 / found.runtime_s, rel=0.01)
    assert found.kept_alive > 50
    assert 20_000 <= found.percentiles_us[0] <= found.percentiles_us[50] <= found.percentiles_us[100]
    assert found.percentiles_us[100] < elapsed_s * 1e6
    assert found.version.startswith("2.")
    assert 0 < found.cpu_s < elapsed_s
    assert ab.pids() == []


@needs.AB
def test_the_host_header_may_name_another_host_than_the_url(server: ScriptedServer) -> None:
    Ab(host="zoo.test").run(AbSpec(f"{server.url}/", requests=5, connections=1))
    assert set(server.hosts) == {"zoo.test"}


@needs.AB
def test_bad_statuses_are_counted_beside_the_failed(server: ScriptedServer) -> None:
    found = Ab().run(AbSpec(f"{server.url}/status/503", 50, 5))
    assert (found.complete, found.non_2xx, found.failed) == (50, 50, 0)
    assert not found.flawless


@needs.AB
def test_a_server_that_is_not_there_fails_every_request() -> None:
    # ab counts each failure several times, and counts the request as complete.
    with ScriptedServer() as gone:
        url = gone.url
    found = Ab().run(AbSpec(f"{url}/", 50, 5))
    assert found.failed >= 50
    assert not found.flawless


@needs.AB
def test_a_server_that_hangs_ends_the_run_in_time(server: ScriptedServer) -> None:
    ab = Ab(limit_s=1)
    with pytest.raises(LoadError, match="still running after 1 s") as caught:
        ab.run(AbSpec(f"{server.url}/hang", 5, 5))
    assert caught.value.kind == "generator_hung"
    assert ab.pids() == []


def test_a_missing_ab_is_told_with_what_mends_it() -> None:
    with pytest.raises(LoadError, match="apache2-utils"):
        Ab(binary="no-such-ab").run(SPEC)


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    binary = tmp_path / "ab"
    binary.write_text("#!/bin/sh\necho oh dear; exit 22\n")
    binary.chmod(0o755)
    with pytest.raises(LoadError, match="exit code 22\noh dear"):
        Ab(binary=str(binary)).run(SPEC)


def test_the_articles_summary() -> None:
    found = read(PRINTED)
    assert found.flawless
    assert (found.kept_alive, found.runtime_s, found.requests_per_s) == (99_041, 0.605, 165_298.27)
    assert found.percentiles_us[50] == 5_000
    assert len(found.percentiles_us) == 101


def test_all_kinds_of_failures() -> None:
    kinds = (
        "Failed requests:        10\n   (Connect: 1, Receive: 2, Length: 3, Exceptions: 4)\nWrite errors:           5"
    )
    found = read(PRINTED.replace("Failed requests:        0", f"{kinds}\nNon-2xx responses:      6"))
    assert (found.failed, found.write_errors, found.non_2xx) == (10, 5, 6)
    assert not found.flawless


def test_fewer_requests_than_asked_for_are_not_flawless() -> None:
    assert not read(PRINTED.replace("Complete requests:      100000", "Complete requests:      99999")).flawless


@pytest.mark.parametrize(
    ("printed", "percentiles"),
    [
        ("", PERCENTILES),
        (PRINTED.replace("Complete", "Finished"), PERCENTILES),
        (PRINTED.replace("Keep-Alive requests:    99041\n", ""), PERCENTILES),
        (PRINTED.replace("Failed requests:        0", "Failed requests:        3"), PERCENTILES),
        (PRINTED, ""),
        (PRINTED, PERCENTILES.replace("\n50,", "\n49,")),
    ],
)
def test_a_summary_that_is_not_as_expected_is_no_data(printed: str, percentiles: str) -> None:
    with pytest.raises(LoadError) as caught:
        read(printed, percentiles)
    assert caught.value.kind == "result_invalid"
