"""Tests of the processors for server and generator: recorded topologies, who gets which, and that both run there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import builders
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.cpu_sets import ENOUGH, choose_cores, cores_within
from zoo.core.errors import BenchError
from zoo.core.host_facts import Cores, PhysicalCore, format_ranges, parse_ranges
from zoo.host.processors import cpu_affinity, physical_cores
from zoo.load.execute import BusyThreads, Children
from zoo.runtime import conditions
from zoo.runtime.base import Launch
from zoo.runtime.process import processors

HERE = sorted(os.sched_getaffinity(0))
ASK = [sys.executable, "-c", "import os; print(*sorted(os.sched_getaffinity(0)))"]

TWO = [(0, "0"), (0, "1")]
"""A small virtual machine. Each processor has its socket and its siblings, in the kernel's format."""
FOUR = [(0, "0"), (0, "1"), (0, "2"), (0, "3")]
EIGHT = [(0, f"{n % 4},{n % 4 + 4}") for n in range(8)]
"""A desktop with four cores of two threads each, numbered as Intel's firmware does."""
NEIGHBOURS = [(0, f"{n // 2 * 2}-{n // 2 * 2 + 1}") for n in range(8)]
"""The same, as cloud machines number them."""
SIXTY_FOUR = [(n // 16 % 2, f"{n % 32},{n % 32 + 32}") for n in range(64)]
"""Two sockets, each with 16 cores of two threads."""


LAPTOP = [*((0, f"{n // 2 * 2}-{n // 2 * 2 + 1}") for n in range(12)), *((0, str(n)) for n in range(12, 20))]
"""Six performance cores of two threads each and eight efficiency cores."""


def sysfs(
    devices: Path,
    told: Iterable[tuple[int, str]],
    kinds: Mapping[str, str] | None = None,
    values: Mapping[str, Sequence[int]] | None = None,
) -> Path:
    """Write a topology.

    `kinds` has the processors of each kind of Intel core. `values` maps a file name to one number per processor.
    """
    folder = devices / "system/cpu"
    for name, processors_ in (kinds or {}).items():
        (devices / name).mkdir(parents=True)
        (devices / name / "cpus").write_text(f"{processors_}\n", encoding="ascii")
    for name, numbers_ in (values or {}).items():
        for number, value in enumerate(numbers_):
            (folder / f"cpu{number}" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / f"cpu{number}" / name).write_text(f"{value}\n", encoding="ascii")
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
    found = choose_cores("auto", physical_cores(allowed, sysfs(tmp_path, told)))
    assert (found and (format_ranges(found.server), format_ranges(found.generator))) == expected


@pytest.mark.parametrize(
    ("told", "kinds", "values", "expected"),
    [
        pytest.param(
            LAPTOP,
            {"cpu_core": "0-11", "cpu_atom": "12-19"},
            {},
            "server 0-5 (performance cores), generator 6-11 (performance cores)",
            id="enough fast cores for both sides, by Intel's lists",
        ),
        pytest.param(
            LAPTOP,
            {},
            {"cpufreq/cpuinfo_max_freq": [5_100_000] * 10 + [5_300_000] * 2 + [3_900_000] * 8},
            "server 0-5 (performance cores), generator 6-11 (performance cores)",
            id="by the highest clock; a favoured core is no kind of its own",
        ),
        pytest.param(
            [(0, "0-1"), (0, "0-1"), (0, "2-3"), (0, "2-3"), *((0, str(n)) for n in range(4, 12))],
            {"cpu_core": "0-3", "cpu_atom": "4-11"},
            {},
            "server 0-3 (performance cores), generator 4-11 (efficiency cores)",
            id="two fast cores with siblings and eight slow ones",
        ),
        pytest.param(
            [(0, str(n)) for n in range(8)],
            {},
            {"cpu_capacity": [446] * 4 + [1024] * 4},
            "server 4-5 (performance cores), generator 6-7 (performance cores)",
            id="big.LITTLE, the slow cores first",
        ),
        pytest.param(
            [(0, str(n)) for n in range(5)],
            {"cpu_core": "0", "cpu_atom": "1-4"},
            {},
            "server 1-2 (efficiency cores), generator 3-4 (efficiency cores)",
            id="a single fast core",
        ),
        pytest.param(
            [(0, str(n)) for n in range(4)], {"cpu_core": "0", "cpu_atom": "1-3"}, {}, None, id="too few of each kind"
        ),
        pytest.param(
            [(0, str(n)) for n in range(10)],
            {"cpu_core": "0-3", "cpu_atom": "4-9", "cpu_lowpower": "8-9"},
            {},
            "server 0-1 (performance cores), generator 2-3 (performance cores)",
            id="three kinds",
        ),
        pytest.param(
            [(0, str(n)) for n in range(4)],
            {"cpu_core": "0-3"},
            {"cpu_capacity": [1024] * 4, "cpufreq/cpuinfo_max_freq": [5_000_000, 4_800_000, 4_700_000, 4_600_000]},
            "server 0-1, generator 2-3",
            id="one kind whose clocks differ a little",
        ),
        pytest.param(
            [(0, str(n)) for n in range(4)],
            {"cpu_core": "0-1", "cpu_atom": "nonsense"},
            {"cpu_capacity": []},
            "server 0-1, generator 2-3",
            id="lists that leave processors out tell nothing",
        ),
    ],
)
def test_each_side_has_cores_of_one_kind(
    told: list[tuple[int, str]],
    kinds: dict[str, str],
    values: dict[str, list[int]],
    expected: str | None,
    tmp_path: Path,
) -> None:
    found = choose_cores("auto", physical_cores(range(len(told)), sysfs(tmp_path, told, kinds, values)))
    assert (found and str(found)) == expected


def test_two_cores_of_two_kinds_are_split_when_asked_for() -> None:
    assert str(choose_cores("split", [PhysicalCore(0, (0,)), PhysicalCore(0, (1,), kind=1)])) == (
        "server 0 (performance cores), generator 1 (efficiency cores)"
    )


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40),
    st.sampled_from(["auto", "split"]),
    st.none() | st.integers(1, 80).map(float),
)
def test_sides_are_disjoint_whole_cores_of_one_kind_within_the_quota(
    made: list[tuple[int, int, int]], wanted: str, quota: float | None
) -> None:
    machine, started = [], 0
    for threads, kind, package in made:
        machine.append(PhysicalCore(package, tuple(range(started, started + threads)), kind))
        started += threads
    try:
        found = choose_cores(wanted, machine, quota)
    except PlanError:
        assert len(cores_within(machine, quota)) < 2
        return
    if found is None:
        assert wanted == "auto"
        assert all(sum(core.kind == kind for core in cores_within(machine, quota)) < ENOUGH for kind in range(3))
        return
    assert not {*found.server} & {*found.generator}
    assert quota is None or len(found.server + found.generator) <= quota
    for side in (found.server, found.generator):
        has = [core for core in machine if {*core.processors} & {*side}]
        assert sorted(p for core in has for p in core.processors) == side, "siblings stay together"
        assert len({core.kind for core in has}) == 1
    shared = {
        core.package
        for core in machine
        if set(core.processors) <= {*found.server}
        and any(other.package == core.package and set(other.processors) <= {*found.generator} for other in machine)
    }
    same_kind = found.server_kind == found.generator_kind
    assert len(shared) <= 1 or not same_kind, "at most one socket is on both sides"


