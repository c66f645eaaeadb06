"""The suite, run by a test of the suite in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kit.paths import CONTRACT

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-vv", "--tb=short")
PATIENCE = 300


def start_suite(arguments: list[str], **more: str) -> subprocess.Popen[str]:
    """Started in the suite's folder, with `more` in its environment."""
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BREAK"))}
    return subprocess.Popen(
        [*PYTEST, *arguments],
        cwd=CONTRACT,
        env={**env, "PYTHONPATH": path, **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_suite(arguments: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    """The same, to its end."""
    with start_suite(arguments, **more) as child:
        try:
            stdout, stderr = child.communicate(timeout=PATIENCE)
        except BaseException:
            child.kill()
            raise
    return subprocess.CompletedProcess(child.args, child.returncode, stdout, stderr)
