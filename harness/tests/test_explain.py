"""Explanations: groups of stacks, differences per group, counts, the paragraph and the page."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from builders import run
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from zoo.cli import app
from zoo.core.manifest_files import load_catalog
from zoo.core.samples import ThreadTimes
from zoo.explain import profilers
from zoo.explain.analysis import (
    Counted,
    clear_counts,
    differences,
    named_share,
    observing_cost,
    only_frames,
    total,
    unnamed_share,
)
from zoo.explain.counts import (
    Scheduler,
    contended_classes,
    parse_allocations,
    parse_pinned,
    parse_scheduler,
    parse_strace_summary,
    use_by_kind,
)
from zoo.explain.data import EventWindow, ExplainedSide, Explanation, PlainWindow, ProfiledWindow
from zoo.explain.files import read_groups, write_explanation, write_page
from zoo.explain.groups import OTHER
from zoo.explain.page import count_rows
from zoo.explain.paragraph import PHRASES, paragraph
from zoo.explain.profilers import ProfilerError, require_attachable
from zoo.explain.stacks import (
    Stack,
    collapse,
    differential_tree,
    divide_cpu,
    mean_stacks,
    normalize_frame,
    parse_collapsed,
)
from zoo.reference import rerun
from zoo.reference.readmes import render_explanations
from zoo.reference.runs import CommittedRun, StoredRun
from zoo.sample import jcmd

GROUPS = read_groups()
FUTEX = ("java/lang/Thread.run", "jdk/internal/misc/Unsafe.unpark", "do_syscall_64_[k]", "__x64_sys_futex_[k]")
WRITE = ("java/lang/Thread.run", "org/apache/coyote/Response.action", "ksys_write_[k]", "try_to_wake_up_[k]")
HANDLER = (
    "java/lang/VirtualThread.run",
    "org/apache/catalina/core/ApplicationFilterChain.doFilter",
    "zoo/Handler.busy",
)


def side(entry: str, base: Mapping[str, float], cpu_us: float, seed: int, calls: Mapping[str, float]) -> ExplainedSide:
    """Return a side of six windows whose figures vary by 1%."""
    noise = random.Random(seed)

    def vary(value: float) -> float:
        return value * noise.gauss(1, 0.01)

    return ExplainedSide(
        entry=entry,
        profiler="async-profiler 4.4",
        plain=[
            PlainWindow(requests=10_000, rps=vary(5_000), cpu_us=vary(cpu_us), voluntary=1, involuntary=0, migrations=0)
            for _ in range(6)
        ],
        profiled=[
            ProfiledWindow(
                requests=10_000,
                rps=vary(4_900),
                cpu_us=vary(cpu_us * 1.02),
                groups_us={name: vary(value) for name, value in base.items()},
            )
            for _ in range(6)
        ],
        calls=[dict(calls)] * 3,
        calls_connections=100,
    )


BASE = {"socket write": 20.0, "parking and waking threads": 5.0, "handler": 1.0, OTHER: 0.5}


def explanation(changed: Mapping[str, float], cpu_us: float, calls: Mapping[str, float]) -> Explanation:
    return Explanation(
        id="20260101-000000-explain",
        started_at="2026-01-01T00:00:00+00:00",
        commit=None,
        dirty=None,
        harness="0.1.0",
        host=run().host,
        scenario="hello",
        path="/",
        connections=1_000,
        window_s=5,
        a=side("server:platform", BASE, 27.0, 1, {"futex": 0.1, "write": 1.0}),
        b=side("server:virtual", {**BASE, **changed}, cpu_us, 2, {"write": 1.0, **calls}),
    )


@pytest.mark.parametrize(
    ("stack", "group"),
    [
        (FUTEX, "parking and waking threads"),
        (WRITE, "socket write"),
        (HANDLER, "handler"),
        (("start_thread", "CompileBroker::compiler_thread_loop", "do_syscall_64_[k]"), "JIT compiler"),
        (("tokio::runtime::park", "__x64_sys_epoll_wait_[k]"), "readiness (epoll)"),
        (
            ("java/lang/Thread.run", "org/apache/coyote/http11/Http11InputBuffer.parseHeader"),
            "HTTP parsing and writing",
        ),
        (("<axum::routing::route::RouteFuture<E> as core::future::future::Future>::poll",), "framework"),
        (("no_rule_names_this",), OTHER),
    ],
)
def test_group_of_a_stack(stack: tuple[str, ...], group: str) -> None:
    assert GROUPS.group_of(stack) == group


@given(
    weights=st.dictionaries(st.tuples(st.sampled_from("abcd")), st.integers(1, 10**9), min_size=1),
    cpu_us=st.floats(0.01, 1e6),
    merged=st.integers(2, 10),
)
def test_stacks_add_up_to_the_cpu_time_however_many_samples_are_merged(
    weights: dict[Stack, int], cpu_us: float, merged: int
) -> None:
    found = divide_cpu(cpu_us, {stack: merged * weight for stack, weight in weights.items()})
    assert sum(found.values()) == pytest.approx(cpu_us)
    assert found == pytest.approx(divide_cpu(cpu_us, weights))


def test_start_of_a_thread_is_left_out() -> None:
    assert GROUPS.without_start(HANDLER) == HANDLER[1:]
    assert GROUPS.without_start(HANDLER[:1]) == HANDLER[:1]


FRAMES = st.sampled_from([*FUTEX, *WRITE, *HANDLER, "no_rule_names_this"])
STACKS = st.dictionaries(
    st.lists(FRAMES, min_size=1, max_size=6).map(tuple), st.floats(0.01, 1e6), min_size=1, max_size=20
)


@given(STACKS)
def test_groups_add_up_to_all_stacks(stacks: dict[tuple[str, ...], float]) -> None:
    assert sum(GROUPS.sum_by_group(stacks).values()) == pytest.approx(sum(stacks.values()))


@given(STACKS, STACKS)
def test_tree_keeps_the_sums_of_both_sides(a: dict[tuple[str, ...], float], b: dict[tuple[str, ...], float]) -> None:
    root = differential_tree(a, b, 0.0)
    assert root["a"] == pytest.approx(sum(a.values()), abs=1e-3)
    assert root["b"] == pytest.approx(sum(b.values()), abs=1e-3)
    assert sum(child["value"] for child in root["children"]) == pytest.approx(root["value"], abs=1e-2)


def test_small_frames_are_left_out_of_the_tree() -> None:
    tree = differential_tree({("big",): 10.0, ("small",): 0.1}, {("big",): 10.0}, 1.0)
    assert [child["name"] for child in tree["children"]] == ["big"]


@given(STACKS)
def test_collapsed_stacks_are_read_back(stacks: dict[tuple[str, ...], float]) -> None:
    whole = {stack: float(round(value)) for stack, value in stacks.items() if round(value)}
    assert parse_collapsed(collapse(stacks)) == whole


def test_names_that_differ_between_starts_are_equal() -> None:
    assert normalize_frame("java/lang/Thread.run_[0]") == normalize_frame("java/lang/Thread.run_[j]")
    assert normalize_frame("zoo/Main$$Lambda.0x00000000530d0798.run") == normalize_frame("zoo/Main$$Lambda/0x1234.run")
    assert normalize_frame("ksys_write_[k]") == "ksys_write_[k]"
    unpacked = "/tmp/zoo-1-2-server-ab/libnetty_transport_native_epoll_x86_645986368711128609550.so (deleted)"
    assert normalize_frame(unpacked) == "libnetty_transport_native_epoll_x86_64.so"
    assert normalize_frame("/usr/lib/jvm/lib/server/libjvm.so") == "/usr/lib/jvm/lib/server/libjvm.so"


def test_mean_counts_missing_stacks_as_zero() -> None:
    assert mean_stacks([{("a",): 2.0}, {("b",): 4.0}]) == {("a",): 1.0, ("b",): 2.0}


STRACE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.02    0.410000          40     10250           write
 30.00    0.200000          19     10500       250 read
  8.98    0.060000          20      3000         1 futex
------ ----------- ----------- --------- --------- ----------------
100.00    0.670000          28     23750       251 total
"""


