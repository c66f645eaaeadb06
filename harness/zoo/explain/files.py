"""Files of an explanation: the rules and libraries that come with the harness, and the folder of a result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from zoo.core.run_folder import write_data
from zoo.explain.data import MEMORY_KIND, Explanation, MemoryExplanation
from zoo.explain.groups import Groups
from zoo.explain.memory import memory_paragraph
from zoo.explain.page import memory_page, page
from zoo.explain.paragraph import paragraph
from zoo.explain.stacks import Stack, collapse, parse_collapsed

HERE = Path(__file__).parent
RUN = "run.json"
PAGE = "explain.html"
COMMITTED = (RUN, PAGE)
"""Files of an explanation that are committed. The stacks take several MB, and the page draws them."""

LIBRARIES = ("d3.min.js", "d3-flame-graph.min.js")
NS_PER_US = 1000


def read_groups() -> Groups:
    """Return the rules that name what CPU time is spent on."""
    return Groups((HERE / "groups.toml").read_text(encoding="utf-8"))


def write_explanation(folder: Path, found: Explanation, a: Mapping[Stack, float], b: Mapping[Stack, float]) -> Path:
    """Write the data, the stacks of both sides (µs per request in, ns out) and the page; return the page's path."""
    write_data(folder / RUN, found, indent=1)
    for name, stacks in (("a", a), ("b", b)):
        scaled = {stack: us * NS_PER_US for stack, us in stacks.items()}
        (folder / f"{name}.collapsed").write_text(collapse(scaled), encoding="utf-8")
    return write_page(folder)


def write_page(folder: Path) -> Path:
    """Write the page of a stored explanation and return its path."""
    found = Explanation.model_validate_json((folder / RUN).read_text(encoding="utf-8"))
    a, b = (_read_stacks(folder / f"{name}.collapsed") for name in ("a", "b"))
    library = "\n".join((HERE / "vendor" / name).read_text(encoding="utf-8") for name in LIBRARIES)
    written = folder / PAGE
    written.write_text(page(found, (a, b), read_groups(), library), encoding="utf-8")
    return written


def write_memory(folder: Path, found: MemoryExplanation) -> Path:
    """Write the data and the page of an explanation of memory; return the page's path."""
    write_data(folder / RUN, found, indent=1)
    written = folder / PAGE
    written.write_text(memory_page(found), encoding="utf-8")
    return written


def _read_stacks(path: Path) -> dict[Stack, float]:
    return {stack: ns / NS_PER_US for stack, ns in parse_collapsed(path.read_text(encoding="utf-8")).items()}


def is_explanation(folder: Path) -> bool:
    """Return True if the folder of a run holds an explanation."""
    return (folder / PAGE).exists()


def copy_explanation(source: Path, target: Path) -> None:
    """Copy the committed files of an explanation, in place of an earlier one."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in COMMITTED:
        shutil.copyfile(source / name, target / name)


def read_paragraph(folder: Path) -> tuple[Explanation | MemoryExplanation, str]:
    """Return a stored explanation and its paragraph."""
    text = (folder / RUN).read_text(encoding="utf-8")
    if json.loads(text)["kind"] == MEMORY_KIND:
        memory = MemoryExplanation.model_validate_json(text)
        return memory, memory_paragraph(memory)
    found = Explanation.model_validate_json(text)
    return found, paragraph(found, read_groups())
