from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from zoo.core.manifest import CatalogError, Model
from zoo.core.manifest_files import load_catalog, load_manifest
from zoo.host.build import project_of

ROOT = Path(__file__).parents[2]
GOOD = """
name = "java-x"
title = "X"
language = "java"
port = 8109

[build]
command = ["mvn", "package"]
makes = ["target/x.jar"]
sources = ["pom.xml", "src"]

[run]
command = ["{java}", "{jvm_flags}", "-jar", "target/x.jar"]

[jvm]
base = ["-XX:+ExitOnOutOfMemoryError"]

[[variants]]
name = "platform"
model = "platform-thread"
summary = "a pool"

[[variants]]
name = "virtual"
model = "virtual-thread"
summary = "a thread each"
env = { SOME = "thing" }
"""


def write(root: Path, text: str = GOOD, folder: str = "java-x") -> Path:
    path = root / folder / "server.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) >= 1
    return GOOD.replace(old, new, 1)


def test_a_folder_with_a_manifest_is_in_the_catalog(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "docs").mkdir()
    catalog = load_catalog(tmp_path)
    assert [e.id for e in catalog.entries] == ["java-x:platform", "java-x:virtual"]
    virtual = catalog.entry("java-x:virtual")
    assert virtual.variant.model is Model.VIRTUAL_THREAD
    assert virtual.variant.env == {"SOME": "thing"}
    assert virtual.server.folder == tmp_path / "java-x"
    assert not virtual.native
    assert catalog.reference is None


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (changed('title = "X"\n', ""), "title", "Field required"),
        (changed('command = ["mvn", "package"]\n', ""), "build.command", "Field required"),
        (
            changed("port = 8109", 'port = "high"'),
            "port",
            "valid integer, unable to parse string as an integer, got 'high'",
        ),
        (changed("port = 8109", "port = 80"), "port", "greater than or equal to 1024, got 80"),
        (changed("port = 8109", "port = 40000"), "port", "less than or equal to 32767, got 40000"),
        (changed('command = ["mvn", "package"]', 'command = "mvn package"'), "build.command", "valid list"),
        (changed('makes = ["target/x.jar"]', "makes = []"), "build.makes", "at least 1 item"),
        (changed('title = "X"', 'title = "X"\ncolour = "red"'), "colour", "not permitted, got 'red'"),
        (
            changed('summary = "a pool"', 'summary = "a pool"\nthreads = 4'),
            "variants.0.threads",
            "not permitted, got 4",
        ),
        (
            changed('"virtual-thread"', '"green-thread"'),
            "variants.1.model",
            "'event-loop', 'async-task', 'async-servlet' or 'goroutine', got 'green-thread'",
        ),
        (
            changed('language = "java"', 'language = "cobol"'),
            "language",
            "'java', 'rust', 'go' or 'other', got 'cobol'",
        ),
        (changed('name = "virtual"', 'name = "Virtual"'), "variants.1.name", "should match pattern"),
        (changed('name = "virtual"', 'name = "platform"'), "", "variants must have different names"),
        (changed('name = "java-x"', 'name = "java-y"'), "name", 'the folder\'s name "java-x", got "java-y"'),
        (changed('"{java}", ', '"java", '), "run.command", 'the placeholder "{java}"'),
        (changed('title = "X"', "title = X"), "", "Invalid value (at line 3"),
    ],
)
def test_a_fault_names_file_key_and_what_was_expected(tmp_path: Path, text: str, key: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(CatalogError) as caught:
        load_manifest(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {key}")
    assert expected in message
    assert "\n" not in message


def test_all_faults_of_a_manifest_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, changed('title = "X"\n', "").replace("port = 8109", "port = 1"))
    with pytest.raises(CatalogError) as caught:
        load_manifest(path)
    assert [line.partition(": ")[2].partition(":")[0] for line in str(caught.value).splitlines()] == ["title", "port"]


def test_a_manifest_that_is_no_text_is_a_fault_of_that_file(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match=r"server\.toml: .*decode"):
        load_manifest(path)


def test_two_servers_cannot_have_one_port(tmp_path: Path) -> None:
    write(tmp_path)
    second = write(tmp_path, changed('name = "java-x"', 'name = "java-z"'), folder="java-z")
    with pytest.raises(CatalogError) as caught:
        load_catalog(tmp_path)
    assert str(caught.value) == f"{second}: port: java-x already uses 8109"


GUEST = """
name = "mine"
title = "A script"
language = "other"
port = 8120

[run]
command = ["./mine"]

[[variants]]
name = "plain"
model = "event-loop"
summary = "one loop"
"""


@pytest.mark.parametrize("own", [True, False])
def test_a_folder_elsewhere_or_one_of_several_stands_beside_the_zoo(tmp_path: Path, own: bool) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "zoo")
    guest = write(tmp_path / "elsewhere", GUEST, "mine")
    catalog = load_catalog(tmp_path / "zoo", guest.parent if own else tmp_path / "elsewhere")
    assert [(e.id, e.server.guest) for e in catalog.entries] == [
        ("java-x:platform", False),
        ("java-x:virtual", False),
        ("mine:plain", True),
    ]
    entry = catalog.entry("mine:plain")
    assert entry.server.folder == guest.parent
    assert project_of(entry.server, None) is None, "there is nothing to build"
    assert not entry.native, "it may have to be warmed up for long"