def test_strace_summary() -> None:
    assert parse_strace_summary(STRACE) == {"write": 10250, "read": 10500, "futex": 3000}


def test_times_of_threads_are_split_by_their_work() -> None:
    before = [times(1, "pool-1-thread-1", 1.0, 0.5), times(2, "C2 CompilerThre", 3.0, 0.1)]
    after = [
        times(1, "pool-1-thread-1", 1.5, 0.9),
        times(2, "C2 CompilerThre", 3.2, 0.4),
        times(3, "GC Thread#0", 0.3, 7.0),  # started in between
    ]
    used = use_by_kind(before, after)
    assert used is not None
    found = (used.cpu_s, used.gc_s, used.jit_s, used.requests_wait_s, used.jit_wait_s)
    assert found == pytest.approx((1.0, 0.3, 0.2, 0.4, 0.3))
    assert use_by_kind([], after) is None


def times(id_: int, name: str, cpu_s: float, waited_s: float) -> ThreadTimes:
    return ThreadTimes(id=id_, name=name, cpu_s=cpu_s, waited_s=waited_s)


def test_output_of_the_tools_of_a_jdk() -> None:
    pool = "java.util.concurrent.ForkJoinPool@6ff708d2[Running, parallelism = 2, size = 3, active = 0, steals = 17]"
    assert parse_scheduler(f"886:\n{pool}\n") == Scheduler(carriers=3, steals=17)
    assert parse_scheduler("java.lang.IllegalArgumentException: Unknown diagnostic command") is None
    assert parse_pinned(" jdk.VirtualThreadPinned                    12           480\n") == 12
    assert parse_pinned("") is None


