"""The processors of the server and those of the generator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from zoo.core.capacity import PlanError
from zoo.core.host_facts import Cores, PhysicalCore

AUTO, SHARED, SPLIT = CHOICES = ("auto", "shared", "split")

ENOUGH = 4
"""Number of physical cores from which each side gets its own by default.

With fewer, the server would have one core, and there would be no scheduling left to compare between thread models.
"""

KINDS = ("performance", "efficiency", "low-power")
"""Names for the kinds of core in one machine, fastest first."""


def choose_cores(wanted: str, cores: Sequence[PhysicalCore], quota: float | None = None) -> Cores | None:
    """Return each side's processors, or None if both share all; `PlanError` if CORES= requests what the host lacks.

    `quota` is the control group's limit on total CPU time, in processors.
    """
    if wanted not in CHOICES:
        raise PlanError(f'CORES must be one of {", ".join(CHOICES)}, got "{wanted}"')
    usable = cores_within(cores, quota)
    if wanted == SPLIT and len(usable) < 2:
        raise PlanError(
            "CORES=split needs two physical cores, one for the server and one for the "
            "generator, and this machine has one: use CORES=shared"
        )
    return None if wanted == SHARED else split_cores(usable, required=wanted == SPLIT)


def cores_within(cores: Sequence[PhysicalCore], quota: float | None) -> list[PhysicalCore]:
    """Take as many cores as the quota can keep busy: the fastest kind first, and one socket after the other."""
    ordered = sorted(cores, key=lambda core: (core.kind, core.package, core.processors))
    taken: list[PhysicalCore] = []
    for core in ordered:
        if quota is not None and sum(len(c.processors) for c in [*taken, core]) > quota:
            break
        taken.append(core)
    return taken


def split_cores(ordered: Sequence[PhysicalCore], *, required: bool) -> Cores | None:
    """Give each side whole cores of one kind; return None if there are too few, unless the split was requested.

    Sibling threads stay together, and so do the cores of a socket. An odd core goes to the generator: it must not be
    the bottleneck, and the harness runs on the same side.
    """
    sides = _sides([list(cores) for _, cores in groupby(ordered, key=lambda core: core.kind)], required)
    if sides is None:
        return None
    server, generator = (sorted(p for core in side for p in core.processors) for side in sides)
    if len({core.kind for core in ordered}) == 1:
        return Cores(server=server, generator=generator)
    names = [KINDS[min(side[0].kind, len(KINDS) - 1)] for side in sides]
    return Cores(server=server, generator=generator, server_kind=names[0], generator_kind=names[1])


Side = Sequence[PhysicalCore]


def _sides(kinds: Sequence[Side], required: bool) -> tuple[Side, Side] | None:
    """Choose the server's and the generator's cores from those of each kind, fastest first.

    If the fastest kind has enough cores, each side gets half of them, so the generator is as fast as the server.
    Otherwise the server gets the fastest kind and the generator the largest other kind. If these are too few, each side
    gets half of the largest kind.
    """
    if not kinds:
        return None
    fastest, *others = kinds
    largest, other = max(kinds, key=len), max(others, key=len, default=[])
    if len(fastest) >= ENOUGH:
        return _halves(fastest)
    if min(len(fastest), len(other)) >= ENOUGH // 2:
        return fastest, other
    if len(largest) >= (2 if required else ENOUGH):
        return _halves(largest)
    return (fastest, other) if required else None


def _halves(cores: Side) -> tuple[Side, Side]:
    half = len(cores) // 2
    return cores[:half], cores[half:]
