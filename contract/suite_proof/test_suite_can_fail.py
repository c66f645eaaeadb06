"""Proves that the suite can fail: the fake server passes every test, and each broken rule is caught by its own.

A row names the fault (see `fake/fake.py`), the test that has to catch it, and words of that test's complaint, so that
it fails for the right reason.
"""

import subprocess
from dataclasses import dataclass

import pytest
from kit.nested import run_suite
from kit.paths import CONTRACT, FAKE

OTHER_SUITES = ("test_tomcat.py", "test_readmes.py", "test_container.py")
LONG = "test_answers.py::test_most_rounds_of_cpu"
"""Ten million rounds say nothing about the suite and take Python several seconds."""


@dataclass(frozen=True)
class Broken:
    fault: str
    test: str
    complaint: str
    variant: str = "eventloop"


BROKEN = [
    Broken("wrong-body", "test_answers.py::test_hello[fake:eventloop-/]", "body is b'Hello, World!\\n'"),
    Broken("wrong-content-type", "test_answers.py::test_hello[fake:eventloop-/]", "Content-Type is"),
    Broken("no-content-length", "test_answers.py::test_hello[fake:eventloop-/]", "exactly one Content-Length expected"),
    Broken("length-short", "test_framing.py::test_long_pipeline", "body is b''"),
    Broken("chunked", "test_answers.py::test_hello[fake:eventloop-/]", "Transfer-Encoding"),
    Broken("no-date", "test_answers.py::test_hello[fake:eventloop-/]", "no Date"),
    Broken("no-date-on-errors", "test_answers.py::test_unknown_path[fake:eventloop-/nope]", "no Date"),
    Broken("local-date", "test_answers.py::test_hello[fake:eventloop-/]", "no IMF-fixdate"),
    Broken("frozen-date", "test_framing.py::test_date_is_live", "Date does not advance"),
    Broken("pattern-restarts", "test_answers.py::test_bytes[fake:eventloop-65536]", "wrong content in 65536 bytes"),
    Broken("wrong-digest", "test_answers.py::test_cpu[fake:eventloop-1000]", "body is"),
    Broken("upper-case-digest", "test_answers.py::test_cpu[fake:eventloop-1000]", "body is"),
    Broken("sloppy-paths", "test_answers.py::test_unknown_path[fake:eventloop-/info/]", "instead of 404"),
    Broken("wrong-404-body", "test_answers.py::test_unknown_path[fake:eventloop-/nope]", "body is b'<h1>"),
    Broken("no-allow", "test_answers.py::test_wrong_method[fake:eventloop-POST]", "Allow is None"),
    Broken("unknown-method", "test_answers.py::test_wrong_method[fake:eventloop-BREW]", "instead of 405"),
    Broken("head-with-body", "test_answers.py::test_head_is_get_without_a_body[fake:eventloop-/]", "not a status line"),
    Broken(
        "head-length-zero",
        "test_answers.py::test_head_is_get_without_a_body[fake:eventloop-/]",
        "Content-Length differs",
    ),
    Broken("head-does-not-work", "test_answers.py::test_head_of_sleep_sleeps", "answered within"),
    Broken("wrong-400-body", "test_parameters.py::test_bad_parameter[fake:eventloop-word-n]", "body is b'bad request'"),
    Broken(
        "repeated-parameter", "test_parameters.py::test_bad_parameter[fake:eventloop-twice-ms]", "200 instead of 400"
    ),
    Broken(
        "negative-accepted", "test_parameters.py::test_bad_parameter[fake:eventloop-negative-n]", "200 instead of 400"
    ),
    Broken(
        "range-off-by-one", "test_parameters.py::test_bad_parameter[fake:eventloop-too-large-n]", "200 instead of 400"
    ),
    Broken("overflow", "test_parameters.py::test_bad_parameter[fake:eventloop-wraps-int32-n]", "200 instead of 400"),
    Broken(
        "unicode-digits",
        "test_parameters.py::test_bad_parameter[fake:eventloop-arabic-digits-n]",
        "200 instead of 400",
    ),
    Broken(
        "not-decoded", "test_parameters.py::test_good_parameter[fake:eventloop-encoded-value-ms]", "400 instead of 200"
    ),
    Broken("early-sleep", "test_delays.py::test_delay_is_never_early_nor_much_too_late[fake:eventloop-10]", "early"),
    Broken("early-when-busy", "test_delays.py::test_overlapping_delays", "answered early"),
    Broken("cpu-at-once", "test_wait.py::test_no_answer_is_early", "answered early"),
    Broken("blocks-the-loop", "test_delays.py::test_overlapping_delays", "did not overlap"),
    Broken("hidden-pool", "test_delays.py::test_more_sleepers_than_threads", "too long for event-loop"),
    Broken("hidden-pool", "test_delays.py::test_more_sleepers_than_threads", "too long for virtual-thread", "virtual"),
    Broken("pool-unbounded", "test_delays.py::test_more_sleepers_than_threads", "not bounded", "platform"),
    Broken("short-default", "test_robustness.py::test_default_delay_is_ten_seconds", "without ms took 1."),
    Broken("needs-whole-head", "test_framing.py::test_request_split_at_every_byte", "cut after byte 1"),
    Broken("pipeline-dropped", "test_framing.py::test_long_pipeline", "no answer in time"),
    Broken("pipeline-out-of-order", "test_framing.py::test_pipeline_is_answered_in_order", "assert"),
    Broken(
        "body-read-as-request",
        "test_framing.py::test_body_of_a_wrong_method[fake:eventloop-POST-looks-like-a-request]",
        "404 instead of 200",
    ),
    Broken("keep-alive-100", "test_framing.py::test_keep_alive_without_a_limit", "after 100 requests"),
    Broken(
        "silent-close-on-404",
        "test_framing.py::test_refused_requests_keep_the_connection_or_say_that_they_close_it",
        "closed instead of an answer",
    ),
    Broken("http-1.0-stays-open", "test_framing.py::test_http_1_0[fake:eventloop-/]", "no answer in time"),
    Broken("http-1.0-stays-open", "test_framing.py::test_connection_close_is_obeyed", "no answer in time"),
    Broken("wrong-variant", "test_info.py::test_says_which_entry_it_is", "assert", "platform"),
    Broken("virtual-lies", "test_info.py::test_thread_is_virtual_exactly_where_the_variant_says_so", "virtual: True"),
    Broken(
        "virtual-lies",
        "test_info.py::test_thread_is_virtual_exactly_where_the_variant_says_so",
        "virtual: False",
        "virtual",
    ),
    Broken(
        "thread-each",
        "test_info.py::test_os_threads_grow_with_sleepers_exactly_on_platform_threads",
        "OS threads became",
        "virtual",
    ),
    Broken(
        "platform-without-threads",
        "test_info.py::test_os_threads_grow_with_sleepers_exactly_on_platform_threads",
        "not a thread each",
        "platform",
    ),
    Broken("extra-key", "test_info.py::test_keys_and_types", "uptime"),
    Broken("missing-key", "test_info.py::test_keys_and_types", "'gc' is a required property"),
    Broken("heap-without-jvm", "test_info.py::test_runtime_facts", "assert (0, None, None)"),
    Broken("requests-frozen", "test_info.py::test_requests_are_counted", "are counted as 0"),
    Broken("limit-not-raised", "test_info.py::test_limits_are_raised", "was not raised"),
    Broken("hangs-on-garbage", "test_robustness.py::test_garbage[fake:eventloop-word]", "no answer in time"),
    Broken("dies-of-garbage", "test_robustness.py::test_garbage[fake:eventloop-word]", "Connection"),
    Broken("garbage-accepted", "test_robustness.py::test_garbage[fake:eventloop-word]", "status=200"),
    Broken("huge-header-accepted", "test_robustness.py::test_too_large[fake:eventloop-header-100-KiB]", "status=200"),
    Broken("half-sent-blocks", "test_robustness.py::test_half_sent_requests_hold_up_nobody", "no answer in time"),
    Broken("garbage-on-stderr", "test_process.py::test_the_one_line_and_quiet_service", "warning: "),
    Broken("banner", "test_process.py::test_ready_line_form", "=== fake server ==="),
    Broken("ready-line-without-entry", "test_process.py::test_ready_line_form", "assert"),
    Broken("says-goodbye", "test_process.py::test_the_one_line_and_quiet_service", "bye"),
    Broken("stack-trace", "test_process.py::test_bad_environment[fake:eventloop-PORT]", "Traceback"),
    Broken("two-line-error", "test_process.py::test_bad_environment[fake:eventloop-PORT]", "usage: "),
    Broken("bad-env-exits-1", "test_process.py::test_bad_environment[fake:eventloop-VARIANT]", "got (1,"),
    Broken("max-threads-not-validated", "test_process.py::test_bad_environment[fake:eventloop-MAX_THREADS]", "did not"),
    Broken("unlisted-port-message", "test_process.py::test_taken_port", "cannot listen: address"),
    Broken("taken-port-exits-0", "test_process.py::test_taken_port", "(0, "),
    Broken("host-ignored", "test_process.py::test_first_variant_is_the_default_and_host_is_obeyed", "Refused"),
    Broken("leaves-a-folder", "test_process.py::test_nothing_is_left_in_the_temporary_folder", "assert [PosixPath("),
    Broken("exits-143", "test_process.py::test_sigterm_drains", "dropped"),
    Broken("exits-143-at-last", "test_process.py::test_sigterm_drains", "exit code 143"),
    Broken("drops-in-flight", "test_process.py::test_sigterm_drains", "dropped"),
    Broken("drops-in-flight", "test_process.py::test_sigint_drains", "dropped"),
    Broken("accepts-while-draining", "test_process.py::test_sigterm_drains", "still accepted"),
    Broken("idle-delays-the-end", "test_process.py::test_the_one_line_and_quiet_service", "delayed the end"),
    Broken(
        "wrong-400-body", "test_openapi.py::test_generated_invalid_requests[fake:eventloop-n-GET-50]", "bad request"
    ),
    Broken("no-date", "test_openapi.py::test_generated_valid_requests[fake:eventloop-GET /]", "Date"),
    Broken("extra-key", "test_openapi.py::test_generated_valid_requests[fake:eventloop-GET /info]", "uptime"),
]