def test_allocations_of_threads_that_were_there_throughout_a_recording() -> None:
    events = [
        {"values": {"allocated": allocated, "thread": thread and {"osThreadId": thread}}}
        for thread, allocated in ((1, 500), (2, 70), (1, 1500), (3, 4), (None, 9), (None, 99))
    ]
    assert parse_allocations(json.dumps({"recording": {"events": events}})) == 1000
    assert parse_allocations(json.dumps({"recording": {"events": []}})) is None
    assert parse_allocations("") is None


def test_locks_are_counted_by_class() -> None:
    stacks: dict[Stack, float] = {
        ("main", "zoo/A.take", "zoo.A$Lock"): 3.0,
        ("other", "zoo.A$Lock"): 2.0,
        ("main", "zoo.B"): 1.0,
    }
    assert contended_classes(stacks) == {"zoo.A$Lock": 5, "zoo.B": 1}


def test_frames_of_one_side_are_named_once_at_their_outermost() -> None:
    both: dict[Stack, float] = {("main", "read"): 10.0}
    mine: dict[Stack, float] = {
        **both,
        ("main", "burn", "clock"): 30.0,
        ("main", "burn", "burn"): 20.0,
        ("main", "sys_[k]"): 40.0,
    }
    assert only_frames(mine, both) == {"burn": 50.0}
    assert only_frames(both, mine) == {}


def recorded(name: str) -> dict[Stack, float]:
    """Return stacks in µs per request that `zoo explain` recorded of `fixtures/causes`, without those below 0.2 µs."""
    packed = Path(__file__).parent / f"fixtures/causes/recorded/{name}.collapsed.gz"
    stacks = parse_collapsed(gzip.decompress(packed.read_bytes()).decode())
    return GROUPS.without_starts({stack: ns / 1000 for stack, ns in stacks.items()})


def test_recorded_cause_is_named_exactly_with_its_size() -> None:
    plain, burn = recorded("plain"), recorded("burn")
    assert only_frames(burn, plain) == {"zoo/Causes.burn": pytest.approx(50, rel=0.2)}
    assert only_frames(plain, burn) == {}
    assert only_frames(plain, plain) == {}


def test_functions_without_a_name_are_counted() -> None:
    stacks: dict[Stack, float] = {
        ("[server]", "do_syscall_64_[k]"): 3.0,
        ("main", "[unknown]"): 1.0,
        ("main", "hyper::poll", "ksys_write_[k]"): 6.0,
    }
    assert unnamed_share(stacks) == pytest.approx(0.4)
    assert unnamed_share({}) == 0


