from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import builders
import pytest
from builders import record
from fixtures.scripted_server import ScriptedServer
from test_experiments import tried
from typer.main import get_command
from typer.testing import CliRunner
from waits import PATIENCE_S

from zoo import COMMAND
from zoo.cli import app, checkout, display
from zoo.core.defaults import FULL
from zoo.core.record import PROTOCOL
from zoo.core.run_folder import Store
from zoo.core.scenario import bench_scenarios
from zoo.core.trial_results import PoolSizeResult, Quantiles
from zoo.runtime import conditions
from zoo.runtime.target import SLEEP_MS

ROOT = Path(__file__).parents[2]
MANIFEST = """
name = "{name}"
title = "A server"
language = "rust"
port = {port}
build = {{ command = ["true"], makes = ["server.toml"], sources = ["server.toml"] }}
run = {{ command = ["./it"] }}

[[variants]]
name = "async"
model = "async-task"
summary = "a task for each connection"

[[variants]]
name = "platform"
model = "platform-thread"
summary = "a pool of threads"
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a zoo with two native servers, so that no JDK is needed."""
    for name, port in (("rust-a", 8201), ("rust-b", 8202)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.toml").write_text(MANIFEST.format(name=name, port=port), encoding="utf-8")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(display.console, "width", 200)
    for name in (*conditions.PASSED_ON, "ZOO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RUNTIME", "process")
    return tmp_path


def zoo(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app.app_for(words), words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_ctrl_c_while_a_library_loads_leaves_no_stack_trace(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(600)\n", encoding="utf-8")
    words = [sys.executable, "-m", "zoo", "list"]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "loading\n"
        command.send_signal(signal.SIGINT)
        assert command.communicate(timeout=PATIENCE_S) == ("", "")
    assert command.returncode == -signal.SIGINT


def test_a_package_of_the_same_name_is_not_taken_for_the_harness(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "__init__.py").touch()
    done = subprocess.run(
        [*COMMAND, "--help"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_in_another_checkout_a_command_says_whose_harness_it_is(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "a copy"
    (other / "harness" / "zoo").mkdir(parents=True)
    (other / "harness" / "zoo" / "__init__.py").touch()
    (other / "results").mkdir()
    assert zoo("list")[0] == 0
    monkeypatch.chdir(other / "results")
    code, out, err = zoo("list")
    assert (code, out) == (2, "")
    assert err == f"zoo: this command belongs to {ROOT}, not to {other}; there, run ./zoo\n"


def test_the_command_itself_helps() -> None:
    done = subprocess.run([sys.executable, "-m", "zoo", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    commands = {line.split()[0] for line in done.stdout.partition("Commands")[2].splitlines() if line.strip()}
    assert {"list", "plan", "bench", "build", "report", "doctor", "docs"} <= commands


def test_every_command_has_examples_that_it_accepts(root: Path) -> None:
    seen = 0
    for name in app.COMMANDS:
        found = cast(Any, get_command(app.app_for([name]))).commands[name]
        commands = getattr(found, "commands", {f"{name}": found})
        for sub, command in commands.items():
            assert command.examples, f"{name} {sub} has no example"
            for example in command.examples:
                words = shlex.split(re.sub(r" > \S+$", "", example))
                words = words[words.index("zoo") + 1 :]
                assert words[: len(words) - 1 or 1][0] == name
                command.make_context(sub, words[2 if name in app.GROUPS else 1 :])
                seen += 1
    assert seen > len(app.COMMANDS)
    out = zoo("compare", "--help")[1]
    assert "\nExamples:\n  zoo compare results/20260101-120000-full results/latest\n" in out


def test_a_path_that_cannot_be_written_is_one_plain_line(root: Path) -> None:
    (root / "taken").touch()
    (root / "results" / "reference").mkdir(parents=True)
    builders.list_runs(root)
    code, _, err = zoo("site", "--to", str(root / "taken" / "site"))
    assert code == 2
    assert err == (
        f"zoo: cannot use {root / 'taken' / 'site'}: Not a directory; name another path, or change this one\n"
    )


@pytest.mark.parametrize("name", [*app.COMMANDS, *app.HIDDEN])
def test_each_command_helps(name: str) -> None:
    code, out, _ = zoo(name, "--help")
    assert code == 0
    assert out.startswith("Usage: ")


def test_list_names_the_services_of_the_compose_file(root: Path) -> None:
    lines = ["rust-a-async 8201 rust-a:async", "rust-b-async 8202 rust-b:async"]
    assert zoo("list", "--services")[1].splitlines() == lines
    named = ("--server", "rust-b", "--variant", "platform")
    assert zoo("list", "--services", *named)[:2] == (0, "rust-b-platform 8202 rust-b:platform\n")


def test_list_shows_every_entry(root: Path) -> None:
    code, out, _ = zoo("list")
    assert code == 0
    for words in (("rust-a:async", "async-task", "8201"), ("rust-b:platform", "platform-thread", "8202")):
        assert any(all(word in line for word in words) for line in out.splitlines())


def test_list_marks_a_synthetic_variant_and_says_why(root: Path) -> None:
    path = root / "rust-a" / "server.toml"
    text = path.read_text(encoding="utf-8")
    variant = 'name = "platform"'
    assert variant in text
    path.write_text(text.replace(variant, f'{variant}\nsynthetic = "a toy"'), encoding="utf-8")
    lines = zoo("list")[1].splitlines()
    [marked] = [line for line in lines if "(synthetic)" in line]
    assert marked.startswith("rust-a:platform (synthetic)")
    assert "synthetic: a toy" in marked


def test_plan_counts_cells_and_time_and_touches_nothing(root: Path) -> None:
    before = sorted(root.rglob("*"))
    code, out, _ = zoo(
        "plan", "--server", "rust-a", "--scenario", "hello", "--connections", "1k,100", "--rounds", "2", "--seed", "9"
    )
    assert code == 0
    assert "8 cells = 2 entries × hello × 100, 1k connections × 2 rounds, about" in out
    assert "entries: rust-a:async, rust-a:platform" in out
    assert "order seed 9" in out
    assert sorted(root.rglob("*")) == before


def test_a_target_is_planned_alone_or_with_the_entries_that_are_named(root: Path) -> None:
    # The target must respond, as in a run, and must wait if it takes part in sleep.
    def script(number: int) -> bytes:
        time.sleep(SLEEP_MS / 1000 if number > 1 else 0)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    with ScriptedServer() as server:
        server.script = script
        port = server.url.rpartition(":")[2]
        _plan_a_target(f"{server.url}/", port)


def _plan_a_target(url: str, port: str) -> None:
    code, out, err = zoo("plan", "--target", url, "--seed", "9")
    assert (code, err) == (0, "")
    assert "9 cells = 1 entry × hello × 100, 1k, 25k connections × 3 rounds, about" in out
    assert f"entries: target:{port}\ncondition: runtime process, network host" in out
    words = ["--target", url, "--variant", "rust-a:async", "--scenario", "sleep", "--aa"]
    out = zoo("plan", *words)[1]
    assert f"entries: rust-a:async, target:{port}\n" in out
    assert "of A/A (rust-a:async)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "9000"], 'a target must be a URL such as http://127.0.0.1:9000/, got "9000"'),
        (["--pid", "7"], "each target needs its own PID, got 1 for 0 targets: give --pid as often as --target"),
        (
            ["--target", "http://127.0.0.1:9000/", "--runtime", "container"],
            "a server from outside the zoo has no image, and all servers of a run have the same runtime: "
            "set RUNTIME=process",
        ),
        (
            ["--target", "http://127.0.0.1:9000/", "--vary", "heap=50m"],
            "--vary needs servers that the harness starts, and --target names one that already runs; remove --vary",
        ),
    ],
)
def test_a_target_that_cannot_be_planned_is_one_plain_line(root: Path, words: list[str], message: str) -> None:
    assert zoo("plan", *words) == (2, "", f"zoo: {message}\n")


def test_a_folder_elsewhere_is_part_of_the_zoo_while_it_is_named(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path_factory.mktemp("elsewhere") / "mine"
    mine.mkdir()
    (mine / "server.toml").write_text(MANIFEST.format(name="mine", port=8204), encoding="utf-8")
    assert "mine:async" not in zoo("list")[1]
    monkeypatch.setenv("ZOO", str(mine))
    assert "mine:async" in zoo("list")[1]
    assert (
        "entries: rust-a:async, mine:platform\n"
        in zoo("plan", "--variant", "mine:platform", "--variant", "rust-a:async")[1]
    )
    assert "RUNTIME=process" in zoo("plan", "--server", "mine", "--runtime", "container")[2]
    monkeypatch.setenv("ZOO", str(root / "nothing"))
    assert zoo("list")[2] == f"zoo: {root / 'nothing'}: expected a server.toml in this folder or in its subfolders\n"


def test_a_setting_of_the_servers_is_part_of_the_condition(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_THREADS", "50")
    assert "MAX_THREADS 50" in zoo("plan")[1]


@pytest.mark.parametrize("command", ["plan", "bench"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--server", "rust-x"], 'there is no server "rust-x"; known: rust-a, rust-b'),
        (["--variant", "virtual"], 'there is no variant "virtual"; known: async, platform'),
        (["--server", "rust-a", "--variant", "x"], 'there is no variant "x"; known: async, platform'),
        (["--scenario", "crawl"], f'no scenario "crawl"; known: {", ".join(bench_scenarios())}'),
        (["--connections", "100,many"], '"many" is not a number of connections; use numbers such as 100, 1k or 25k'),
        (["--connections", ","], "--connections is empty; give numbers such as 100,1k,25k"),
    ],
)
def test_a_word_that_names_nothing_is_one_plain_line(root: Path, command: str, words: list[str], message: str) -> None:
    assert zoo(command, *words) == (2, "", f"zoo: {message}\n")
    assert not (root / "results").exists()


@pytest.mark.parametrize("command", ["plan", "bench"])
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://192.0.2.1:9000/", "is not on this machine; if its owner allows this load, add --remote (REMOTE=1)"),
        ("https://127.0.0.1:9/", "https:// is not supported"),
        ("http://127.0.0.1:9/caf\u00e9", "GET http://127.0.0.1:9/caf%C3%A9 returned no response"),
    ],
)
@pytest.mark.usefixtures("root")
def test_plan_refuses_the_targets_that_bench_refuses(command: str, url: str, message: str) -> None:
    code, out, err = zoo(command, "--target", url)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "words",
    [["--rounds", "0"], ["--rounds", "1000000000"], ["--duration", "-1"], ["--rounds", "x"], ["--no-such-option"]],
)
def test_a_number_out_of_range_and_an_unknown_option_end_with_2(root: Path, words: list[str]) -> None:
    code, out, err = zoo("plan", *words)
    assert (code, out) == (2, "")
    assert words[0] in err
    assert "Traceback" not in err


def test_a_broken_manifest_is_told_by_every_command_that_reads_it(root: Path) -> None:
    path = root / "rust-a" / "server.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("8201", "80"), encoding="utf-8")
    for command in ("list", "plan", "bench", "build", "docs"):
        code, _, err = zoo(command)
        assert (code, err.splitlines()) == (
            2,
            [f"zoo: {path}: port: Input should be greater than or equal to 1024, got 80"],
        )


def test_a_folder_for_results_that_cannot_be_made_is_one_plain_line(root: Path) -> None:
    taken = root / "taken"
    taken.touch()
    code, _, err = zoo(
        "bench", "--server", "rust-a", "--scenario", "hello", "--connections", "5", "--results", str(taken)
    )
    assert code == 2
    assert err == f"zoo: cannot write {taken}: Not a directory\n"


def test_a_terminal_without_a_sign_gets_a_question_mark(root: Path) -> None:
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    store.append(record("rust-a:async"))
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "zoo", "report", str(store.folder)]
    done = subprocess.run(command, env={**os.environ, **plain}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?" in done.stdout
    assert done.stdout.isascii()


def test_a_tier_that_cannot_be_held_is_refused_when_asked_to_be_strict(root: Path) -> None:
    code, _, err = zoo("bench", "--server", "rust-a", "--connections", "9000k", "--strict")
    assert code == 2
    assert err.startswith("zoo: 9000k connections are not possible here: ")
    assert err.count("\n") == 1
    assert not (root / "results").exists()


def test_going_on_without_a_run_says_how_to_start_one(root: Path) -> None:
    code, _, err = zoo("bench", "--resume")
    assert code == 2
    assert "contains no run" in err
    assert "make bench-quick" in err


def test_a_run_that_has_as_many_rounds_is_not_lengthened(root: Path) -> None:
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    before = (store.folder / "run.json").read_bytes()
    code, _, err = zoo("bench", "--resume", "--rounds", "3")
    assert (code, err) == (
        2,
        "zoo: cannot resume: give ROUNDS a number above 3, which the run already has; it is the total of all rounds\n",
    )
    assert (store.folder / "run.json").read_bytes() == before


def test_a_run_is_not_continued_with_other_sources(root: Path) -> None:
    run = builders.run(["rust-a:async"])
    Store.create(root / "results", run.model_copy(update={"builds": {"rust-a": "of other sources"}}))
    code, _, err = zoo("bench", "--resume")
    begun = "zoo: cannot resume: rust-a changed after this run was started; start a new run, or restore the sources\n"
    assert (code, err) == (2, begun)


def test_a_run_is_not_continued_with_another_protocol(root: Path) -> None:
    Store.create(root / "results", builders.run(["rust-a:async"]).model_copy(update={"protocol": PROTOCOL - 1}))
    code, _, err = zoo("bench", "--resume")
    assert code == 2
    assert f"started with protocol {PROTOCOL - 1}, and this harness uses {PROTOCOL}" in err


def test_a_build_that_fails_is_told_without_a_stack_trace(root: Path) -> None:
    path = root / "rust-a" / "server.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('["true"]', '["false"]'), encoding="utf-8")
    code, _, err = zoo("build", "--server", "rust-a")
    assert code == 2
    assert err.startswith("zoo: rust-a: false ended with exit code 1")


def test_report_shows_a_stored_run_and_writes_its_file(root: Path) -> None:
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    store.append(record("rust-a:async"))
    code, out, _ = zoo("report", str(root / "results" / "latest"))
    assert code == 0
    assert "Run 20260102-030405-full" in out
    text = (store.folder / "report.md").read_text(encoding="utf-8")
    assert "| rust-a:async | 50,000 |" in text
    assert zoo("report", str(store.folder), "--quiet")[:2] == (0, "")
    assert (store.folder / "report.md").read_text(encoding="utf-8") == text


def test_report_writes_a_page_and_its_charts_as_pictures(root: Path) -> None:
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    store.append(record("rust-a:async"))
    code, out, _ = zoo("report", str(store.folder), "--svg", str(root / "pictures"))
    assert code == 0
    assert out.splitlines()[-1].endswith("report.html")
    page = (store.folder / "report.html").read_text(encoding="utf-8")
    assert "rust-a:async" in page
    for picture in (root / "pictures").iterdir():
        assert picture.stem in page
        assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert len(list((root / "pictures").iterdir())) > 3
    assert zoo("report", str(store.folder), "--quiet")[0] == 0
    assert (store.folder / "report.html").read_text(encoding="utf-8") == page


def test_a_raw_file_that_is_damaged_is_named(root: Path) -> None:
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    store.append(record("rust-a:async"))
    (store.raw / "h.json.gz").write_bytes(b"cut")
    code, _, err = zoo("report", str(store.folder))
    assert code == 2
    assert "raw/h.json.gz: " in err


def test_report_of_a_damaged_run_names_file_and_line(root: Path) -> None:
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    with (store.folder / "records.ndjson").open("a", encoding="utf-8") as out:
        out.write("not a record\n")
    code, _, err = zoo("report", str(store.folder))
    assert code == 2
    assert "records.ndjson:1: " in err


def test_docs_says_what_is_stale_and_writes_it(root: Path) -> None:
    (root / "README.md").write_text("<!-- generated: entries -->\n<!-- end -->\n", encoding="utf-8")
    builders.list_runs(root)
    code, out, err = zoo("docs", "--check")
    assert code == 1
    assert sorted(out.splitlines()) == [
        "stale: README.md",
        "stale: docs/answer.schema.json",
        "stale: docs/jvm.schema.json",
        "stale: docs/records.schema.json",
    ]
    assert "zoo docs" in err
    assert zoo("docs")[0] == 0
    assert zoo("docs", "--check") == (0, "", "")
    assert "[rust-b](rust-b/)" in (root / "README.md").read_text(encoding="utf-8")


# --- A/A and precision


def test_the_whole_zoo_is_planned_with_a_a_and_a_part_of_it_when_asked(root: Path) -> None:
    assert "24 cells = 4 entries × hello × 100, 1k connections × 3 rounds, and 6 of A/A (rust-a:async)" in " ".join(
        zoo("plan", "--scenario", "hello", "--connections", "100,1k")[1].split()
    )
    assert "A/A" not in zoo("plan", "--server", "rust-a")[1]
    assert "A/A" not in zoo("plan", "--no-aa")[1]
    assert "of A/A (rust-b:async)" in zoo("plan", "--server", "rust-b", "--aa")[1]


def test_a_precision_is_priced_from_a_pilot(root: Path) -> None:
    run = builders.run(["java-a:platform", "java-a:virtual"])
    timed = run.plan.model_copy(update={"profile": FULL.numbers()})
    store = Store.create(root / "results", run.model_copy(update={"plan": timed}))
    for number, (a, b) in enumerate([(100.0, 103.0), (104.0, 100.0), (99.0, 100.0)], 1):
        store.append(record("java-a:platform", round_number=number, rps=a))
        store.append(record("java-a:virtual", round_number=number, rps=b))
    write_manifest(root, "java-a")
    code, out, err = zoo("plan", "--precision", "3%")
    assert (code, err) == (0, "")
    assert "Rounds needed for a precision" in out
    assert "java-a:virtual ÷ java-a:platform: req/s" in out
    assert "all pairs: req/s" in out
    assert zoo("plan", "--precision", "3%", "--pilot", str(store.folder))[1] == out


def test_a_precision_without_a_pilot_or_that_is_none_is_told_plainly(root: Path) -> None:
    code, _, err = zoo("plan", "--precision", "3%")
    assert (code, "contains no run" in err) == (2, True)
    assert zoo("plan", "--precision", "lots") == (
        2,
        "",
        'zoo: a precision must be a percentage such as 3% (0.1% to 50%), got "lots"\n',
    )
    store = Store.create(root / "results", builders.run(["rust-a:async"]))
    store.append(record("rust-a:async"))
    code, _, err = zoo("plan", "--precision", "3%")
    assert code == 2
    assert "it needs two rounds of one server's platform and virtual variants; name another run with --pilot" in err


def write_manifest(root: Path, name: str) -> None:
    """Write a manifest with the variants of a named pair, as a native server, so that no JDK is needed."""
    text = MANIFEST.format(name=name, port=8203).replace('"async"', '"virtual"').replace("async-task", "virtual-thread")
    (root / name).mkdir()
    (root / name / "server.toml").write_text(text.replace("a pool of threads", "a pool"), encoding="utf-8")


# --- two runs


def stored(folder: Path, name: str, rps: list[float], **changes: object) -> str:
    run = builders.run(["rust-a:async"]).model_copy(update={"id": name, **changes})
    store = Store.create(folder, run)
    for number, value in enumerate(rps, 1):
        store.append(record("rust-a:async", round_number=number, rps=value))
    return str(store.folder)


def test_compare_tells_verdicts_and_fails_when_asked_to(root: Path) -> None:
    first = stored(root / "results", "first", [100.0, 101.0, 99.0, 100.5])
    second = stored(root / "results", "second", [90.0, 91.0, 89.5])
    code, out, err = zoo("compare", first, second)
    assert (code, err) == (0, "")
    assert "second vs. first" in out
    assert re.search(r"10% slower \(\d+–\d+%\)", out)
    assert zoo("compare", first, second, "--fail-if-slower", "5%")[0] == 1
    assert zoo("compare", first, second, "--fail-if-slower", "15%")[0] == 0
    assert zoo("compare", second, first, "--fail-if-slower", "5%")[0] == 0


def test_compare_refuses_with_its_reasons_unless_told_to(root: Path) -> None:
    first = stored(root / "results", "first", [100.0, 101.0])
    second = stored(root / "results", "second", [100.0, 102.0], protocol=PROTOCOL - 1)
    code, out, err = zoo("compare", first, second)
    assert (code, out) == (2, "")
    differ = f"protocol: {PROTOCOL} → {PROTOCOL - 1}"
    assert err == f"zoo: these runs cannot be compared: {differ}; add --anyway (ANYWAY=1) to ignore this\n"
    code, out, _ = zoo("compare", first, second, "--anyway")
    assert code == 0
    assert f"not comparable: {differ}" in out
    assert zoo("compare", first, stored(root / "results", "third", []), "--anyway")[0] == 2


def test_export_prints_a_table(root: Path) -> None:
    folder = stored(root / "results", "first", [100.0, 101.0])
    code, out, _ = zoo("export", folder, "--csv")
    assert (code, len(out.splitlines())) == (0, 3)
    assert out.startswith("protocol,entry,")


# --- JSON


def parsed(*words: str) -> dict[str, Any]:
    code, out, err = zoo(*words, "--json")
    assert (code, err) in ((0, ""), (1, ""))
    found = json.loads(out)
    assert (found.pop("format"), found.pop("command")) == (1, words[0])
    return cast(dict[str, Any], found)


def test_the_variants_as_json(root: Path) -> None:
    variants = parsed("list", "--server", "rust-b")["variants"]
    assert [one["id"] for one in variants] == ["rust-b:async", "rust-b:platform"]
    assert variants[0] == {
        "id": "rust-b:async",
        "server": "rust-b",
        "variant": "async",
        "thread_model": "async-task",
        "port": 8202,
        "description": "a task for each connection",
    }


def test_the_checks_as_json(root: Path) -> None:
    found = parsed("doctor")
    assert found["worst"] in {one["state"] for one in found["checks"]} <= {"ok", "warn", "bad"}
    assert all(one.keys() == {"name", "found", "meaning", "state", "fix"} for one in found["checks"])


def test_a_comparison_as_json(root: Path) -> None:
    first = stored(root / "results", "first", [100.0, 101.0, 99.0, 100.5])
    second = stored(root / "results", "second", [90.0, 91.0, 89.5])
    found = parsed("compare", first, second, "--fail-if-slower", "5%")
    (pair,) = found["pairs"]
    assert (pair["scenario"], pair["connections"], found["slower"]) == ("hello", "1k", [pair])
    requests = pair["metrics"]["req/s"]
    assert requests["low"] < requests["ratio"] < requests["high"] < 1
    assert (round(requests["ratio"], 2), requests["verdict"]) == (0.9, "slower")
    assert "second vs. first" in str(found["sections"])


def test_a_report_as_json_has_what_is_printed(root: Path) -> None:
    folder = stored(root / "results", "first", [100.0, 101.0])
    printed = zoo("report", folder)[1]
    found = parsed("report", folder)
    assert found["run"] == "first"
    assert all(section["heading"] in printed for section in found["sections"])
    keys = {"heading", "paragraphs", "tables", "bullets", "details"}
    assert all(section.keys() == keys for section in found["sections"])
    assert any("rust-a:async" in row for section in found["sections"] for t in section["tables"] for row in t["rows"])


def test_an_answer_as_json_measures_nothing(root: Path) -> None:
    write_manifest(root, "java-a")
    code, out, err = zoo("answer", "java-a", "--json")
    assert (code, out) == (2, "")
    assert "make answer SERVER=java-a" in err
    run = builders.run(["java-a:platform", "java-a:virtual"])
    store = Store.create(root / "results" / "answers" / "java-a" / "cost", run)
    for number, (a, b) in enumerate([(100.0, 103.0), (104.0, 100.0), (99.0, 100.0)], 1):
        store.append(record("java-a:platform", round_number=number, rps=a))
        store.append(record("java-a:virtual", round_number=number, rps=b))
    found = parsed("answer", "java-a")
    assert found["server"] == "java-a"
    shown = " ".join(zoo("answer", "java-a", "--show")[1].split())
    assert found["result"]["blocks"][1]["lines"][0]["text"] in found["answer"]
    assert found["result"]["blocks"][1]["lines"][0]["text"] in shown
    assert found["rounds_needed"] is None or found["rounds_needed"] > 3
    assert found["afterwards"] == []


def test_an_answer_begins_with_what_to_do_about_requests_that_wait(root: Path) -> None:
    write_manifest(root, "java-a")
    run = builders.run(["java-a:platform", "java-a:virtual"], ["pool-size"], ["1k"])
    store = Store.create(root / "results" / "answers" / "java-a" / "pools", run)
    unknown = Quantiles(p50_us=None, p90_us=None, p99_us=None, p999_us=None)
    for case, pool, served in (
        ("current", 200, 200),
        ("half", 500, 500),
        ("all", 1_000, 1_000),
        ("virtual", None, 990),
    ):
        result = PoolSizeResult(
            delay_s=4,
            timeout_s=10,
            requests=1_000,
            pool=pool,
            served_first=served,
            served=served,
            failed={},
            latency=unknown,
            grown_s=None,
            threads=pool,
            rss_kb=None,
            heap_kb=None,
            stacks_kb=None,
            hello=None,
            cpu_s=None,
            version="",
            answers=None,
        )
        entry = "java-a:platform" if pool else "java-a:virtual"
        store.append(tried("pool-size", result, entry, case, "1k"))
    found = parsed("answer", "java-a")
    assert found["answer"].startswith(
        "java-a: If requests wait: Enlarge the pool to about 1,000: with 1,000 requests at once that wait 4 s each, a "
        "pool of 200 serves 200 of 1,000 in the first wait"
    )
    assert found["afterwards"][0].startswith("Database connections: 1,000 requests")
    shown = zoo("answer", "java-a", "--show")[1]
    assert "After that change:" in shown
    assert "- Database connections" in shown
    written = root / "results" / "answers" / "java-a"
    assert {path.name for path in written.glob("answer*")} == {
        "answer.html",
        "answer.json",
        "answer.svg",
        "answer-badge.svg",
    }
    assert json.loads((written / "answer.json").read_text(encoding="utf-8")) == found["result"]
    again = zoo("answer", "java-a", "--run", str(written / "pools" / "latest"))[1]
    assert "Enlarge the pool to about 1,000" in again
