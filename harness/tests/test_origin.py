"""Tests of the text on where figures come from, and that an earlier build is named."""

import shutil
from dataclasses import replace
from pathlib import Path

import builders
import pytest

from zoo import ROOT
from zoo.core.manifest import Build, Catalog, Server
from zoo.core.manifest_files import load_catalog
from zoo.host.build import source_hash
from zoo.reference.origin import describe_origin, outdated_servers

ENTRIES = ["java-a:platform", "java-a:virtual", "rust-n:async"]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog of servers with one source file each."""
    made = []
    for server in builders.catalog().servers:
        folder = tmp_path / server.name
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "main").write_text("one\n", encoding="utf-8")
        build = Build(command=["make"], makes=["target/x"], sources=["src"])
        made.append(Server(folder, server.manifest.model_copy(update={"build": build})))
    return Catalog(tuple(made))


def test_a_run_of_the_sources_as_they_are_is_no_older_build(catalog: Catalog) -> None:
    run = builders.run(ENTRIES).model_copy(update={"builds": {s.name: source_hash(s) for s in catalog.servers}})
    assert outdated_servers(run, catalog) == []
    assert "earlier" not in describe_origin(run, catalog)


def test_only_servers_that_changed_since_are_named(catalog: Catalog) -> None:
    run = builders.run(ENTRIES).model_copy(update={"builds": {s.name: source_hash(s) for s in catalog.servers}})
    (catalog.servers[0].folder / "src" / "main").write_text("two\n", encoding="utf-8")
    assert outdated_servers(run, catalog) == ["java-a"]
    assert describe_origin(run, catalog).endswith("**Measured with an earlier build**: java-a changed since")
    assert "earlier" not in describe_origin(run, catalog, "rust-n")


def test_a_run_that_kept_no_hash_is_an_older_build(catalog: Catalog) -> None:
    assert describe_origin(builders.run(ENTRIES), catalog).endswith(
        "**Measured with an earlier build**, whose hash the run did not keep"
    )


@pytest.mark.parametrize("server", load_catalog(ROOT).servers, ids=lambda server: server.name)
def test_a_copy_without_git_has_the_same_hash_until_a_source_changes(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(server.folder, folder, ignore=shutil.ignore_patterns("target", "target-*"))
    for extra in ("target/classes/it.class", "README.md", "server.toml~", ".pom.xml.swp", "src.orig"):
        (folder / extra).parent.mkdir(parents=True, exist_ok=True)
        (folder / extra).write_text("text", encoding="utf-8")
    copy = replace(server, folder=folder)
    assert source_hash(copy) == source_hash(server)
    assert server.manifest.build
    *_, last = server.manifest.build.sources
    source = next(path for path in (folder / last, *(folder / last).rglob("*")) if path.is_file())
    source.write_bytes(source.read_bytes() + b"\n")
    assert source_hash(copy) != source_hash(server)