def with_counts(found: Explanation, calls: float, allocated: float, waits: float) -> Explanation:
    """Return the explanation with counts of b that exceed those of a by these, in windows that vary by 1%."""
    noise = random.Random(7)

    def change(side: ExplainedSide, more: float) -> ExplainedSide:
        def vary(base: float, extra: float) -> float:
            return (base + more * extra) * noise.gauss(1, 0.01)

        return side.model_copy(
            update={
                "calls": [{"write": vary(1.0, calls), "read": vary(1.0, 0.0)} for _ in range(4)],
                "allocated_bytes": [vary(11_000, allocated) for _ in range(4)],
                "events": [
                    EventWindow(
                        contended={"zoo.Lock": vary(0.5, waits), "zoo.Other": vary(0.2, 0.0)},
                        pinned=None,
                        carriers=None,
                        steals=None,
                    )
                    for _ in range(4)
                ],
            }
        )

    return found.model_copy(update={"a": change(found.a, 0), "b": change(found.b, 1)})


@pytest.mark.parametrize(
    ("calls", "allocated", "waits", "kind", "sentence"),
    [
        (1.0, 0, 0, Counted.CALLS, r"request, server:virtual makes 1\.\d more write calls"),
        (0, 100_000, 0, Counted.ALLOCATED, r"request, server:virtual allocates 1\d\d,\d{3} more bytes"),
        (
            0,
            0,
            1.0,
            Counted.CONTENDED,
            r"1,000 requests, server:virtual waits (9|10)\d\d more times for a contended lock of class zoo.Lock",
        ),
    ],
)
def test_only_the_count_that_differs_is_named(
    calls: float, allocated: float, waits: float, kind: Counted, sentence: str
) -> None:
    found = with_counts(explanation({}, 27.0, {}), calls, allocated, waits)
    (named,) = clear_counts(found)
    assert named.kind is kind
    assert named.change == pytest.approx(calls + allocated + waits, rel=0.2)
    assert re.search(rf"Per {sentence}\.$", paragraph(found, GROUPS))


def test_counts_of_equal_servers_do_not_differ() -> None:
    found = with_counts(explanation({}, 27.0, {}), 0, 0, 0)
    assert clear_counts(found) == []
    assert "Per request" not in paragraph(found, GROUPS)


def test_known_difference_is_named_with_its_size() -> None:
    changed = {"parking and waking threads": 9.0}
    found = explanation(changed, 31.0, {"futex": 1.0})
    clear = [d for d in differences(found, GROUPS.names) if d.clear]
    assert [d.name for d in clear] == ["parking and waking threads"]
    assert clear[0].interval.value == pytest.approx(4.0, rel=0.2)
    assert total(found).interval.value == pytest.approx(4.0, rel=0.2)
    text = paragraph(found, GROUPS)
    assert "server:virtual uses" in text
    assert "µs more on parking and waking threads. The time on parking and waking threads goes with 0.9 " in text
    assert "with 0.9 more futex calls per request." in text
    assert "because" not in text


def test_names_of_groups_have_a_phrase_for_sentences() -> None:
    assert set(PHRASES) <= {*GROUPS.names, OTHER}
    text = paragraph(explanation({"handler": 9.0}, 35.0, {}), GROUPS)
    assert "µs more on the handler." in text


def test_an_unclear_difference_has_its_interval() -> None:
    found = explanation({}, 27.0, {})
    noisy = [window.model_copy(update={"cpu_us": us}) for window, us in zip(found.b.plain, (20.0, 34.0), strict=False)]
    found = found.model_copy(
        update={
            "a": found.a.model_copy(update={"plain": found.a.plain[:2]}),
            "b": found.b.model_copy(update={"plain": noisy}),
        }
    )
    text = paragraph(found, GROUPS)
    assert re.match(r"There is no clear difference .* µs \(−\d+ to \+[\d,]+%\)\.", text)


def test_equal_servers_give_no_difference() -> None:
    found = explanation({}, 27.0, {"futex": 0.1})
    assert not [d for d in differences(found, GROUPS.names) if d.clear]
    assert "use the same CPU time per request" in paragraph(found, GROUPS)


def test_equal_servers_are_rarely_told_apart() -> None:
    """Without a real difference, at most 5% of explanations may name a group; the bound allows for chance."""
    named = 0
    for seed in range(200):
        found = explanation({}, 27.0, {})
        found = found.model_copy(
            update={"a": side("a", BASE, 27.0, 2 * seed, {}), "b": side("b", BASE, 27.0, 2 * seed + 1, {})}
        )
        named += any(d.clear for d in differences(found, GROUPS.names))
    assert named <= 18  # P(more) < 1% if the true share is 5%


