"""Tests of conditions: another release of a server's framework, and fewer processors."""

from __future__ import annotations

import os
import re
from pathlib import Path

import builders
import pytest

from zoo import ROOT
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.errors import BenchError
from zoo.core.manifest import Catalog, Entry, Language, Model, Server
from zoo.core.manifest_files import load_catalog
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.run import PlanFacts
from zoo.host import build
from zoo.host.build import project_of
from zoo.host.engine import Engine
from zoo.report.text.planning import format_announcement
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import ConditionError, check_condition
from zoo.runtime.conditions import PASSED_ON, settings_from, variations_of
from zoo.runtime.container import ContainerRuntime, Resources
from zoo.runtime.process import command

RELEASE = {
    "setting": "THING",
    "build": ["-Dthing={release}"],
    "java": {"21": "23.0.0.10", "22": "24.0.0.4", "26": "26.0.0.4"},
}


@pytest.fixture
def server() -> Server:
    return builders.server(
        "java-a",
        8101,
        "platform-thread",
        build={"command": ["mvn", "package"], "makes": ["target/it.jar", "target/app"], "sources": ["src", "pom.xml"]},
        run={"command": ["{java}", "{jvm_flags}", "-jar", "target/it.jar", "targets/x"]},
        release=RELEASE,
    )


@pytest.fixture
def entry(server: Server) -> Entry:
    return Entry(server, server.manifest.variants[0])


def process(jdk: str = "21.0.4+7", **changes: object) -> Condition:
    return Condition.model_validate({"jdk": jdk, **changes})


def test_another_release_is_built_and_run_beside_the_usual_one(entry: Entry) -> None:
    other = entry.with_release({"THING": "23.0.0.10", "MAX_THREADS": "4"})
    made = other.server.manifest.build
    assert made is not None
    assert made.command == ["mvn", "package", "-Dthing=23.0.0.10"]
    assert made.makes == ["target-23.0.0.10/it.jar", "target-23.0.0.10/app"]
    assert made.sources == ["src", "pom.xml"]
    assert command(other, Path("java")) == ["java", "-jar", "target-23.0.0.10/it.jar", "targets/x"]
    assert other.server.label == "java-a 23.0.0.10"
    assert other.id == entry.id
    assert entry.with_release({"MAX_THREADS": "4"}) == entry


def test_a_build_of_one_release_says_nothing_of_the_other(server: Server, tmp_path: Path) -> None:
    assert server.manifest.build is not None
    both = "for at in target target-23.0.0.10; do mkdir -p $at && touch $at/it.jar $at/app; done"
    (tmp_path / "pom.xml").touch()
    changes = {"command": ["sh", "-c", both], "sources": ["pom.xml"]}
    makes_both = server.manifest.build.model_copy(update=changes)
    usual = Server(tmp_path, server.manifest.model_copy(update={"build": makes_both}))
    projects = [project_of(found, None) for found in (usual, usual.with_release({"THING": "23.0.0.10"}))]
    for number, project in enumerate(projects, start=1):
        assert project is not None
        build.build(project)
        assert [build.is_built(each) for each in projects if each] == [True, number == 2]


@pytest.mark.parametrize(
    ("release", "newest"), [("23.0.0.9", 20), ("23.0.0.10", 21), ("24.0.0.4", 25), ("25.0.0.1", 25), ("26.0.0.4", None)]
)
def test_the_newest_java_of_a_release(server: Server, release: str, newest: int | None) -> None:
    assert server.manifest.release is not None
    assert server.manifest.release.newest_java(release) == newest


@pytest.mark.parametrize("jdk", ["25.0.1", "25"])
def test_a_release_on_a_jdk_that_it_does_not_support_is_refused(entry: Entry, jdk: str) -> None:
    with pytest.raises(ConditionError, match=r"java-a 23\.0\.0\.10 supports Java up to 21, not 25.*JDK=21"):
        check_condition(process(jdk, env={"THING": "23.0.0.10"}), [entry])


def test_a_release_on_a_jdk_that_it_supports_is_taken(entry: Entry) -> None:
    condition = process("21.0.4+7", env={"THING": "23.0.0.10"})
    assert check_condition(condition, [entry]) == condition


def test_a_release_from_before_the_zoo_s_oldest_java_is_refused(entry: Entry) -> None:
    with pytest.raises(ConditionError, match="up to 20, but the zoo needs 21"):
        check_condition(process(env={"THING": "23.0.0.9"}), [entry])


@pytest.mark.parametrize("release", ["newest", "../23.0", "23", "23.0.0.10 -X", ""])
def test_what_is_no_release_is_refused(entry: Entry, release: str) -> None:
    with pytest.raises(ConditionError, match="THING must be a release"):
        check_condition(process(env={"THING": release}), [entry])


def test_a_release_is_refused_in_a_virtual_host(entry: Entry) -> None:
    with pytest.raises(ConditionError, match="THING works only for processes and containers"):
        check_condition(process(runtime="vm", network="vm", env={"THING": "23.0.0.10"}), [entry])


