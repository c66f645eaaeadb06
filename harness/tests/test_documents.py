"""Tests of the documents: their links resolve, and their lists are complete."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from zoo import ROOT
from zoo.core.flag import Flag

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
TRACKED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
DOCUMENTS = sorted(path for path in TRACKED.stdout.split() if not path.startswith("results/reference/"))


def read(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_resolve(document: str) -> None:
    text = re.sub(r"```.*?```", "", read(document), flags=re.DOTALL)
    broken = []
    for target, anchor in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path = ROOT / os.path.normpath(Path(document).parent / target) if target else ROOT / document
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            broken.append(f"{target}#{anchor}" if anchor else target)
    assert broken == []


def test_every_document_is_in_the_index() -> None:
    listed = {os.path.normpath(Path("docs") / target) for target, _ in LINK.findall(read("docs/README.md"))}
    assert {path for path in DOCUMENTS if path.startswith("docs/")} - listed == {"docs/README.md"}


def test_every_setting_of_make_is_documented() -> None:
    settings = re.search(r"^SETTINGS := ((?:.*\\\n)*.*)$", read("Makefile"), flags=re.MULTILINE)
    assert settings
    text = read("docs/reference/commands.md")
    assert [name for name in settings[1].replace("\\", "").split() if f"`{name}`" not in text] == []


def test_the_picture_of_the_layers_is_that_of_the_linter() -> None:
    contract = tomllib.loads(read("harness/pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
    picture = re.search(r"```\n(.*?)```", read("docs/contributing/architecture.md"), flags=re.DOTALL)
    assert picture
    assert [line.split()[0] for line in picture[1].splitlines()] == contract["layers"]


def test_the_path_of_one_record_names_functions_that_exist() -> None:
    path = read("docs/contributing/architecture.md").partition("## The path of one record")[2]
    steps = re.findall(r"\| `([\w.]+)` \| \[`([\w/]+\.py)`\]", path)
    assert len(steps) == path.count(".py`]")
    for name, file in steps:
        defined = re.findall(r"^ *(?:def|class) (\w+)", read(f"harness/zoo/{file}"), flags=re.MULTILINE)
        assert set(name.split(".")) <= set(defined), name


def test_every_flag_is_documented() -> None:
    text = read("docs/reference/results.md")
    assert [flag for flag in Flag if f"`{flag}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_of_make_exists_and_takes_its_settings(document: str) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", read("Makefile"), flags=re.MULTILINE))
    documented = read("docs/reference/commands.md") + read("docs/guides/25k.md") + read("docs/guides/swarm.md")
    for block in re.findall(r"```sh\n(.*?)```", read(document), flags=re.DOTALL):
        for command in re.findall(r"(?m)^(?:\w+=\S* )*make ([^#\n]*)", block):
            assert command.split()[0] in targets, command
            for setting in re.findall(r"(?:^|\s)([A-Z_]+)=", command):
                assert f"`{setting}" in documented, command
