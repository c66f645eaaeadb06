"""Which processors the server has, and which the generator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from zoo.model.host import Cores, PhysicalCore
from zoo.plan.capacity import PlanError

AUTO, SHARED, SPLIT = CHOICES = ("auto", "shared", "split")

ENOUGH = 4
"""Physical cores from which on each side has some of its own unasked: with fewer, a server of a thread model would have
one core and no scheduling left to compare."""

KINDS = ("performance", "efficiency", "low-power")
"""Names of the kinds of core of one machine, the fastest first."""


def chosen(wanted: str, cores: Sequence[PhysicalCore], quota: float | None = None) -> Cores | None:
    """Each side's processors, or None where both share all; `PlanError` when CORES= asks for what is not there.

    `quota`: of processors, a limit of the control group on the time of all of them together.
    """
    if wanted not in CHOICES:
        raise PlanError(f'CORES must be one of {", ".join(CHOICES)}, got "{wanted}"')
    usable = within(cores, quota)
    if wanted == SPLIT and len(usable) < 2:
        raise PlanError("CORES=split needs two physical cores, one for each side, and here is one")
    return None if wanted == SHARED else split(usable, asked_for=wanted == SPLIT)


def within(cores: Sequence[PhysicalCore], quota: float | None) -> list[PhysicalCore]:
    """Take as many cores as the quota can keep busy: the fastest kind first, and one socket after the other."""
    ordered = sorted(cores, key=lambda core: (core.kind, core.package, core.processors))
    taken: list[PhysicalCore] = []
    for core in ordered:
        if quota is not None and sum(len(c.processors) for c in [*taken, core]) > quota:
            break
        taken.append(core)
    return taken


def split(ordered: Sequence[PhysicalCore], *, asked_for: bool) -> Cores | None:
    """Give each side whole cores of one kind; None where there are too few, unless the split was asked for.

    Siblings stay together, and so do the cores of a socket. An odd core is the generator's, which must not be the
    bottleneck, and next to which the harness runs.
    """
    sides = _sides([list(cores) for _, cores in groupby(ordered, key=lambda core: core.kind)], asked_for)
    if sides is None:
        return None
    server, generator = (sorted(p for core in side for p in core.processors) for side in sides)
    if len({core.kind for core in ordered}) == 1:
        return Cores(server=server, generator=generator)
    names = [KINDS[min(side[0].kind, len(KINDS) - 1)] for side in sides]
    return Cores(server=server, generator=generator, server_kind=names[0], generator_kind=names[1])


Side = Sequence[PhysicalCore]


def _sides(kinds: Sequence[Side], asked_for: bool) -> tuple[Side, Side] | None:
    """Choose the cores of server and generator from those of each kind, the fastest first.

    Halves of the fastest kind where it has enough cores: the generator is then as fast as the server. Otherwise the
    server has the fastest kind and the generator the largest other one. Otherwise both have halves of the largest.
    """
    if not kinds:
        return None
    fastest, *others = kinds
    largest, other = max(kinds, key=len), max(others, key=len, default=[])
    if len(fastest) >= ENOUGH:
        return _halves(fastest)
    if min(len(fastest), len(other)) >= ENOUGH // 2:
        return fastest, other
    if len(largest) >= (2 if asked_for else ENOUGH):
        return _halves(largest)
    return (fastest, other) if asked_for else None


def _halves(cores: Side) -> tuple[Side, Side]:
    half = len(cores) // 2
    return cores[:half], cores[half:]
