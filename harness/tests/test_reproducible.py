"""Tests that two builds of one commit in one folder create the same files (minutes; `make test-reproducible`)."""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from zoo.cli.checkout import ROOT
from zoo.core.manifest import Server
from zoo.core.manifest_files import load_catalog
from zoo.host.build import build, project_of
from zoo.runtime.conditions import jdk_for

pytestmark = pytest.mark.reproducible

CATALOG = load_catalog(ROOT)
OF_THE_BUILD = shutil.ignore_patterns("target", "target-*")
NOT_COMPARED = re.compile(r"\.zoo-built|package_[\d._]+\.txt|server\.env")
"""Files that are not compared: the harness's stamp, and Liberty's with a time in the name or a random password."""


def content(path: Path) -> str:
    """Return a file's digest, or an archive's entries without their times, which the class loader never sees."""
    if path.suffix in (".jar", ".war"):
        with zipfile.ZipFile(path) as archive:
            return str([(entry.filename, entry.CRC) for entry in archive.infolist()])
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made(server: Server, at: Path) -> dict[str, str]:
    """Build from scratch in this folder, and return the content of each file by path."""
    shutil.rmtree(at, ignore_errors=True)
    shutil.copytree(server.folder, at, ignore=OF_THE_BUILD)
    copy = Server(at, server.manifest)
    project = project_of(copy, jdk_for([e for e in CATALOG.entries if e.server is server]))
    assert project is not None
    build(project)
    tops = project.products
    files = [p for top in tops for p in ([top] if top.is_file() else top.rglob("*")) if p.is_file()]
    return {str(p.relative_to(at)): content(p) for p in files if not NOT_COMPARED.fullmatch(p.name)}


@pytest.mark.parametrize("server", CATALOG.servers, ids=lambda server: server.name)
def test_two_builds_make_the_same(server: Server, tmp_path: Path) -> None:
    at = tmp_path / server.name
    first, second = made(server, at), made(server, at)
    assert first
    differ = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    assert not differ