def test_a_quota_counts_like_fewer_processors(tmp_path: Path) -> None:
    found = physical_cores(range(64), sysfs(tmp_path, SIXTY_FOUR))
    assert choose_cores("auto", found, quota=6.0) is None, "three cores of two processors"
    assert str(choose_cores("split", found, quota=6.0)) == "server 0,32, generator 1-2,33-34"
    assert str(choose_cores("auto", found, quota=8.9)) == "server 0-1,32-33, generator 2-3,34-35"


def test_where_the_kernel_tells_nothing_each_processor_is_a_core(tmp_path: Path) -> None:
    assert physical_cores([3, 5], tmp_path) == [PhysicalCore(0, (3,)), PhysicalCore(0, (5,))]


def test_asked_for_they_are_split_or_shared_on_any_machine() -> None:
    two, eight = ([PhysicalCore(0, (n,)) for n in range(count)] for count in (2, 8))
    assert choose_cores("split", two) == Cores(server=[0], generator=[1])
    assert choose_cores("shared", eight) is None
    with pytest.raises(PlanError, match="CORES=split needs two physical cores"):
        choose_cores("split", two[:1])
    with pytest.raises(PlanError, match='one of auto, shared, split, got "apart"'):
        choose_cores("apart", two)


@given(st.lists(st.integers(1, 3), min_size=2, max_size=40), st.integers(1, 4))
def test_no_processor_is_lost_or_on_both_sides(sizes: list[int], sockets: int) -> None:
    started = 0
    machine = []
    for place, size in enumerate(sizes):
        machine.append(PhysicalCore(place % sockets, tuple(range(started, started + size))))
        started += size
    found = choose_cores("split", machine)
    assert found is not None
    assert sorted(found.server + found.generator) == list(range(started))
    assert all(len({p in found.server for p in core.processors}) == 1 for core in machine)


@given(st.sets(st.integers(0, 1_000), min_size=1))
def test_ranges_are_read_as_they_are_written(some: set[int]) -> None:
    assert parse_ranges(format_ranges(list(some))) == sorted(some)


def test_what_cannot_be_placed_shares_all_and_refuses_to_be_split() -> None:
    for runtime, targets, why in (("vm", False, "virtual host"), ("process", True, "already runs")):
        assert conditions.cores_of("auto", runtime, targets=targets) is None
        with pytest.raises(BenchError, match=why):
            conditions.cores_of("split", runtime, targets=targets)


@pytest.mark.skipif(len(HERE) < 2, reason="needs two processors")
def test_a_split_is_a_condition_beside_the_usual_one(tmp_path: Path) -> None:
    usual = Condition()
    apart = conditions.variations_of(["cores=split"], usual, [], tmp_path)["cores=split"].cores
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
    with cpu_affinity(HERE[-1:]):
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
