"""The suite, run in a separate pytest process by one of its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kit.paths import CONTRACT

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-vv", "--tb=short")
PATIENCE = 300
"""Seconds to wait for the start or the end of a nested run."""


def start_suite(arguments: list[str], **more: str) -> subprocess.Popen[str]:
    """Start pytest in the suite's folder, with `more` added to the environment."""
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
    """Run pytest to its end and return the result."""
    with start_suite(arguments, **more) as child:
        try:
            stdout, stderr = child.communicate(timeout=PATIENCE)
        except BaseException:
            child.kill()
            raise
    return subprocess.CompletedProcess(child.args, child.returncode, stdout, stderr)