def suite(arguments: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    """The real suite against the fake server, in a pytest of its own."""
    return run_suite(["--manifest", str(FAKE), *arguments], PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **more)


@pytest.mark.parametrize("variant", ["eventloop", "platform", "virtual"])
def test_a_server_that_obeys_passes(variant: str) -> None:
    """All rules of the contract; the document's generated requests, costly to make, with one variant."""
    tests = sorted(path.name for path in CONTRACT.glob("test_*.py") if path.name not in OTHER_SUITES)
    if variant != "eventloop":
        tests.remove("test_openapi.py")
    done = suite([*tests, "--entry", f"fake:{variant}", "--deselect", LONG])
    assert done.returncode == 0, done.stdout[-5000:]
    assert "skipped" not in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.fault}-{broken.variant}")
def test_a_broken_rule_is_caught(broken: Broken) -> None:
    done = suite([broken.test, "--entry", f"fake:{broken.variant}"], BREAK=broken.fault, CONTRACT_PATIENCE="4")
    summary = (done.stdout.splitlines() or [""])[-1]
    assert done.returncode == 1, f"{broken.test} does not catch {broken.fault}: {done.stdout[-3000:]}{done.stderr}"
    assert "failed" in summary, summary
    assert "error" not in summary, f"the test could not run: {done.stdout[-3000:]}"
    assert broken.complaint in done.stdout, f"failed for another reason: {done.stdout[-3000:]}"


def test_every_fault_of_the_fake_is_listed() -> None:
    """A fault that no test has to catch would prove nothing."""
    source = (FAKE.parent / "fake.py").read_text(encoding="utf-8")
    offered = {part.split('"')[0] for part in source.split('fault("')[1:]} - {"x"}
    assert offered == {broken.fault for broken in BROKEN}
