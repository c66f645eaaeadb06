"""Tests of samplers on captured texts and on real processes."""

import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise

import ports
import psutil
import pytest
from fakes import ManualTime
from fixtures.closed import connect_and_close
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waits import until

from zoo.core.samples import Noise, Samples
from zoo.host.files import read_text
from zoo.sample import cgroup as sample_cgroup
from zoo.sample import diag, net, noise, peak_memory, proc, requests, sampler

calm = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

SOCKSTAT = "sockets: used 16\nTCP: inuse 5 orphan 0 tw 4321 alloc 9 mem 12\nUDP: inuse 0 mem 0\n"
SNMP = "Tcp: RtoAlgorithm MaxConn CurrEstab InSegs\nTcp: 1 -1 39000 19365\nUdp: InDatagrams\nUdp: 7\n"
NETSTAT = (
    "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPReqQFullDoCookies TCPReqQFullDrop\n"
    "TcpExt: 0 11 12 13 14\nIpExt: InNoRoutes\nIpExt: 0\n"
)
INFO = """{"server": "java-tomcat", "variant": "virtual", "model": "virtual-thread", "framework": "Tomcat",
 "framework_version": "11.0.1", "runtime": "OpenJDK 64-Bit Server VM", "runtime_version": "25.0.1+8", "pid": 77,
 "processors": 2, "thread": "tomcat-handler-1", "virtual": true, "os_threads": 30, "heap_used": 1, "heap_committed": 2,
 "heap_max": 3, "gc": ["G1 Young Generation"], "gc_count": 1, "gc_time_ms": 5, "requests": 1,
 "limits": {"max_threads": null, "max_connections": 1000000, "backlog": 65535, "nofile": 20000}}"""

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Yield a function that runs Python code in a child, and returns when it has printed a line."""
    children: list[subprocess.Popen[str]] = []

    def run(code: str) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    yield run
    for child in children:
        child.kill()
        child.communicate()


THREADS = """
import threading, time
for _ in range({count}):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print('ready', flush=True)
time.sleep(60)
"""
ALLOCATES = """
import sys
print('ready', flush=True)
sys.stdin.readline()
held = b'x' * (50 << 20)
print('held', flush=True)
sys.stdin.readline()
held = None
print('freed', flush=True)
sys.stdin.readline()
"""


def tell(child: "subprocess.Popen[str]") -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("go\n")
    child.stdin.flush()
    child.stdout.readline()


def until_ended(pid: int) -> None:
    """Wait until a process has ended. It is then a zombie, because nothing has waited for it."""
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def until_sampled(running: sampler.Sampler, more: int) -> None:
    """Wait for this many samples from now on. The first of them may have started before."""
    wanted = len(running._times) + more
    until(lambda: len(running._times) >= wanted)


class TestParsing:
    def test_stat(self) -> None:
        numbers = ["S", "17", *["0"] * 9, "5", "6", "7", "8", "20", "0", "42", "0", "99"]
        found = proc.parse_stat(f"123 (a) b (c) {' '.join(numbers)}")
        assert found == proc.Stat("S", 17, 26, 42)
        assert proc.parse_stat("123 (java) S 1") is None

    def test_statm(self) -> None:
        assert proc.parse_statm("765 405 380 5 0 90 0") == 405 * proc.PAGE_KB
        assert proc.parse_statm("") is None

    def test_fields(self) -> None:
        text = "Name:\tjava 1\nVmHWM:\t    1620 kB\nPss:                 319 kB\nnonvoluntary_ctxt_switches:\t3\n"
        assert proc.parse_fields(text) == {"VmHWM": 1620, "Pss": 319, "nonvoluntary_ctxt_switches": 3}

    def test_net(self) -> None:
        assert net.parse_sockstat(SOCKSTAT) == net.Sockets(4321, 12 * proc.PAGE_KB)
        assert net.parse_established(SNMP) == 39_000
        found = net.parse_counters(NETSTAT)
        assert found == net.TcpCounters(listen_overflows=11, listen_drops=12, req_q_full_drop=14, req_q_full_cookies=13)
        assert found.since(found).listen_drops == 0
        assert net.parse_counters("") is None
        accepted = net.parse_counters(NETSTAT, "Tcp: ActiveOpens PassiveOpens\nTcp: 5 7\n")
        assert accepted is not None
        assert accepted.passive_opens == 7

    def test_noise(self) -> None:
        assert noise.parse_cpu("cpu  10 1 20 50 5 2 3 9 7 0\ncpu0 1 2 3 4\n") == noise.CpuTimes(100, 36, 5, 9)
        text = "some avg10=2.38 avg60=10.54 avg300=18.28 total=104763699\nfull avg10=0.00 total=5\n"
        assert noise.parse_pressure(text) == 104_763_699
        assert sampler.parse_runnable("1.23 1.57 0.76 3/93 8023\n") == 2

    @calm
    @given(st.text() | st.sampled_from([SOCKSTAT, SNMP, NETSTAT]).flatmap(lambda t: st.just(t[: len(t) // 2])))
    def test_odd_texts_do_no_harm(self, text: str) -> None:
        proc.parse_stat(text)
        proc.parse_statm(text)
        proc.parse_fields(text)
        net.parse_sockstat(text)
        net.parse_established(text)
        net.parse_counters(text)
        noise.parse_cpu(text)
        noise.parse_pressure(text)
        sampler.parse_runnable(text)


class TestSnapshot:
    def test_memory_and_peak(self, start: Start) -> None:
        child = start(ALLOCATES)
        before = proc.snapshot(child.pid)
        tell(child)
        held = proc.snapshot(child.pid, deep=True)
        assert 50_000 <= held.rss_kb - before.rss_kb < 60_000
        tell(child)
        freed = proc.snapshot(child.pid)
        assert freed.rss_kb < held.rss_kb - 45_000
        assert held.anon_kb is not None
        assert held.anon_kb > 50_000
        assert held.pss_kb is not None
        assert held.pss_kb <= held.rss_kb + 1_000
        assert freed.hwm_kb is not None
        assert freed.hwm_kb >= 50_000

    def test_peak_is_reset(self, start: Start) -> None:
        child = start(ALLOCATES)
        tell(child)
        tell(child)
        assert peak_memory.reset_peak(child.pid)
        after = proc.snapshot(child.pid)
        assert after.hwm_kb is not None
        assert after.hwm_kb < 45_000

    def test_threads_and_cpu(self, start: Start) -> None:
        child = start(THREADS.format(count=50))
        assert proc.snapshot(child.pid).threads == 51

    def test_cpu_grows(self, start: Start) -> None:
        child = start("print('ready', flush=True)\nwhile True: pass")
        first = proc.snapshot(child.pid)
        until(lambda: proc.snapshot(child.pid).cpu_s > first.cpu_s)

    def test_children_are_added(self, start: Start) -> None:
        code = (
            "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c', "
            "\"print('ready', flush=True); import sys; sys.stdin.read()\"], stdin=subprocess.PIPE)\ntime.sleep(60)"
        )
        child = start(code)
        found = proc.snapshot(child.pid)
        assert found.processes == 2
        assert found.hwm_kb is None, "two peaks that need not have been at the same time"

    def test_gone(self, start: Start) -> None:
        child = start("print('ready', flush=True)")
        until_ended(child.pid)
        with pytest.raises(ProcessLookupError):  # a zombie: nothing has waited for it yet
            proc.snapshot(child.pid)
        child.wait()
        with pytest.raises(ProcessLookupError):
            proc.snapshot(child.pid)
        assert not peak_memory.reset_peak(child.pid)


class TestSampler:
    def test_200_threads(self, start: Start) -> None:
        child = start(THREADS.format(count=200))
        running = sampler.Sampler(child.pid, hz=50).start()
        until_sampled(running, 5)
        got = running.stop()
        assert got.peak_threads == 201
        assert not got.vanished
        assert 0 < got.own_cpu_s <= got.elapsed_s
        steps = [math.floor(at * got.hz + 1e-6) for at in got.t]
        assert len(set(steps)) == len(steps), "a late sample skips steps instead of bunching up"
        assert got.t[-1] <= got.elapsed_s + 1e-4
        assert Samples.model_validate_json(got.model_dump_json()) == got

    def test_a_sample_of_200_threads_reads_no_more_than_one_of_a_single_thread(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The cost is counted without a clock: five files per sample, until it is time to look for children.
        clock, paths = ManualTime(), list[str]()
        monkeypatch.setattr(sampler, "time", clock)

        def counted(path: str) -> str:
            paths.append(path)
            return read_text(path)

        for module in (sampler, proc):
            monkeypatch.setattr(module, "read_text", counted)
        for count in (0, 200):
            probe = sampler.ProcessProbe(start(THREADS.format(count=count)).pid)
            first = probe.row()
            assert first is not None
            assert first.threads == count + 1
            paths.clear()
            clock.now += sampler.CHILDREN_EVERY_S - 1
            assert probe.row() is not None
            assert len(set(paths)) == len(paths) == 5

    def test_samples_are_taken_at_whole_steps_and_a_late_one_skips_some(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Each sample takes 10 ms, but the third one gets no CPU time for 0.35 s.
        clock = ManualTime()
        monkeypatch.setattr(sampler, "time", clock)
        running = sampler.Sampler(os.getpid(), hz=10)

        class Probe:
            rows = 0

            def row(self) -> sampler.SampleRow:
                self.rows += 1
                clock.now += 0.36 if self.rows == 3 else 0.01
                clock.cpu_s += 0.002
                return sampler.SampleRow(1, 1.0, 1)

            def read_switches(self, *, now: bool) -> None: ...
            def switches(self) -> None: ...

        class Done:
            def wait(self, seconds: float) -> bool:
                clock.sleep(seconds)
                return clock.now > 101

            def set(self) -> None: ...

        monkeypatch.setattr(running, "_probe", Probe())
        monkeypatch.setattr(running, "_done", Done())
        got = running.start().stop()
        assert got.t == pytest.approx([0.0, 0.1, 0.2, 0.6, 0.7, 0.8, 0.9, 1.0], abs=1e-4)
        assert got.elapsed_s == pytest.approx(1.1)
        assert got.cost == pytest.approx(8 * 0.002 / 1.1)

    def test_sees_memory_come_and_go(self, start: Start) -> None:
        child = start(ALLOCATES)
        running = sampler.Sampler(child.pid, hz=50).start()
        for _ in range(2):
            until_sampled(running, 2)
            tell(child)
        until_sampled(running, 2)
        got = running.stop()
        assert got.peak_rss_kb is not None
        assert got.peak_rss_kb - got.rss_kb[0] > 45_000
        assert got.rss_kb[-1] < got.peak_rss_kb - 45_000
        assert all(before < after for before, after in pairwise(got.t))

    def test_a_process_that_dies(self, start: Start) -> None:
        child = start("import sys\nprint('ready', flush=True)\nsys.stdin.readline()")
        running = sampler.Sampler(child.pid, hz=20).start()
        until_sampled(running, 1)
        tell(child)
        until_ended(child.pid)
        until(lambda: not running._thread.is_alive())
        got = running.stop()
        assert got.vanished
        assert got.t
        assert running.stop() == got

    def test_a_process_that_never_was(self, start: Start) -> None:
        child = start("print('ready', flush=True)")
        child.wait()
        got = sampler.Sampler(child.pid).start().stop()
        assert got.vanished
        assert got.peak_rss_kb is None
        assert got.mean_runnable is None

    def test_sees_both_ends_of_connections(self) -> None:
        with ExitStack() as stack:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
            for _ in range(40):
                stack.enter_context(socket.create_connection(server.getsockname()))
                stack.enter_context(server.accept()[0])
            got = sampler.Sampler(os.getpid(), hz=50).start().stop().established
        assert got[-1] is not None
        assert got[-1] >= 80

    @pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
    def test_connections_of_one_port(self, family: socket.AddressFamily) -> None:
        # Both families are tested: a JVM listens on IPv6 sockets, reached by IPv4 addresses.
        both = family == socket.AF_INET6
        if both and not socket.has_dualstack_ipv6():
            pytest.skip("no IPv6 here")
        with ExitStack() as stack:
            listening = socket.create_server(("", 0), family=family, backlog=64, dualstack_ipv6=both)
            server = stack.enter_context(listening)
            port = server.getsockname()[1]
            assert diag.count_sockets(port, diag.ESTABLISHED) == 0
            for _ in range(300):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                stack.enter_context(server.accept()[0])
            assert diag.count_sockets(port, diag.ESTABLISHED) == 300

    def test_connections_that_only_the_client_has_closed(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as stack:
            port = server.getsockname()[1]
            clients = []
            for _ in range(3):
                clients.append(socket.create_connection(("127.0.0.1", port)))
                stack.enter_context(server.accept()[0])
            clients.pop().close()
            until(lambda: [diag.count_sockets(port, states) for states in (diag.ESTABLISHED, diag.UNCLOSED)] == [2, 3])
            for client in clients:
                client.close()
            until(lambda: [diag.count_sockets(port, states) for states in (diag.ESTABLISHED, diag.UNCLOSED)] == [0, 3])
            stack.close()
            until(lambda: diag.count_sockets(port, diag.UNCLOSED) == 0)

    def test_connections_by_the_end_that_closed_first(self) -> None:
        # A port that clients get from the kernel may have ends of earlier connections.
        port = ports.claim()
        with socket.create_server(("127.0.0.1", port)) as server:
            connect_and_close(server, "client")
            connect_and_close(server, "server")
            until(lambda: diag.count_closed(port, 60) == 2)
            assert diag.count_closed(port, 60, 30) == 0
            time.sleep(0.2)
            assert diag.count_closed(port, 0.1) == 0

    @given(st.binary(max_size=200))
    @calm
    def test_odd_packets_end(self, packet: bytes) -> None:
        assert len(list(diag.messages(packet))) <= len(packet) // diag.HEADER.size

    def test_hz(self) -> None:
        with pytest.raises(ValueError, match="hz"):
            sampler.Sampler(1, hz=0)


class TestWait:
    @pytest.fixture(autouse=True)
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> ManualTime:
        clock = ManualTime()
        monkeypatch.setattr(net, "time", clock)
        return clock

    def test_until_few_linger(self, clock: ManualTime, monkeypatch: pytest.MonkeyPatch) -> None:
        counts = iter([9_000, 6_000, 4_000])
        monkeypatch.setattr(net, "count_lingering", lambda: next(counts))
        assert net.wait_for_lingering() == 4_000
        assert sum(clock.slept) == 1.0

    def test_gives_up(self, clock: ManualTime, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(net, "count_lingering", lambda: 9_000)
        assert net.wait_for_lingering(timeout=60) == 9_000
        assert sum(clock.slept) == 60.0

    def test_unknown(self, clock: ManualTime, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(net, "count_lingering", lambda: None)
        assert net.wait_for_lingering() is None
        assert clock.slept == []


def reading(at: float, cpu: noise.CpuTimes | None, pressure: int | None) -> noise.HostCounters:
    return noise.HostCounters(at, cpu, dict.fromkeys(noise.RESOURCES, pressure), 0.0, 0.0)


class TestNoise:
    def test_shares(self) -> None:
        first = reading(10, noise.CpuTimes(1_000, 500, 10, 0), 1_000)
        last = reading(20, noise.CpuTimes(3_000, 2_000, 110, 40), 501_000)
        got = noise.noise_between(first, last, known_cpu_s=14.0, runnable=1.5, cores=2)
        assert (got.busy_share, got.interrupt_share, got.steal_share) == (0.75, 0.05, 0.02)
        assert got.foreign_share == pytest.approx(0.05)
        assert got.pressure_cpu == 50_000
        assert got.runnable_mean == 1.5

    def test_nothing_known(self) -> None:
        got = noise.noise_between(reading(1, None, None), reading(2, None, None), 0.0, None, None)
        assert got == Noise(elapsed_s=1)

    @calm
    @given(st.lists(st.integers(0, 10**12), min_size=6, max_size=6), st.floats(0, 1e6))
    def test_shares_are_shares(self, n: list[int], known: float) -> None:
        first, last = noise.CpuTimes(n[0], n[1], n[2], n[2]), noise.CpuTimes(n[3], n[4], n[5], n[5])
        got = noise.noise_between(reading(0, first, n[0]), reading(1, last, n[3]), known, None, 2)
        for share in (got.busy_share, got.interrupt_share, got.steal_share, got.foreign_share):
            assert share is None or 0 <= share <= 1

    def test_own_work_is_not_foreign(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # The same holds for the work of the server, the generator, and the kernel for their packets.
        cpus = [noise.CpuTimes(1_000, 500, 0, 0), noise.CpuTimes(3_000, 2_100, 0, 0)]
        readings = [
            noise.HostCounters(10, cpus[0], dict.fromkeys(noise.RESOURCES), own_cpu_s=1.0, softirq_s=5.0),
            noise.HostCounters(20, cpus[1], dict.fromkeys(noise.RESOURCES), own_cpu_s=3.0, softirq_s=5.5),
        ]
        monkeypatch.setattr(noise, "take_reading", lambda groups: readings.pop(0))
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
        got = noise.NoiseProbe().stop(4.0 + 1.5, 2.5)
        assert got.busy_share == 0.8
        assert got.foreign_share == pytest.approx(0.8 - (2.0 + 0.5 + 4.0 + 1.5) / (10 * 2))
        assert got.runnable_mean == 2.5

    @pytest.mark.parametrize(
        ("parent", "share"),
        [
            ("nr_periods 885\nnr_throttled 704\nthrottled_time 9\n", 604 / 785),
            ("nr_periods 100\nnr_throttled 100\n", 0.0),
            ("usage_usec 5\n", 0.0),
        ],
    )
    def test_a_parent_s_quota_counts_although_the_group_below_shows_nothing(self, parent: str, share: float) -> None:
        own, above, root = "/cg/app", "/cg", "/"
        before = {own: "nr_periods 0\nnr_throttled 0\n", above: "nr_periods 100\nnr_throttled 100\n"}
        after = {own: "nr_periods 0\nnr_throttled 0\n", above: parent}
        first, last = (
            sample_cgroup.quota_periods([own, above, root], {f"{k}/cpu.stat": v for k, v in texts.items()}.get)
            for texts in (before, after)
        )
        assert sample_cgroup.throttled_share(first, last) == share

    def test_without_counters_of_a_quota_nothing_is_known(self) -> None:
        assert (
            sample_cgroup.throttled_share(*(sample_cgroup.quota_periods(["/cg"], lambda path: None) for _ in range(2)))
            is None
        )

    def test_the_quotas_of_this_process_and_of_the_server_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stats = {"/own/cpu.stat": [(10, 1), (20, 1)], "/server/cpu.stat": [(10, 1), (20, 6)]}
        monkeypatch.setattr(noise, "group_folders", lambda controller: ["/own"])
        monkeypatch.setattr(
            noise,
            "quota_periods",
            lambda groups: {g: sample_cgroup.Periods(*stats[f"{g}/cpu.stat"].pop(0)) for g in groups},
        )
        assert noise.NoiseProbe(["/server"]).stop().throttled_share == 0.5

    def test_a_reading_is_of_now(self) -> None:
        at, cpu = time.monotonic(), time.process_time()
        noise.canary()
        got = noise.take_reading()
        assert at < got.at <= time.monotonic()
        assert cpu < got.own_cpu_s <= time.process_time()
        assert got.softirq_s >= 0
        assert got.cpu is not None
        assert 0 < got.cpu.busy <= got.cpu.total

    def test_canary(self) -> None:
        began = time.perf_counter()
        took = noise.canary()
        assert 0.001 < took <= time.perf_counter() - began


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        good = self.path == "/info"
        self.send_response(200 if good else 404)
        self.end_headers()
        self.wfile.write(INFO.encode() if good else b"not found")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class TestInfo:
    def test_parsed(self) -> None:
        info = requests.parse_info(INFO)
        assert info.model == "virtual-thread"
        assert info.limits.max_threads is None

    @pytest.mark.parametrize(
        ("old", "new", "names"),
        [
            ('"pid": 77', '"pid": "77"', "pid"),
            ('"server"', '"servers"', "server"),
            ('"nofile": 20000', '"nofile": 20000, "more": 1', "limits.more"),
            ("virtual-thread", "green-thread", "model"),
            ("{", "", "body"),
        ],
    )
    def test_faults_are_named(self, old: str, new: str, names: str) -> None:
        with pytest.raises(requests.InfoError, match=names):
            requests.parse_info(INFO.replace(old, new, 1))

    @calm
    @given(st.text() | st.binary())
    def test_odd_answers(self, text: str | bytes) -> None:
        with pytest.raises(requests.InfoError):
            requests.parse_info(text)

    def test_fetched(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            assert requests.fetch_info(url).pid == 77
            with pytest.raises(requests.InfoError, match="404"):
                requests.fetch_info(f"{url}/elsewhere")
            server.shutdown()
        with pytest.raises(requests.InfoError):
            requests.fetch_info(url, timeout=1)

    def test_an_answer_that_is_not_http(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer() -> None:
                with server.accept()[0] as connection:
                    connection.recv(1_000)
                    connection.sendall(b"garbage\r\n\r\n")

            threading.Thread(target=answer, daemon=True).start()
            with pytest.raises(requests.InfoError):
                requests.fetch_info(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=2)
