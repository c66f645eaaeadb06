"""Tests that the suite can fail: the fake server breaks each rule on demand, and the rule's test must catch it.

The fake server passes if it breaks no rule; the suite tests it like an entry of the zoo. Each row of `BROKEN` names
the fault (see `fake/fake.py`), the test that must catch it, and a part of the test's message, which shows that the
test fails for the right reason. The tests are called like pytest calls them, but in this process, which is much faster.
"""

import inspect
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import test_abuse
import test_answers
import test_delays
import test_framing
import test_info
import test_lock
import test_openapi
import test_parameters
import test_process
import test_robustness
from kit import delays, wire
from kit.nested import run_suite
from kit.paths import FAKE
from kit.process import ProcessRuntime
from kit.rules import BYTES
from kit.server import ServerFailed
from kit.shared import bare_life, few_threads, life_of_small_pool, shared_server
from kit.targets import Target, manifest_targets

NOT_THE_SERVERS = "test_document_"
"""Prefix of tests that send no requests to a server."""

NEEDS_JAVA = {"test_a_monitor_is_held_exactly_where_asked_for", "test_transport_is_the_one_in_use"}
SHORT = 2.0
"""Seconds to wait for something that a broken server never does."""

LATE = "no answer in time"
OS_THREADS = test_info.test_os_threads_grow_with_sleepers_exactly_on_platform_threads
LOOKS_LIKE_ONE = b"GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True)
class Broken:
    fault: str
    test: Callable[..., None]
    complaint: str
    variant: str = "eventloop"
    patience: float = wire.PATIENCE
    more: dict[str, Any] = field(default_factory=dict)
    """Values for the test's own parameters."""


