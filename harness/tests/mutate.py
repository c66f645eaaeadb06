"""Mutation testing by hand-picked faults: plant each of mutants.toml in a clone of the repository and run the tests.

Uncommitted changes are not tested.

    python harness/tests/mutate.py [--only WORDS]

A fault is found when a test fails. The tests that its entry names run first; only if these pass do all others run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
ROOT = TESTS.parents[1]
SUITE = ("-m", "pytest", "-c", "harness/pyproject.toml", "--rootdir", ".", "-p", "no:schemathesis", "-x", "-q")
ALL = ("harness/tests", "-n", "2", "-m", "not (run or containers or swarm or vm or reproducible or browser)")


class Mutant(NamedTuple):
    """Fault against one rule. `after` replaces `before`, which occurs in one file. `tests` are names of test files."""

    rule: str
    before: str
    after: str
    tests: Sequence[str]


def mutants() -> list[Mutant]:
    """Return all faults in mutants.toml."""
    return [Mutant(**each) for each in tomllib.loads((TESTS / "mutants.toml").read_text())["mutants"]]


def place(mutant: Mutant, package: Path) -> Path:
    """Return the one file below `package` that contains `before`. Raise ValueError unless there is exactly one."""
    found = [path for path in package.rglob("*.py") for _ in range(path.read_text().count(mutant.before))]
    if len(found) != 1:
        raise ValueError(f'"{mutant.rule}": `{mutant.before}` is in the harness {len(found)} times, not once')
    return found[0]


def find(mutant: Mutant, copy: Path) -> str | None:
    """Return the test that finds the fault, planted in a clone of the repository, or None if all tests pass."""
    path = place(mutant, copy / "harness" / "zoo")
    sound = path.read_text()
    path.write_text(sound.replace(mutant.before, mutant.after))
    try:
        named = [f"harness/tests/test_{name}.py" for name in mutant.tests]
        return _failure(copy, named) or _failure(copy, ALL)
    finally:
        path.write_text(sound)


def _failure(copy: Path, arguments: Sequence[str]) -> str | None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [copy / ".venv/bin/python", *SUITE, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if not failed:
        raise RuntimeError(f"the tests could not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return failed[0].split(" - ")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="plant only the faults whose rule contains these words")
    only = parser.parse_args().only
    chosen = [mutant for mutant in mutants() if only in mutant.rule]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copy = Path(name) / "copy"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
        (copy / ".tools").symlink_to(ROOT / ".tools")
        # an environment of its own: the programs that tests start ignore PYTHONPATH
        shutil.copytree(ROOT / ".venv", copy / ".venv", symlinks=True)
        broken = _failure(copy, ALL)
        if broken:
            print(f"no fault is planted yet, and a test fails: {broken}", file=sys.stderr)
            return 2
        for mutant in chosen:
            found = find(mutant, copy)
            missed += found is None
            print(f"{'found ' if found else 'MISSED'}  {mutant.rule}: {found or ''}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults were found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