@pytest.mark.parametrize("text", ["THING=23.0.0.10", "thing=23.0.0.10"])
def test_a_release_is_a_variation(entry: Entry, text: str) -> None:
    [(name, made)] = variations_of([text], process(env={"MAX_THREADS": "4"}), [entry], Path()).items()
    assert name == text
    assert made == process(env={"MAX_THREADS": "4", "THING": "23.0.0.10"})


def test_a_release_is_none_for_entries_that_have_no_such_setting(entry: Entry) -> None:
    with pytest.raises(ConditionError, match="rust-n does not support THING"):
        variations_of(["THING=23.0.0.10"], process(), [entry, builders.entry("rust-n:bare")], Path())


def test_a_container_of_another_release_has_an_image_of_its_own(entry: Entry, tmp_path: Path) -> None:
    runtime = ContainerRuntime(Engine(), Resources())
    usual, other = (runtime.words("name", Launch(entry, tmp_path / "log", env)) for env in ({}, {"THING": "23.0.0.10"}))
    assert "server-zoo/java-a:latest" in usual
    assert "server-zoo/java-a:latest-23.0.0.10" in other
    assert other[-4:] == usual[-4:]


def test_processors_are_a_variation_of_process_and_container(entry: Entry, tmp_path: Path) -> None:
    assert variations_of(["cpus=1"], process(), [entry], Path()) == {"cpus=1": process(cpus=1.0)}
    contained = process(runtime="container", network="container")
    assert variations_of(["cpus=0.5"], contained, [entry], Path())["cpus=0.5"].cpus == 0.5
    words = ContainerRuntime(Engine(), Resources(cpus=2)).words("name", Launch(entry, tmp_path / "log", cpus=0.5))
    assert [word for word in words if word.startswith("--cpus")] == ["--cpus=0.5"]


@pytest.mark.parametrize("cpus", [0.5, 1.5, 1 + len(os.sched_getaffinity(0))])
def test_a_process_has_whole_processors_and_no_more_than_there_are(entry: Entry, cpus: float) -> None:
    with pytest.raises(ConditionError, match="the number must be whole, from 1 to"):
        check_condition(process(cpus=cpus), [entry])


# --- settings, and the entries they affect


def reading(*settings: str, model: str = "platform-thread") -> Entry:
    """Return an entry that reads these settings."""
    variant = {"name": "it", "model": model, "summary": "a test", "settings": list(settings)}
    made = builders.server(f"java-{'-'.join(settings).lower().replace('_', '') or 'a'}", 8101, variants=[variant])
    return Entry(made, made.manifest.variants[0])


def test_a_setting_that_no_entry_reads_is_an_error_and_not_a_condition() -> None:
    pool, other = reading("MAX_THREADS", "BACKLOG"), reading("BACKLOG")
    assert settings_from({"MAX_THREADS": "4", "PATH": "/bin"}, [pool, other]) == {"MAX_THREADS": "4"}
    with pytest.raises(BenchError, match="MAX_THREADS=4 has no effect: no selected server variant reads MAX_THREADS"):
        settings_from({"MAX_THREADS": "4"}, [other])


def test_a_server_may_name_any_variable_that_it_needs() -> None:
    assert settings_from({"PATH": "/mine", "NODE_ENV": "x"}, [reading("PATH")]) == {"PATH": "/mine"}


def planned(entries: list[Entry], *vary: str, base: Condition | None = None) -> PlanFacts:
    """Return the plan of hello with these variations added."""
    catalog = Catalog(tuple(entry.server for entry in entries))
    condition = base or process("25.0.1")
    return make_plan(
        BenchOptions(scenarios=["hello"]), catalog, condition, variations_of(vary, condition, entries, Path())
    )


NATIVE = builders.entry("rust-n:bare")


@pytest.mark.parametrize("vary", ["heap=50m", "flags=-XX:+UseSerialGC"])
def test_a_condition_of_the_jvm_alone_is_refused_where_there_is_none(vary: str) -> None:
    with pytest.raises(PlanError, match=f"{re.escape(vary)} changes nothing: no selected server variant has a JVM"):
        planned([NATIVE], vary)


def test_a_condition_of_the_jvm_leaves_out_natives_and_says_so() -> None:
    made = planned([NATIVE, reading("BACKLOG")], "heap=50m")
    assert made.varied_entries == ["java-backlog:it@heap=50m"]
    text = format_announcement(made, 60.0, {})
    assert "heap=50m does not affect rust-n:bare" in text


def with_jvm(name: str, **jvm: list[str]) -> Entry:
    """Return an entry whose manifest defines these JVM flags."""
    made = builders.server(name, 8101, "platform-thread", jvm=jvm)
    return Entry(made, made.manifest.variants[0])


COMPACT = ["-XX:+UseCompactObjectHeaders"]


def test_a_named_condition_adds_the_flags_of_the_manifest_to_those_of_the_run() -> None:
    entry = with_jvm("java-a", base=["-Dx"], compact=COMPACT)
    base = process("25.0.1", jvm_flags=["-Xmx50m"])
    made = variations_of(["jvm=compact"], base, [entry, NATIVE], Path())
    assert made["jvm=compact"] == base.model_copy(update={"jvm_flags": ["-Xmx50m", *COMPACT]})
    assert planned([entry, NATIVE], "jvm=compact").varied_entries == ["java-a:platform@jvm=compact"]


