"""A simulated run that is ended at random moments and then resumed, in a real folder.

`python kills.py killed FOLDER KILLS SEED` ends it with SIGKILL. `python kills.py full FOLDER` ends it with a full disk:
FOLDER is on a small one that grows with each attempt. This is a separate process because it forks. It prints what it
found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import builders
from fakes import World
from sessions import session

import zoo.scenarios  # noqa: F401 (registers the scenarios)
from zoo.core import blocks, capacity
from zoo.core.record import Record
from zoo.core.run_folder import Store, StoreError

ENTRIES = ["java-a:platform", "java-a:virtual", "rust-n:bare"]
BLOCKS = builders.blocks(ENTRIES, ["hello", "sleep"], map(capacity.parse_tier, ("100", "1k")), rounds=2, seed=1)
KEYS = {key for block in BLOCKS for at in block.tiers for key in block.keys(at)}


def go_on(results: Path) -> None:
    """Start the run, or measure what it lacks, as `zoo bench` does."""
    if (results / "latest" / "run.json").exists():
        store = Store.open(results / "latest")
        store.truncate_incomplete_record()
    else:
        shutil.rmtree(results, ignore_errors=True)  # killed before the run existed, so `zoo bench` creates another
        store = Store.create(results, builders.run())
    world = World()
    done = blocks.measured_keys(store.records())
    session(world, store).run(blocks.remaining_blocks(BLOCKS, done), done)


def lines(results: Path) -> list[bytes]:
    """Return the complete lines of the run's records."""
    path = results / "latest" / "records.ndjson"
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def raw_files(record: Record) -> list[str]:
    seen = record.measurement
    return [] if seen is None else [seen.sampling.samples, *filter(None, [seen.load.histogram])]


class Tally:
    """Counts over the attempts at one run and over all runs."""

    def __init__(self) -> None:
        self.found = Counter({"ends": 0, "runs": 0, "records": 0, "lost": 0, "doubled": 0, "torn": 0, "incomplete": 0})
        self._before: list[bytes] = []

    def ended(self, results: Path) -> None:
        """Count the effects of an attempt that ended early."""
        self.found["ends"] += 1
        after = lines(results)
        self.found["lost"] += after[: len(self._before)] != self._before
        self._before = after
        if not (results / "latest" / "run.json").exists():
            return
        store = Store.open(results / "latest")
        for record in store.records():  # raises StoreError if a record is torn
            for name in raw_files(record):
                try:
                    store.read_raw(name)
                except StoreError:
                    self.found["torn"] += 1

    def complete(self, results: Path) -> None:
        records = Store.open(results / "latest").records()
        counts = Counter(record.key for record in records)
        self.found["runs"] += 1
        self.found["records"] += len(records)
        self.found["lost"] += lines(results)[: len(self._before)] != self._before
        self.found["doubled"] += sum(count - 1 for count in counts.values())
        self.found["incomplete"] += counts.keys() != KEYS
        self._before = []


def forked(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def killed(folder: Path, kills: int, seed: int) -> Tally:
    coin = random.Random(seed)
    tally = Tally()
    begun = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(forked(lambda: go_on(folder / "whole")), 0)[1]) == 0
    whole_s = time.monotonic() - begun
    while tally.found["ends"] < kills:
        results = folder / f"run-{tally.found['runs']}"
        while True:
            pid = forked(lambda results=results: go_on(results))  # type: ignore[misc]
            time.sleep(coin.uniform(0, whole_s))
            os.kill(pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code != -signal.SIGKILL:
                assert code == 0, "a run that nobody killed failed"
                break
            tally.ended(results)
        tally.complete(results)
        shutil.rmtree(results)
    return tally


def full(folder: Path) -> Tally:
    """Run on a disk of 8 kB that grows by 12 kB with each attempt, so that it is full at any write.

    12 kB hold three files, one of which is a server's log.
    """
    tally = Tally()
    results = folder / "results"
    for size_kb in range(8, 4096, 12):
        # With a source, mount does not repeat the existing options; their user ID does not exist in this namespace.
        subprocess.run(["mount", "-o", f"remount,size={size_kb}k", "none", str(folder)], check=True)
        try:
            go_on(results)
        except StoreError as error:
            if "No space left on device" not in str(error):
                raise
            tally.ended(results)
        else:
            tally.complete(results)
            return tally
    raise AssertionError("never complete")


if __name__ == "__main__":
    how, where, *numbers = sys.argv[1:]
    made = full(Path(where)) if how == "full" else killed(Path(where), *map(int, numbers))
    print(json.dumps(made.found))