def test_a_guest_needs_a_manifest_and_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "zoo")
    with pytest.raises(CatalogError, match=r"elsewhere: expected a server\.toml in this folder or in its subfolders"):
        load_catalog(tmp_path / "zoo", tmp_path / "elsewhere")
    write(tmp_path / "elsewhere", changed("8109", "8110"))
    with pytest.raises(CatalogError, match="name: the zoo already has a server java-x"):
        load_catalog(tmp_path / "zoo", tmp_path / "elsewhere")


def test_an_unknown_entry_is_told_with_the_known_ones(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(CatalogError, match='no entry "java-x:async"; known: java-x:platform, java-x:virtual'):
        load_catalog(tmp_path).entry("java-x:async")


def test_a_variant_is_selected_in_the_servers_that_have_it(tmp_path: Path) -> None:
    write(tmp_path)
    other = changed('name = "java-x"', 'name = "java-z"').replace("8109", "8110").replace('"virtual"', '"eventloop"')
    write(tmp_path, other, folder="java-z")
    catalog = load_catalog(tmp_path)
    assert [e.id for e in catalog.select(variants=["platform"])] == ["java-x:platform", "java-z:platform"]
    assert [e.id for e in catalog.select(["java-z"], ["eventloop"])] == ["java-z:eventloop"]
    named = catalog.select(variants=["java-x:platform", "java-z:eventloop"])
    assert [e.id for e in named] == ["java-x:platform", "java-z:eventloop"]
    with pytest.raises(CatalogError, match='there is no variant "java-q:platform"; known: '):
        catalog.select(variants=["java-q:platform"])
    assert catalog.select() == catalog.entries


def test_a_server_on_request_is_selected_only_if_it_is_named_or_with_all(tmp_path: Path) -> None:
    write(tmp_path)
    other = (
        changed('name = "java-x"', 'name = "java-z"')
        .replace("8109", "8110")
        .replace("[[variants]]", "[[variants]]\non_request = true")
    )
    write(tmp_path, other, folder="java-z")
    catalog = load_catalog(tmp_path)
    usual, more = ["java-x:platform", "java-x:virtual"], ["java-z:platform", "java-z:virtual"]
    for names, expected in (
        (((), ()), usual),
        (((), ["virtual"]), usual[1:]),
        (((), ["java-z:virtual"]), more[1:]),
        ((["java-z"], ()), more),
        ((["all"], ()), [*usual, *more]),
        ((["all"], ["virtual"]), [usual[1], more[1]]),
    ):
        assert [entry.id for entry in catalog.select(*names)] == expected


def test_the_zoo_itself_loads_and_has_every_folder_that_has_a_manifest() -> None:
    catalog = load_catalog(ROOT)
    manifests = sorted(ROOT.glob("*/server.toml"))
    assert [s.folder for s in catalog.servers] == [m.parent for m in manifests]
    variants = sum(len(tomllib.loads(m.read_text(encoding="utf-8"))["variants"]) for m in manifests)
    assert len(catalog.entries) == len({e.id for e in catalog.entries}) == variants
    assert catalog.reference is not None
    assert catalog.reference.id == "rust-axum:hyper"


def test_of_each_kind_the_marked_entry_is_measured_twice_else_the_first(tmp_path: Path) -> None:
    write(tmp_path, changed('summary = "a thread each"', 'summary = "a thread each"\ntwice = true'))
    native = GOOD.replace("java-x", "rust-x").replace('language = "java"', 'language = "rust"').replace("8109", "8110")
    write(tmp_path, native.partition("[jvm]")[0] + native[native.index("[[variants]]") :], "rust-x")
    catalog = load_catalog(tmp_path)
    assert [e.id for e in catalog.aa_entries(catalog.entries)] == ["rust-x:platform", "java-x:virtual"]
    assert [e.id for e in catalog.aa_entries(catalog.select(variants=["platform"]))] == [
        "rust-x:platform",
        "java-x:platform",
    ]
    assert catalog.entry("java-x:virtual.again") is catalog.entry("java-x:virtual")


def test_the_zoo_measures_an_entry_of_its_named_pairs_and_an_ordinary_native_one_twice() -> None:
    zoo = load_catalog(ROOT)
    assert [e.id for e in zoo.aa_entries(zoo.entries)] == ["rust-axum:async", "java-tomcat:virtual"]
