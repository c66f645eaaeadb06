from __future__ import annotations

import json
import operator
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fixtures.scripted_server import OPENS_AFTER_S, ScriptedServer
from waits import PATIENCE_S

from zoo.load.execute import Job, LocalExecutor
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack, Vegeta, align_hits, classify_failure, command, count_processes, read_hits
from zoo.scenarios.open.analysis import analyse
from zoo.scenarios.ramp.analysis import WINDOW_S, answers, ramp

LATE_S = 60.0
"""Time that no response takes, however busy the machine."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


# --- the open model


def test_a_constant_rate_whatever_the_server_does(server: ScriptedServer) -> None:
    # 100 per second for 1 s, each answered after 300 ms: 100 requests, 30 of them in flight at a time.
    vegeta = Vegeta()
    ticks: list[float] = []
    attacked = vegeta.run(Attack(f"{server.url}/wait/300", 1, LATE_S, rate=100, keep_alive=False), ticks.append)
    found = analyse(attacked.hits, 100, 1)
    assert (found.due, found.ok, found.failures) == (100, found.sent, {})
    assert 0 < found.sent <= 101, "on a busy machine some are left out"
    assert found.sent == server.answered == server.connections, "a connection for each request"
    (hits,) = attacked.hits
    assert found.answered.values_us[0] >= min(hits.took_us) >= 300_000
    assert found.total_s * 1e6 == pytest.approx(max(map(operator.add, hits.sent_us, hits.took_us)))
    assert attacked.cpu_s > 0
    assert attacked.version[:3] == "12."
    assert ticks
    assert ticks == sorted(ticks)
    assert vegeta.pids() == []


def test_connections_are_kept_where_asked_for(server: ScriptedServer) -> None:
    # One request in flight at a time needs one connection.
    attacked = Vegeta().run(Attack(f"{server.url}/", 0.3, LATE_S, rate=100, connections=1))
    (hits,) = attacked.hits
    assert len(hits.sent_us) == server.answered > server.connections == 1


def test_what_the_server_does_not_answer_times_out(server: ScriptedServer) -> None:
    attack = Attack(f"{server.url}/hang", 0.3, 0.5, rate=50, keep_alive=False)
    attacked = Vegeta().run(attack)
    found = analyse(attacked.hits, 50, 0.3)
    assert found.failures == {"timeout": found.sent}
    assert found.sent > 0
    assert found.ok_share == found.ok_per_s == 0
    (hits,) = attacked.hits
    assert "-timeout=0.5s" in command(attack)
    assert min(hits.took_us) >= 500_000


def test_bad_statuses_and_refused_connections_are_told_apart(server: ScriptedServer) -> None:
    attacked = Vegeta().run(Attack(f"{server.url}/status/503", 0.3, LATE_S, rate=50))
    assert set(analyse(attacked.hits, 50, 0.3).failures) == {"status 503"}
    with ScriptedServer() as gone:
        url = gone.url
    attacked = Vegeta().run(Attack(url, 0.3, LATE_S, rate=50))
    assert set(analyse(attacked.hits, 50, 0.3).failures) == {"refused"}


def test_more_connections_than_one_process_may_open(server: ScriptedServer) -> None:
    # 60 per second, each open for 1 s, in processes of at most 36 connections.
    attack = Attack(f"{server.url}/wait/1000", 1, LATE_S, rate=60, connections=100, keep_alive=False)
    attacked = Vegeta(nofile=100).run(attack)
    assert len(attacked.hits) == 3
    found = analyse(attacked.hits, 60, 1)
    assert 0 < found.sent <= 63
    assert found.ok == found.sent == server.answered
    assert min(at for one in attacked.hits for at in one.sent_us) == 0


def test_a_generator_with_too_few_workers_falls_behind(server: ScriptedServer) -> None:
    # Five connections get at most five responses in 200 ms.
    attacked = Vegeta().run(Attack(f"{server.url}/wait/200", 1, LATE_S, rate=100, connections=5))
    found = analyse(attacked.hits, 100, 1)
    assert 0 < found.sent <= 5 * (1 / 0.2 + 1)
    assert found.behind is not None


# --- the closed model


def test_t95_of_a_real_server_is_found_within_one_window(server: ScriptedServer) -> None:
    # No wait starts before the server opens, so every first response comes one delay after that. The server notes when
    # it has served 95% of its clients. The clients themselves note when they receive the responses and how long they
    # need to send again. The ramp is computed with a delay of a minute instead of theirs: within it, no client is
    # served twice.
    delay_s, connections = 0.3, 40
    attack = Attack(f"{server.url}/opening/300", 2, LATE_S, connections=connections)
    attacked = Vegeta().run(attack)
    had = answers(attacked.hits)
    users = int(0.95 * connections)
    seen = ramp(had, connections, delay_s=60, duration_s=60)
    assert server.answered_at[users - 1] - server.asked_at >= OPENS_AFTER_S + delay_s
    assert seen.t95_s is not None
    assert server.answered_at[users - 1] - server.asked_at <= had[users - 1] <= seen.t95_s <= had[users - 1] + WINDOW_S
    assert not any(seen.windows[:12])
    at_best = ramp(had, connections, delay_s, attack.duration_s).late
    assert at_best is not None
    assert at_best <= 1
    assert server.connections == connections


# --- when something is wrong


def test_nothing_outlives_an_interrupt(server: ScriptedServer) -> None:
    vegeta = Vegeta()
    seen: list[int] = []

    def on_tick(elapsed: float) -> None:
        seen[:] = vegeta.pids()
        if server.answered:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vegeta.run(Attack(server.url, 2 * PATIENCE_S, LATE_S, rate=10), on_tick)
    assert len(seen) == 1
    assert not is_running(seen[0])


def test_a_missing_vegeta_is_told_with_what_mends_it() -> None:
    with pytest.raises(LoadError, match="make tools") as caught:
        Vegeta(binary="no-such-vegeta").run(Attack("http://127.0.0.1:9", 1, 1, rate=1))
    assert caught.value.kind == "generator_missing"


def test_the_host_header_may_name_another_host_than_the_url(server: ScriptedServer) -> None:
    Vegeta(host="zoo.test").run(Attack(f"{server.url}/", 1, LATE_S, rate=5))
    assert set(server.hosts) == {"zoo.test"}


def test_a_vegeta_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    binary = tmp_path / "vegeta"
    binary.write_text("#!/bin/sh\necho oh dear; exit 3\n")
    binary.chmod(0o755)
    with pytest.raises(LoadError, match="exit code 3\noh dear"):
        Vegeta(binary=str(binary)).run(Attack("http://127.0.0.1:9", 1, 1, rate=1))


@pytest.mark.parametrize(
    "attack",
    [Attack("u", 1, 1), Attack("u", 1, 1, rate=0), Attack("u", 0, 1, rate=1), Attack("u", 1, 1, connections=0)],
)
def test_a_load_that_is_none_is_refused(attack: Attack) -> None:
    with pytest.raises(LoadError) as caught:
        count_processes(attack, 1_000)
    assert caught.value.kind == "spec_invalid"


def test_how_many_processes() -> None:
    spring = Attack("u", 60, 60, rate=400, keep_alive=False)
    assert spring.max_in_flight == 24_000
    assert count_processes(spring, 19_936) == 2
    assert count_processes(replace(spring, timeout_s=10), 19_936) == 1
    assert count_processes(Attack("u", 60, 5, connections=1_000), 19_936) == 1


# --- the results


def row(number: int, sent_ns: int, status: int = 200, error: str = "") -> list[str]:
    return [str(sent_ns), str(status), "2000999", "0", "0", error, "", "", str(number), "GET", "u", ""]


def test_results_are_put_in_the_order_of_sending_and_on_one_clock() -> None:
    first = read_hits([row(1, 5_003_000), row(0, 5_000_000), row(2, 5_004_999, 0, "EOF")])
    second = read_hits([row(0, 4_000_000)])
    hits = align_hits([first, None, second])
    assert [one.sent_us for one in hits] == [[1_000, 1_003, 1_004], [0]]
    assert hits[0].took_us == [2_000] * 3
    assert hits[0].failed == {"closed": [2]}


@pytest.mark.parametrize("rows", [[row(0, 1), row(2, 2)], [row(0, 1), row(0, 2)], [["1", "200"]], [["x"] * 12]])
def test_results_with_a_gap_or_of_another_form_are_no_data(rows: list[list[str]]) -> None:
    with pytest.raises(LoadError) as caught:
        read_hits(rows)
    assert caught.value.kind == "result_invalid"


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (200, "", ""),
        (204, "", "status 204"),
        (503, "503 Service Unavailable", "status 503"),
        (0, 'Get "u": dial tcp 0.0.0.0:0->127.0.0.1:80: connect: connection refused', "refused"),
        (0, 'Get "u": dial tcp: lookup: socket: too many open files', "generator: descriptors"),
        (0, 'Get "u": dial tcp 0.0.0.0:0->127.0.0.1:80: bind: address already in use', "generator: ports"),
        (0, 'Get "u": context deadline exceeded (Client.Timeout exceeded while awaiting headers)', "timeout"),
        (0, "read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer", "reset"),
        (0, 'Get "u": EOF', "closed"),
        (0, "net/http: HTTP/1.x transport connection broken: malformed MIME header", "other"),
    ],
)
def test_kinds_of_failures(status: int, error: str, kind: str) -> None:
    assert classify_failure(status, error) == kind


def test_converting_results_uses_cpu_time_that_counts_separately() -> None:
    work = [sys.executable, "-S", "-c", "sum(range(10_000_000))"]
    writes = [sys.executable, "-S", "-c", "open('out', 'w').write('x')"]
    job = Job([writes], window_s=PATIENCE_S, limit_s=PATIENCE_S, install="", results=["out"])
    assert LocalExecutor().execute(job).convert_cpu_s == 0
    done = LocalExecutor().execute(replace(job, convert={"out": work}))
    assert done.convert_cpu_s > done.cpu_s > 0


def test_the_version_is_the_one_of_the_module() -> None:
    module = Path(__file__).parents[1] / "vegeta"
    told = subprocess.run(["go", "mod", "edit", "-json"], cwd=module, capture_output=True, text=True, check=True).stdout
    (required,) = json.loads(told)["Require"]
    assert required["Version"] == f"v{Vegeta().version()}"