BROKEN = [
    Broken("wrong-body", test_answers.test_hello, r"body is b'Hello, World!\\n'"),
    Broken("wrong-content-type", test_answers.test_hello, "Content-Type is"),
    Broken("no-content-length", test_answers.test_hello, "no Content-Length"),
    Broken("length-short", test_answers.test_hello, "not b'Hello, World!'"),
    Broken("chunked", test_answers.test_hello, "Transfer-Encoding instead of"),
    Broken("no-date", test_answers.test_hello, "no Date"),
    Broken("local-date", test_answers.test_hello, "no IMF-fixdate"),
    Broken("old-date", test_answers.test_hello, "older than the request"),
    Broken("date-ahead", test_answers.test_hello, "s ahead"),
    Broken("frozen-date", test_framing.test_date_is_live, "Date does not advance", patience=SHORT),
    Broken("pattern-restarts", test_answers.test_bytes, "65520: body is"),
    Broken("wrong-digest", test_answers.test_cpu, "body is"),
    Broken("range-too-short", test_answers.test_most_rounds_of_cpu, "status 400"),
    Broken("upper-case-digest", test_answers.test_cpu, "body is"),
    Broken("range-too-short", test_answers.test_longest_and_default_delays_are_no_refusals, "at once"),
    Broken("any-path", test_answers.test_unknown_path, "instead of 404", more={"path": "/nope"}),
    Broken("post-accepted", test_answers.test_post_is_not_allowed, "200 instead of 405"),
    Broken("no-allow", test_answers.test_post_is_not_allowed, "Allow is None"),
    Broken("head-with-body", test_answers.test_head_is_get_without_a_body, "not a status line", more={"path": "/"}),
    Broken("head-length-zero", test_answers.test_head_is_get_without_a_body, "Length is 0", more={"path": "/"}),
    Broken("head-does-not-work", test_delays.test_head_sleeps_as_well, "answered early"),
    Broken("wrong-400-body", test_parameters.test_bad_number, "abc: n is not named", more={"parameter": BYTES}),
    Broken("html-400", test_parameters.test_bad_number, "not plain text", more={"parameter": BYTES}),
    Broken("negative-accepted", test_parameters.test_bad_number, "-1: status 200", more={"parameter": BYTES}),
    Broken("range-off-by-one", test_parameters.test_bad_number, "16777217: status 200", more={"parameter": BYTES}),
    Broken("overflow", test_parameters.test_bad_number, "4294967297: status 200", more={"parameter": BYTES}),
    Broken("missing-is-one", test_parameters.test_missing_number, "/bytes: status 200", more={"parameter": BYTES}),
    Broken("one-parameter", test_parameters.test_good_number_among_others, "400 instead", more={"parameter": BYTES}),
    Broken("knows-lock", test_parameters.test_bad_lock_is_refused_by_java_and_ignored_by_others, "2: status 400"),
    Broken("early-sleep", test_delays.test_no_answer_is_early, "answered early"),
    Broken("early-when-busy", test_delays.test_no_answer_is_early, "answered early"),
    Broken("early-sleep", test_lock.test_no_sleep_is_early, "answered early"),
    Broken("cpu-at-once", test_delays.test_no_digest_is_early, "answered early"),
    Broken("blocks-the-loop", test_delays.test_delays_overlap, "did not overlap", patience=SHORT),
    Broken("hidden-pool", test_delays.test_more_sleepers_than_threads, "held up another, on event-loop"),
    Broken("hidden-pool", test_delays.test_more_sleepers_than_threads, "another, on virtual-thread", "virtual"),
    Broken("pool-unbounded", test_delays.test_more_sleepers_than_threads, "not bounded", "platform"),
    Broken("one-thread", test_delays.test_more_sleepers_than_threads, "fewer than 4 threads", "platform"),
    Broken("short-default", test_robustness.test_default_delay_is_ten_seconds, r"without ms took [1-9]\."),
    Broken("long-default", test_robustness.test_default_delay_is_ten_seconds, "as long as"),
    Broken("needs-whole-head", test_framing.test_request_split_at_every_byte, "cut after byte 1"),
    Broken("needs-whole-head", test_framing.test_request_byte_by_byte, "Broken pipe|reset|status 400"),
    Broken(
        "waits-for-the-next", test_framing.test_second_request_begins_in_the_first_ones_segment, LATE, patience=SHORT
    ),
    Broken("pipeline-dropped", test_framing.test_keep_alive_without_a_limit_in_long_pipelines, LATE, patience=SHORT),
    Broken("pipeline-out-of-order", test_framing.test_pipeline_is_answered_in_order, "(body|Type) is"),
    Broken(
        "body-read-as-request", test_framing.test_body_of_a_post, "404 instead of 200", more={"body": LOOKS_LIKE_ONE}
    ),
    Broken(
        "last-coding-counts",
        test_framing.test_ambiguous_framing_is_refused_and_hides_no_request,
        "status 200 instead of 400",
        more={"method": "GET"},
    ),
    Broken(
        "two-framings-accepted",
        test_framing.test_ambiguous_framing_is_refused_and_hides_no_request,
        "unexpected bytes before the end|no answer in time",
        patience=SHORT,
        more={"method": "GET"},
    ),
    Broken(
        "chunked-unknown",
        test_framing.test_one_chunked_is_understood_however_it_is_spelled,
        "status 400",
        more={"header": test_framing.CHUNKED},
    ),
    Broken("keep-alive-100", test_framing.test_keep_alive_without_a_limit_in_long_pipelines, "after 100 requests"),
    Broken(
        "silent-close-on-404",
        test_framing.test_refused_requests_keep_the_connection_or_say_that_they_close_it,
        "closed instead of an answer",
    ),
    Broken("http-1.0-stays-open", test_framing.test_http_1_0, LATE, patience=SHORT),
    Broken("http-1.0-stays-open", test_framing.test_connection_close_is_obeyed, LATE, patience=SHORT),
    Broken("wrong-variant", test_info.test_says_which_entry_it_is, "", "platform"),
    Broken("virtual-lies", test_info.test_thread_is_virtual_exactly_where_the_variant_says_so, "virtual: True"),
    Broken("virtual-lies", test_info.test_thread_is_virtual_exactly_where_the_variant_says_so, ": False", "virtual"),
    Broken("thread-each", OS_THREADS, "OS threads became", "virtual"),
    Broken("platform-without-threads", OS_THREADS, "not a thread each", "platform"),
    Broken("extra-key", test_info.test_keys_and_types, "uptime"),
    Broken("missing-key", test_info.test_keys_and_types, "'gc' is a required property"),
    Broken("no-transport", test_info.test_keys_and_types, "'transport'.: '' "),
    Broken("heap-without-jvm", test_info.test_runtime_facts, ""),
    Broken("requests-frozen", test_info.test_requests_are_counted, "are counted as 0"),
    Broken("limit-not-raised", test_info.test_limits_are_raised, "was not raised"),
    Broken("default-backlog-of-100", test_info.test_limits_by_default, "100 == 65535"),
    Broken("backlog-ignored", test_info.test_limits_follow_the_environment, ""),
    Broken("hangs-on-garbage", test_robustness.test_garbage, LATE, patience=SHORT),
    Broken("hangs-on-garbage", test_robustness.test_half_a_request_and_then_the_end, LATE, patience=SHORT),
    Broken("dies-of-garbage", test_robustness.test_garbage, "Connection"),
    Broken("garbage-accepted", test_robustness.test_garbage, "status=200"),
    Broken("huge-header-accepted", test_robustness.test_too_large, "status=200"),
    Broken("small-head", test_robustness.test_common_sizes_are_served, "status 400"),
    Broken("half-sent-blocks", test_robustness.test_half_sent_requests_hold_up_nobody, LATE, patience=SHORT),
    Broken("serves-200-connections", test_robustness.test_idle_connections_hold_up_nobody, LATE, patience=SHORT),
    Broken("dies-of-leavers", test_robustness.test_clients_that_leave, "Connection"),
    Broken("half-sent-blocks", test_abuse.test_slow_headers_hold_up_nobody, LATE, patience=SHORT),
    Broken("slow-body-blocks", test_abuse.test_slow_bodies_cost_no_more_than_their_connection, LATE, patience=SHORT),
    Broken("serves-200-connections", test_abuse.test_idle_connections_beside_live_ones, LATE, patience=SHORT),
    Broken("keeps-requests", test_robustness.test_a_pipelined_flood_has_bounds, "four floods took"),
    Broken("two-framings-accepted", test_abuse.test_no_hidden_request_is_answered, "the hidden request was answered"),
    Broken("dies-of-garbage", test_abuse.test_odd_requests_cost_their_own_connection, "Connection"),
    Broken("unbounded-answers", test_abuse.test_readers_that_stop_take_bounded_memory, "that stopped took"),
    Broken("garbage-on-stderr", test_process.test_says_one_line_whatever_is_asked, "warning: "),
    Broken("banner", test_process.test_says_one_line_whatever_is_asked, "=== fake server ==="),
    Broken("ready-line-without-entry", test_process.test_says_one_line_whatever_is_asked, r"\(fake:eventloop\)"),
    Broken("says-goodbye", test_process.test_says_one_line_whatever_is_asked, "bye"),
    Broken("stack-trace", test_process.test_bad_environment, "Traceback", more={"variable": "PORT"}),
    Broken("two-line-error", test_process.test_bad_environment, "usage: ", more={"variable": "HOST"}),
    Broken("bad-env-exits-0", test_process.test_bad_environment, "exit code 0", more={"variable": "VARIANT"}),
    Broken(
        "no-maximum", test_process.test_bad_environment, "did not end", patience=SHORT, more={"variable": "BACKLOG"}
    ),
    Broken("unlisted-port-message", test_process.test_taken_port, "no clear error: cannot listen: address"),
    Broken("taken-port-exits-0", test_process.test_taken_port, "exit code 0"),
    Broken("host-ignored", test_process.test_first_variant_is_the_default_and_host_is_obeyed, "in spite"),
    Broken("host-everywhere", test_process.test_this_host_alone_is_the_default, "reached at another"),
    Broken("leaves-a-folder", test_process.test_nothing_is_left_in_the_temporary_folder, "PosixPath"),
    Broken("drops-in-flight", test_process.test_sigterm_drains, "dropped"),
    Broken("drops-in-flight", test_process.test_sigint_drains, "dropped"),
    Broken("drops-in-flight", test_process.test_sigterm_gives_slow_readers_their_whole_answers, "of which the kernel"),
    Broken("accepts-while-draining", test_process.test_sigterm_drains, "still accepted"),
    Broken("idle-delays-the-end", test_process.test_idle_connections_are_not_waited_for, "did nothing"),
    Broken("html-400", test_openapi.test_refusals_fit_the_document, "text/html", more={"method": "GET"}),
    Broken("no-date", test_openapi.test_generated_requests_fit_the_document, "Date"),
    Broken("extra-key", test_openapi.test_generated_requests_fit_the_document, "uptime"),
]