def test_share_that_rules_name() -> None:
    assert named_share(explanation({}, 27.0, {}), OTHER) == pytest.approx(26 / 26.5, abs=0.005)


def test_heavy_profiler_is_pointed_out() -> None:
    found = explanation({}, 27.0, {})
    assert not observing_cost(found.a).heavy
    slow = [window.model_copy(update={"rps": 4_000.0}) for window in found.a.profiled]
    assert observing_cost(found.a.model_copy(update={"profiled": slow})).heavy


def test_counts_of_both_sides() -> None:
    rows = {row.name: (row.a, row.b) for row in count_rows(explanation({}, 27.0, {}))}
    assert rows["calls of futex per request"] == pytest.approx((0.1, 0.0))
    assert rows["voluntary context switches per request"] == (1, 1)
    assert "bytes allocated per request" not in rows


def test_page_contains_the_paragraph_and_is_offline(tmp_path: Path) -> None:
    found = explanation({"parking and waking threads": 9.0}, 31.0, {"futex": 1.0})
    a: dict[Stack, float] = {FUTEX: 5.0, WRITE: 20.0}
    b: dict[Stack, float] = {FUTEX: 9.0, WRITE: 20.0}
    written = write_explanation(tmp_path, found, a, b)
    page = written.read_text(encoding="utf-8")
    assert paragraph(found, GROUPS) in page
    assert "default-src &#39;none&#39;" in page
    assert 'src="http' not in page
    assert write_page(tmp_path).read_text(encoding="utf-8") == page


def test_an_explanation_is_committed_and_quoted(tmp_path: Path) -> None:
    found = explanation({"parking and waking threads": 9.0}, 31.0, {"futex": 1.0})
    listed = CommittedRun(name="explain/server", command="explain --server server", quoted_by=["server/README.md"])
    new = tmp_path / rerun.REFRESHED / "explain/server/explain/20260101-000000-explain"
    new.mkdir(parents=True)
    write_explanation(new, found, {FUTEX: 5.0}, {FUTEX: 9.0})
    rerun.replace_committed(listed, tmp_path)
    assert {path.name for path in (tmp_path / listed.path).iterdir()} == {"run.json", "explain.html"}
    assert rerun.build_of(listed, tmp_path).started_at == found.started_at
    stored = StoredRun(listed, tmp_path / listed.path, load_catalog(tmp_path))
    text = render_explanations([stored], stored.catalog)
    assert text.startswith(f"- {paragraph(found, GROUPS)}")
    assert "[Page](results/reference/explain/server/explain.html)" in text


def test_the_time_of_an_explanation_is_known() -> None:
    command = "explain --server java-tomcat --windows 4 --duration 2"
    run_of_table = CommittedRun(name="explain/server", command=command, quoted_by=["README.md"])
    assert rerun.time_of(run_of_table, Path()).seconds > 2 * 4 * 2 * 2


def test_a_process_that_cannot_be_read_is_reported() -> None:
    with pytest.raises(ProfilerError, match="cannot be read"):
        require_attachable(2**22 + 1)


def test_a_jvm_without_jcmd_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/maps").write_text("7f00 r-xp 0 08:01 1 /opt/jre/lib/server/libjvm.so\n", encoding="utf-8")
    monkeypatch.setattr(profilers, "PROC", str(tmp_path))
    monkeypatch.setattr(jcmd, "PROC", str(tmp_path))
    with pytest.raises(ProfilerError, match="start the server on a JDK of this host"):
        require_attachable(1)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--target", "http://127.0.0.1:1/", "--scenario", "held"], "held measures fresh processes"),
        (["--target", "http://127.0.0.1:1/", "--vary", "heap=50m"], "--vary needs a server"),
        (["--variant", "java-tomcat:virtual"], "needs 2 entries here, got 1"),
        (["--variant", "java-tomcat:virtual", "--vary", "heap=50m,heap=90m"], "name one --vary"),
        (["--server", "java-tomcat", "--scenario", "cpu"], "explain knows the scenarios hello, sleep, held"),
    ],
)
def test_pairs_that_cannot_be_explained(words: list[str], complaint: str) -> None:
    done = CliRunner().invoke(app.app_for(["explain"]), ["explain", *words], env={"COLUMNS": "300"})
    assert done.exit_code != 0
    assert complaint in (done.output + str(done.exception))
