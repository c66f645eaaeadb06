"""Processors of server and generator: recorded topologies, who gets which, and that both run on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.host.processors import cores, placed
from zoo.load.children import BusyThreads, Children
from zoo.model.condition import Condition
from zoo.model.cores import Cores, PhysicalCore, numbers, ranges
from zoo.model.errors import BenchError
from zoo.plan.cores import chosen
from zoo.plan.tier import PlanError
from zoo.runtime import conditions
from zoo.runtime.base import Launch
from zoo.runtime.process import processors

HERE = sorted(os.sched_getaffinity(0))
ASK = [sys.executable, "-c", "import os; print(*sorted(os.sched_getaffinity(0)))"]

TWO = [(0, "0"), (0, "1")]
"""A small virtual machine: of each processor its socket and its siblings, as the kernel writes them."""
FOUR = [(0, "0"), (0, "1"), (0, "2"), (0, "3")]
EIGHT = [(0, f"{n % 4},{n % 4 + 4}") for n in range(8)]
"""A desktop of four cores with two threads each, numbered as Intel's firmware does."""
NEIGHBOURS = [(0, f"{n // 2 * 2}-{n // 2 * 2 + 1}") for n in range(8)]
"""The same as cloud machines number them."""
SIXTY_FOUR = [(n // 16 % 2, f"{n % 32},{n % 32 + 32}") for n in range(64)]
"""Two sockets of 16 cores with two threads each."""


def sysfs(folder: Path, told: Iterable[tuple[int, str]]) -> Path:
    for number, (package, siblings) in enumerate(told):
        topology = folder / f"cpu{number}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n", encoding="ascii")
        (topology / "thread_siblings_list").write_text(f"{siblings}\n", encoding="ascii")
    return folder


@pytest.mark.parametrize(
    ("told", "allowed", "expected"),
    [
        pytest.param(TWO, range(2), None, id="2: shared"),
        pytest.param(FOUR, range(4), ("0-1", "2-3"), id="4"),
        pytest.param(EIGHT, range(8), ("0-1,4-5", "2-3,6-7"), id="8 with siblings"),
        pytest.param(NEIGHBOURS, range(8), ("0-3", "4-7"), id="8 with siblings side by side"),
        pytest.param(NEIGHBOURS[:4], range(4), None, id="4 that are 2 cores: shared"),
        pytest.param(SIXTY_FOUR, range(64), ("0-15,32-47", "16-31,48-63"), id="64 in two sockets"),
        pytest.param(SIXTY_FOUR, range(6), ("0-2", "3-5"), id="a container with 6, no siblings among them"),
        pytest.param(NEIGHBOURS, range(1, 8), ("1-3", "4-7"), id="a container with 7, one sibling missing"),
        pytest.param(EIGHT, range(7), ("0-1,4-5", "2-3,6"), id="the same where siblings are numbered apart"),
    ],
)
def test_each_side_has_whole_cores_where_there_are_four(
    told: list[tuple[int, str]], allowed: range, expected: tuple[str, str] | None, tmp_path: Path
) -> None:
    found = chosen("auto", cores(allowed, sysfs(tmp_path, told)))
    assert (found and (ranges(found.server), ranges(found.generator))) == expected


def test_a_quota_counts_like_fewer_processors(tmp_path: Path) -> None:
    found = cores(range(64), sysfs(tmp_path, SIXTY_FOUR))
    assert chosen("auto", found, quota=6.0) is None, "three cores of two processors"
    assert str(chosen("split", found, quota=6.0)) == "server 0,32, generator 1-2,33-34"
    assert str(chosen("auto", found, quota=8.9)) == "server 0-1,32-33, generator 2-3,34-35"


def test_where_the_kernel_tells_nothing_each_processor_is_a_core(tmp_path: Path) -> None:
    assert cores([3, 5], tmp_path) == [PhysicalCore(0, (3,)), PhysicalCore(0, (5,))]


def test_asked_for_they_are_split_or_shared_on_any_machine() -> None:
    two, eight = ([PhysicalCore(0, (n,)) for n in range(count)] for count in (2, 8))
    assert chosen("split", two) == Cores(server=[0], generator=[1])
    assert chosen("shared", eight) is None
    with pytest.raises(PlanError, match="CORES=split needs two physical cores"):
        chosen("split", two[:1])
    with pytest.raises(PlanError, match='one of auto, shared, split, got "apart"'):
        chosen("apart", two)


@given(st.lists(st.integers(1, 3), min_size=2, max_size=40), st.integers(1, 4))
def test_no_processor_is_lost_or_on_both_sides(sizes: list[int], sockets: int) -> None:
    started = 0
    machine = []
    for place, size in enumerate(sizes):
        machine.append(PhysicalCore(place % sockets, tuple(range(started, started + size))))
        started += size
    found = chosen("split", machine)
    assert found is not None
    assert sorted(found.server + found.generator) == list(range(started))
    assert all(len({p in found.server for p in core.processors}) == 1 for core in machine)


@given(st.sets(st.integers(0, 1_000), min_size=1))
def test_ranges_are_read_as_they_are_written(some: set[int]) -> None:
    assert numbers(ranges(list(some))) == sorted(some)


def test_what_cannot_be_placed_shares_all_and_refuses_to_be_split() -> None:
    for runtime, targets, why in (("vm", False, "virtual host"), ("process", True, "already runs")):
        assert conditions.cores_of("auto", runtime, targets=targets) is None
        with pytest.raises(BenchError, match=why):
            conditions.cores_of("split", runtime, targets=targets)


@pytest.mark.skipif(len(HERE) < 2, reason="needs two processors")
def test_a_split_is_a_condition_beside_the_usual_one(tmp_path: Path) -> None:
    usual = Condition()
    apart = conditions.varied(["cores=split"], usual, [], tmp_path)["cores=split"].cores
    assert apart is not None
    assert sorted(apart.server + apart.generator) == HERE
    assert conditions.settings(usual.model_copy(update={"cores": apart}))["cores"] == str(apart)


def launch(tmp_path: Path, cpus: float | None, cores: Cores | None) -> Launch:
    return Launch(builders.entry("java-a:virtual"), tmp_path / "log", cpus=cpus, cores=cores)


def test_a_server_may_use_all_or_its_own_or_some_of_these(tmp_path: Path) -> None:
    own = Cores(server=[2, 3], generator=[0])
    assert processors(launch(tmp_path, None, None)) == HERE
    assert processors(launch(tmp_path, 1, None)) == HERE[:1]
    assert processors(launch(tmp_path, None, own)) == [2, 3]
    assert processors(launch(tmp_path, 1, own)) == [2]


def by_popen(tmp_path: Path) -> str:
    with placed(HERE[-1:]):
        return subprocess.run(ASK, capture_output=True, text=True, check=True).stdout


def by_children(tmp_path: Path) -> str:
    output = tmp_path / "output"
    with Children(1_024, BusyThreads(), HERE[-1:]) as children:
        children.start(ASK, {}, output)
        children.follow(10, 10, None)
    return output.read_text(encoding="ascii")


@pytest.mark.parametrize("started", [by_popen, by_children])
def test_a_child_runs_on_the_processors_it_is_placed_on_and_nobody_else_does(
    started: Callable[[Path], str], tmp_path: Path
) -> None:
    assert started(tmp_path).split() == [str(HERE[-1])]
    assert sorted(os.sched_getaffinity(0)) == HERE
