"""Tests of the agent as a real process, over its streams, with a real server and a real wrk."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import needs
import ports
import psutil
import pytest
from fixtures.closed import connect_and_close
from fixtures.scripted_server import ScriptedServer
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from waits import PATIENCE_S, Enough, until

from zoo.load.ab import Ab, AbSpec
from zoo.load.execute import Job
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.vegeta import Attack, Vegeta
from zoo.load.wrk import Wrk
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments, HostInstruments
from zoo.runtime.agent.serve import Agent, answer
from zoo.runtime.swarm.generators import NodesInstruments
from zoo.runtime.swarm.relay import DialledAgent, Relay
from zoo.sample.proc import snapshot
from zoo.sample.requests import SAMPLES, SLOPES, InfoError, seconds_per_round
from zoo.scenarios.open.analysis import analyse

pytestmark = pytest.mark.ab

LONG_S = 2 * PATIENCE_S
"""Duration of a load that the test ends early."""


def started(tmp: Path) -> subprocess.Popen[bytes]:
    """Start an agent with its temporary folders in `tmp`, because a killed agent leaves them behind."""
    return subprocess.Popen(
        [sys.executable, "-m", "zoo.runtime.agent.serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp)},
    )


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    child = started(tmp_path)
    yield child
    if child.poll() is None:
        child.kill()
        child.wait()


@pytest.fixture
def own(process: subprocess.Popen[bytes]) -> Iterator[AgentClient]:
    """Yield a client that a test may damage."""
    client = AgentClient(process)
    yield client
    client.close()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentClient]:
    client = AgentClient(started(tmp_path_factory.mktemp("agent")))
    yield client
    client.close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@needs.AB
def test_vegeta_and_ab_are_run_by_the_agent(agent: AgentClient, server: ScriptedServer) -> None:
    ticks: list[float] = []
    attack = Attack(f"{server.url}/wait/100", 0.5, 60, rate=40, keep_alive=False)
    attacked = Vegeta(AgentExecutor(agent)).run(attack, ticks.append)
    found = analyse(attacked.hits, 40, 0.5)
    assert (found.ok, found.failures) == (found.sent, {})
    assert 0 < found.sent == server.answered <= 21
    assert ticks

    outcome = Ab(AgentExecutor(agent)).run(AbSpec(f"{server.url}/", 50, 5))
    assert (outcome.complete, outcome.flawless) == (50, True)


def test_rounds_are_timed_by_the_agent(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # This server responds immediately, whatever the number of rounds. The agent does not need to warm it up here.
    monkeypatch.setattr(seconds_per_round, "__defaults__", (60.0, 0.0))
    line = json.dumps({"id": 1, "op": "seconds_per_round", "arguments": {"url": server.url}})
    assert abs(json.loads(answer(Agent(), line))["value"]) < 1e-6
    assert server.answered > 2 * SAMPLES * SLOPES


def test_an_interrupt_ends_the_agents_vegeta(
    process: subprocess.Popen[bytes], own: AgentClient, server: ScriptedServer
) -> None:
    seen: list[psutil.Process] = []

    def on_tick(elapsed: float) -> None:
        seen[:] = psutil.Process(process.pid).children()
        if seen and server.answered:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Vegeta(AgentExecutor(own)).run(Attack(server.url, LONG_S, 5, rate=10), on_tick)
    assert len(seen) == 1
    gone, left = psutil.wait_procs(seen, timeout=PATIENCE_S)
    assert (len(gone), left) == (1, [])


def test_readings_are_those_of_this_host(agent: AgentClient) -> None:
    instruments = AgentInstruments(agent)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"it runs\n")
        child.stdout.readline()
        here, there = snapshot(child.pid, deep=True), instruments.snapshot(child.pid, deep=True)
        child.kill()
    assert here is not None
    assert there is not None
    assert (there.rss_kb, there.anon_kb, there.threads) == (here.rss_kb, here.anon_kb, here.threads)
    assert there.pss_kb
    assert instruments.counters(os.getpid()) is not None
    asked = time.monotonic()
    assert 0.001 < instruments.canary() < time.monotonic() - asked
    assert instruments.limits().nofile_hard
    assert instruments.facts().cores == os.cpu_count()


def test_samples_are_recorded_while_other_things_are_asked(agent: AgentClient) -> None:
    instruments = AgentInstruments(agent)
    began = time.monotonic()
    noise = instruments.noise()
    recording = instruments.sample(os.getpid())
    for _ in range(3):
        time.sleep(0.1)
        instruments.snapshot(os.getpid())
    samples = recording.stop()
    assert 1 <= len(samples.t) <= samples.hz * samples.elapsed_s + 1
    assert samples.switches is not None
    assert min(samples.rss_kb) > 1_000
    assert 0 < samples.elapsed_s <= noise.stop(0.1).elapsed_s < time.monotonic() - began


def test_a_process_that_has_ended_raises_as_it_would_here(agent: AgentClient) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(ProcessLookupError, match="has ended"):
        AgentInstruments(agent).snapshot(child.pid)


def test_a_server_that_is_none_of_ours_fails_the_probe(agent: AgentClient, server: ScriptedServer) -> None:
    instruments = AgentInstruments(agent)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "timed out" in (instruments.hello_fault(url, 0.1) or ""), "the agent gives up, and is not given up"
    assert not instruments.is_responsive(server.url)
    assert instruments.info(server.url) is None
    with pytest.raises(InfoError, match="/info"):
        instruments.fetch_info(server.url, 1.0)


def test_wrk_run_by_the_agent_is_wrk(agent: AgentClient, server: ScriptedServer) -> None:
    ticks: list[float] = []
    outcome = Wrk(AgentExecutor(agent)).run(LoadSpec(server.url, 8, 1, 30), ticks.append)
    assert 0 < outcome.requests == outcome.histogram.total <= server.answered <= outcome.requests + 8
    assert outcome.errors.total == 0
    assert outcome.version == Wrk().version()
    assert outcome.cpu_s > 0
    assert ticks
    assert ticks == sorted(ticks)


def test_what_the_server_holds_in_mid_run_is_seen(agent: AgentClient, server: ScriptedServer) -> None:
    instruments = AgentInstruments(agent)

    def on_tick(elapsed: float) -> None:
        if instruments.count_established(server.url) == 20:
            raise Enough

    with pytest.raises(Enough):
        Wrk(AgentExecutor(agent)).run(LoadSpec(f"{server.url}/wait/300", 20, LONG_S, 5), on_tick)


def test_a_generator_that_fails_there_fails_here(agent: AgentClient) -> None:
    with ScriptedServer() as gone:
        url = gone.url
    with pytest.raises(LoadError, match="unable to connect") as caught:
        Wrk(AgentExecutor(agent)).run(LoadSpec(url, 4, 1, 5))
    assert caught.value.kind == "generator_failed"


def test_an_interrupt_ends_wrk_and_the_agent_goes_on(
    own: AgentClient, process: subprocess.Popen[bytes], server: ScriptedServer
) -> None:
    def on_tick(elapsed: float) -> None:
        if server.answered:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Wrk(AgentExecutor(own)).run(LoadSpec(server.url, 4, LONG_S, 5), on_tick)
    until(lambda: not psutil.Process(process.pid).children())
    assert AgentInstruments(own).limits().nofile_hard


def test_wrk_does_not_outlive_an_agent_whose_input_ends(
    process: subprocess.Popen[bytes], server: ScriptedServer
) -> None:
    client = AgentClient(process)
    failed: list[BaseException] = []

    def load() -> None:
        try:
            Wrk(AgentExecutor(client)).run(LoadSpec(server.url, 4, LONG_S, 5))
        except LoadError as error:
            failed.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    until(lambda: server.answered)
    running = psutil.Process(process.pid).children()
    assert process.stdin is not None
    process.stdin.close()
    process.wait(PATIENCE_S)
    thread.join(PATIENCE_S)
    client.close()
    assert failed
    assert not [child for child in running if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


def test_the_end_waits_for_a_wrk_that_is_just_being_started(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process exists before the agent has stored it. An agent that ends in between would leave it behind.
    started: list[subprocess.Popen[bytes]] = []
    begun, known = threading.Event(), threading.Event()

    real = subprocess.Popen

    def slow(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = real(command, **options)  # type: ignore[call-overload]
        if "wrk" in command[0]:
            started.append(process)
            begun.set()
            known.wait(PATIENCE_S)
        return process

    here = Agent()
    monkeypatch.setattr(subprocess, "Popen", slow)
    job = Job([["wrk", "-t2", "-c4", f"-d{LONG_S:.0f}s", server.url]], LONG_S, 2 * LONG_S, "is missing")
    line = json.dumps({"id": 1, "op": "execute", "arguments": to_jsonable_python({"job": job})})
    replies: list[str] = []
    run = threading.Thread(target=lambda: replies.append(answer(here, line)))
    run.start()
    assert begun.wait(PATIENCE_S)
    ending = threading.Thread(target=here.end)
    ending.start()
    ending.join(0.3)
    assert ending.is_alive()
    known.set()
    ending.join(PATIENCE_S)
    run.join(PATIENCE_S)
    assert started[0].returncode == -signal.SIGKILL
    assert "exit code -9" in json.loads(replies[0])["error"]["message"]


def test_an_agent_that_dies_is_told(own: AgentClient, process: subprocess.Popen[bytes]) -> None:
    instruments = AgentInstruments(own)
    recording = instruments.sample(os.getpid())
    process.send_signal(signal.SIGKILL)
    with pytest.raises(LoadError, match="ended before it answered") as caught:
        recording.stop()
    assert caught.value.kind == "agent_lost"
    with pytest.raises(LoadError, match="ended before it answered"):
        instruments.snapshot(os.getpid())
    assert not instruments.is_responsive("http://127.0.0.1:9")


def test_an_agent_that_cannot_start_gives_its_reason(tmp_path: Path) -> None:
    (tmp_path / "zoo.py").write_text("raise PermissionError(13, 'Permission denied', '/opt/zoo')\n", encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, "-m", "zoo.runtime.agent.serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    client = AgentClient(child, errors=child.stderr)
    try:
        with pytest.raises(LoadError, match=r"answered `facts`: PermissionError: .*Permission denied") as caught:
            AgentInstruments(client).facts()
        assert "Traceback" in caught.value.output
    finally:
        client.close()


def test_a_relay_alone_reads_what_it_says(tmp_path: Path) -> None:
    # Regression: the agent's reader sometimes took the line with the port, and the run waited for it forever.
    warnings = "for i in 1 2 3 4 5 6 7 8 9; do echo socat W $i >&2; sleep 0.02; done"
    command = ["sh", "-c", f"{warnings}; echo 'socat N listening on AF=2 127.0.0.1:4711' >&2; cat > /dev/null"]
    pipe = subprocess.PIPE
    with (tmp_path / "said").open("wb") as log:
        agent = DialledAgent(
            Relay(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe), "certificate", log), lambda: None
        )
        try:
            assert agent.relay.port() == 4711
        finally:
            agent.close()
    assert (tmp_path / "said").read_text(encoding="utf-8") == "".join(f"socat W {i}\n" for i in range(1, 10))


def test_an_agent_that_hangs_is_given_up(own: AgentClient, process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(LoadError, match="did not answer `cpu_s` within 0 s"):
            own.call(TypeAdapter(float), "cpu_s", within_s=0.2)
    finally:
        process.send_signal(signal.SIGCONT)


def test_an_operation_that_fails_there_is_told_and_nothing_hangs(agent: AgentClient) -> None:
    with pytest.raises(LoadError, match="KeyError"):
        agent.call(TypeAdapter(int), "no_such_operation")
    assert agent.call(TypeAdapter(float), "cpu_s") > 0


def test_from_the_host_processes_are_read_directly(agent: AgentClient) -> None:
    instruments = HostInstruments(agent)
    assert instruments.sampler == "host"
    mine = instruments.snapshot(os.getpid())
    assert mine is not None
    assert mine.rss_kb > 1_000
    noise = instruments.noise()
    recording = instruments.sample(os.getpid())
    time.sleep(0.1)  # some ticks of the kernel's clock
    assert recording.stop().rss_kb
    assert noise.stop().busy_share is not None


def test_connections_closed_on_several_nodes(agent: AgentClient) -> None:
    # A port that clients get from the kernel may have ends of earlier connections.
    port = ports.claim()
    with socket.create_server(("127.0.0.1", port)) as server:
        for end in ("server", "client", "client"):
            connect_and_close(server, end)
        url = f"http://127.0.0.1:{port}/"
        until(lambda: AgentInstruments(agent).count_closed(url, 60, 0) == 3)
        # The same host again, in place of the node with the clients.
        assert NodesInstruments(agent, [agent]).count_closed(url, 60, 0) == 6


def test_the_agent_needs_no_numpy() -> None:
    # The agent's image contains only Python, pydantic and psutil.
    script = "import sys; sys.modules['numpy'] = sys.modules['scipy'] = None; import zoo.runtime.agent.serve"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
