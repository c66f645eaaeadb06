"""Which processors the server has, and which the generator. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.model.cores import Cores, PhysicalCore
from zoo.plan.tier import PlanError

AUTO, SHARED, SPLIT = CHOICES = ("auto", "shared", "split")

ENOUGH = 4
"""Physical cores from which on each side has some of its own unasked: with fewer, a server of a thread model would have
one core and no scheduling left to compare."""


def chosen(wanted: str, cores: Sequence[PhysicalCore], quota: float | None = None) -> Cores | None:
    """Each side's processors, or None where both share all; `PlanError` when CORES= asks for what is not there.

    `quota`: of processors, a limit of the control group on the time of all of them together.
    """
    if wanted not in CHOICES:
        raise PlanError(f'CORES must be one of {", ".join(CHOICES)}, got "{wanted}"')
    usable = within(cores, quota)
    if wanted == SPLIT and len(usable) < 2:
        raise PlanError("CORES=split needs two physical cores, one for each side, and here is one")
    apart = wanted == SPLIT or (wanted == AUTO and len(usable) >= ENOUGH)
    return split(usable) if apart else None


def within(cores: Sequence[PhysicalCore], quota: float | None) -> list[PhysicalCore]:
    """Cores in the order of their sockets, as many as the quota can keep busy."""
    ordered = sorted(cores, key=lambda core: (core.package, core.processors))
    taken: list[PhysicalCore] = []
    for core in ordered:
        if quota is not None and sum(len(c.processors) for c in [*taken, core]) > quota:
            break
        taken.append(core)
    return taken


def split(ordered: Sequence[PhysicalCore]) -> Cores:
    """Siblings stay together, and so do the cores of a socket.

    An odd core is the generator's, which must not be what limits, and beside which the harness runs.
    """
    half = len(ordered) // 2
    server, generator = (
        sorted(p for core in side for p in core.processors) for side in (ordered[:half], ordered[half:])
    )
    return Cores(server=server, generator=generator)
