"""Tests of the rules for text in .vale/styles: each finds a planted mistake and passes good text."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import needs
import pytest

from zoo import ROOT

GOOD = "The harness restarts the server after each round."
LONG = f"A server {'that waits and '.join([''] * 13)}stops is long."


def findings(folder: Path, name: str, text: str) -> list[str]:
    """Return the rules that the text breaks, as Vale reports them with the repository's configuration."""
    planted = folder / name
    planted.write_text(text, encoding="utf-8")
    command = [str(needs.VALE_PROGRAM), "--config", ".vale.ini", "--output", "JSON", str(planted)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    found = json.loads(ended.stdout)
    assert ended.returncode == bool(found), ended.stderr
    return [one["Check"].removeprefix("Zoo.") for alerts in found.values() for one in alerts]


@needs.VALE
@pytest.mark.parametrize(
    ("name", "text", "rules"),
    [
        ("a.md", f"{GOOD}\n", []),
        ("a.md", "The server is started anew.\n", ["Words"]),
        ("a.md", "A redirect is refused, but a refused connection is not.\n", ["Words"]),
        ("a.md", "At that moment all connections are refused.\n", []),
        ("a.md", f"{LONG}\n", ["Length"]),
        ("a.md", f"<!-- generated: x -->\nIt starts anew. {LONG}\n<!-- end -->\n", []),
        ("a.md", "```sh\nzoo anew\n```\n", []),
        ("a.py", f'"""{GOOD}"""\n', []),
        ("a.py", '"""What the server prints."""\n', ["Start"]),
        ("a.py", "def f() -> None:\n    # it starts anew\n    pass\n", ["Words"]),
        ("a.py", 'X = 1\n"""Of a window, its seconds."""\n', ["Start"]),
        ("a.py", 'option(help="measure it anew")\n', ["Words"]),
        ("a.py", 'option(name="anew")\n', []),
        ("a.py", 'COMMANDS = {"list": "List them anew."}\n', ["Words"]),
        ("A.java", "/** Where it waits anew. */\nclass A {}\n", ["Words"]),
    ],
)
def test_a_planted_mistake_is_found(tmp_path: Path, name: str, text: str, rules: list[str]) -> None:
    assert sorted(findings(tmp_path, name, text)) == rules