def fake(variant: str, fault: str) -> Target:
    target = next(target for target in manifest_targets(FAKE) if target.variant == variant)
    return replace(target, env={"BREAK": fault})


@contextmanager
def fixtures(names: Collection[str], target: Target, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the fixtures that a test requests by these names, as in `conftest.py`."""
    runtime = ProcessRuntime()
    found: dict[str, Any] = {"target": target, "folder_target": target, "starting_target": target, "runtime": runtime}
    with ExitStack() as stack:
        if not {"port", "server", "long_sleep"}.isdisjoint(names):
            server, long_sleep = stack.enter_context(shared_server(runtime, target))
            found |= {"port": server.port, "server": server, "long_sleep": long_sleep}
        if not {"small_pool", "life"}.isdisjoint(names):
            found["small_pool"] = stack.enter_context(few_threads(runtime, target, folder))
        if "life" in names:
            found["life"] = life_of_small_pool(runtime, target, found["small_pool"])
        if "bare" in names:
            found["bare"] = bare_life(runtime, target)
        yield {name: value for name, value in found.items() if name in names}


@pytest.mark.parametrize(
    "broken", BROKEN, ids=lambda b: f"{b.fault}-{b.test.__name__.removeprefix('test_')}-{b.variant}"
)
def test_a_broken_rule_is_caught(broken: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delays, "LONGER", delays.LONGER[:2])
    monkeypatch.setattr(delays, "STRETCH", 10)
    names = inspect.signature(broken.test).parameters
    with fixtures(names, fake(broken.variant, broken.fault), tmp_path) as given:
        assert names.keys() == given.keys() | broken.more.keys()
        monkeypatch.setattr(wire, "PATIENCE", broken.patience)  # not yet during the server's start
        with pytest.raises((AssertionError, OSError, BaseExceptionGroup)) as caught:
            broken.test(**given, **broken.more)
    said = [str(caught.value), *map(str, getattr(caught.value, "exceptions", ()))]
    assert re.search(broken.complaint, "\n".join(said)), f"failed for another reason: {said}"


def test_a_server_that_hangs_is_asked_for_its_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGQUIT, lambda *_: os.write(2, b'where it hangs'))\n"
        "os.write(2, b'starting')\n"
        "while True: signal.pause()"
    )
    hanging = replace(fake("eventloop", ""), argv=lambda: (sys.executable, "-c", code))
    with ProcessRuntime().start(hanging) as server:
        while "starting" not in server.stderr:
            assert server.exit_code() is None
            time.sleep(0.01)
        monkeypatch.setattr(wire, "PATIENCE", 0.0)
        with pytest.raises(ServerFailed, match="where it hangs"):
            server.wait_ready()


def test_a_failing_test_fails_the_run() -> None:
    """Run all of pytest on an entry that breaks a rule."""
    arguments = ["--manifest", str(FAKE), "--entry", "fake:virtual", "test_answers.py"]
    done = run_suite(arguments, BREAK="any-path", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    failed = {line.split("::")[1].partition("[")[0] for line in done.stdout.splitlines() if "FAILED " in line}
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert failed == {"test_unknown_path"}, done.stdout


def test_every_fault_of_the_fake_is_listed() -> None:
    """Check that some test must catch each fault, because it would otherwise prove nothing."""
    source = (FAKE.parent / "fake.py").read_text(encoding="utf-8")
    offered = {part.split('"')[0] for part in source.split('fault("')[1:]} - {"x"}
    assert offered == {broken.fault for broken in BROKEN}


def test_every_test_of_a_server_is_listed() -> None:
    listed = {broken.test.__name__ for broken in BROKEN}
    beside = {name for broken in BROKEN for name in broken.test.__globals__ if name.startswith("test_")}
    assert {name for name in beside - listed if not name.startswith(NOT_THE_SERVERS)} == NEEDS_JAVA