def test_a_named_condition_must_be_defined_by_every_selected_java_server() -> None:
    entries = [with_jvm("java-a", compact=COMPACT, zgc=["-XX:+UseZGC"]), with_jvm("java-b", zgc=["-XX:+UseZGC"])]
    assert variations_of(["jvm=zgc"], process(), entries, Path())["jvm=zgc"].jvm_flags == ["-XX:+UseZGC"]
    with pytest.raises(BenchError, match=r'java-b/server\.toml has no JVM condition "compact"; known: zgc'):
        variations_of(["jvm=compact"], process(), entries, Path())


def test_a_named_condition_is_refused_where_there_is_no_jvm() -> None:
    with pytest.raises(BenchError, match="jvm=compact changes nothing: no selected server variant has a JVM"):
        variations_of(["jvm=compact"], process(), [NATIVE], Path())


@pytest.mark.parametrize("name", ["base", "x", ""])
def test_a_name_that_no_manifest_defines_is_refused(name: str) -> None:
    with pytest.raises(BenchError, match=f'no JVM condition "{name}"; known: compact'):
        variations_of([f"jvm={name}"], process(), [with_jvm("java-a", base=["-Dx"], compact=COMPACT)], Path())


def test_a_named_condition_that_differs_between_servers_is_refused() -> None:
    entries = [with_jvm("java-a", zgc=["-XX:+UseZGC"]), with_jvm("java-b", zgc=["-XX:+UseZGC", "-Xmx1g"])]
    with pytest.raises(BenchError, match="jvm=zgc means different flags in java-a, java-b: select one server"):
        variations_of(["jvm=zgc"], process(), entries, Path())


def test_every_java_server_defines_the_same_named_conditions() -> None:
    java = [s.manifest for s in load_catalog(ROOT).servers if s.manifest.language is Language.JAVA]
    assert len(java) > 4
    assert all(manifest.conditions == java[0].conditions for manifest in java)
    assert java[0].conditions["compact"] == COMPACT


def test_a_setting_is_measured_only_for_those_that_read_it() -> None:
    pool, other = reading("MAX_THREADS", "BACKLOG"), reading("BUFFERS")
    made = planned([pool, other], "MAX_THREADS=4", "MAX_THREADS=8", "BUFFERS=lean", "cpus=1")
    assert made.varied_entries == [
        "java-maxthreads-backlog:it@MAX_THREADS=4",
        "java-maxthreads-backlog:it@MAX_THREADS=8",
        "java-maxthreads-backlog:it@cpus=1",
        "java-buffers:it@BUFFERS=lean",
        "java-buffers:it@cpus=1",
    ]


@pytest.mark.parametrize("setting", ["MAX_THREADS", "BACKLOG", "CONNECTOR", "BUFFERS", "SCHEDULER"])
def test_a_varied_setting_that_no_entry_reads_is_refused(setting: str) -> None:
    with pytest.raises(PlanError, match=f"{setting}=1 changes nothing: no selected server variant reads {setting}"):
        planned([reading("OTHER")], f"{setting}=1")


@pytest.mark.parametrize("vary", ["MAX_THREADS=4", "cpus=1", "BUFFERS=lean"])
def test_a_variation_that_is_the_run_s_own_condition_is_refused(vary: str) -> None:
    # It would be compared with itself under two names.
    base = process("25.0.1", cpus=1, env={"MAX_THREADS": "4", "BUFFERS": "lean"})
    with pytest.raises(BenchError, match=f"{vary} is already the run's own condition"):
        planned([reading("MAX_THREADS", "BUFFERS")], vary, base=base)


def test_the_plan_of_an_older_run_measures_all_under_all() -> None:
    made = planned([reading("MAX_THREADS"), reading("OTHER")], "MAX_THREADS=4").model_copy(update={"settings": {}})
    assert made.varied_entries == ["java-maxthreads:it@MAX_THREADS=4", "java-other:it@MAX_THREADS=4"]


@pytest.mark.parametrize("server", load_catalog(ROOT).servers, ids=lambda server: server.name)
def test_the_settings_of_a_manifest_are_those_that_the_server_s_code_reads(server: Server) -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (*server.folder.glob("*"), *(server.folder / "src").rglob("*"))
        if path.suffix in (".java", ".rs", ".go") and "test" not in path.parts
    )
    read = {name for name in PASSED_ON if f'"{name}"' in sources}
    if "tikv_jemallocator" in sources:
        read.add("_RJEM_MALLOC_CONF")
    pools = {Model.PLATFORM_THREAD, Model.ASYNC_SERVLET}
    if not any(variant.model in pools for variant in server.manifest.variants):
        read.discard("MAX_THREADS")  # which every Java server's Settings reads
    assert {name for variant in server.manifest.variants for name in variant.settings} == read
    for variant in server.manifest.variants:
        assert ("MAX_THREADS" in variant.settings) == (variant.model in pools), variant.name
        assert "SCHEDULER" not in variant.settings or variant.model is Model.VIRTUAL_THREAD, variant.name
