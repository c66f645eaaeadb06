"""Workload of `startup`. Pure."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario

STARTS, QUICK_STARTS = 20, 3
RESTS = 6  # a median needs at least this many values for a 95% interval
REST_S = 5.0
START_S = 2.5
AOT_SINCE = 25


class Start(StrEnum):
    """Class archive that a JVM starts with.

    The default is the archive of the JDK's own classes, which is on without any flag. The alternatives are an archive
    that also contains the application's classes (JEP 350) and an ahead-of-time cache (JEP 483, 514 and 515; JDK 25 or
    later).
    """

    DEFAULT = "default"
    CDS = "cds"
    AOT = "aot"

    def recording(self, archive: Path) -> tuple[str, ...]:
        """Return the flags of the training run, which creates the archive when it ends."""
        return {
            Start.DEFAULT: (),
            Start.CDS: (f"-XX:ArchiveClassesAtExit={archive}",),
            Start.AOT: (f"-XX:AOTCacheOutput={archive}",),
        }[self]

    def using(self, archive: Path) -> tuple[str, ...]:
        """Return the flags of a measured start. A JVM that cannot use the archive then exits instead of ignoring it."""
        return {
            Start.DEFAULT: (),
            Start.CDS: (f"-XX:SharedArchiveFile={archive}", "-Xshare:on"),
            Start.AOT: (f"-XX:AOTCache={archive}", "-XX:AOTMode=on"),
        }[self]


def program(asked: ProgramOptions) -> Program:
    """Return the program. It uses archives only for JVMs, and only where the harness starts the process itself."""
    jvms = [e.id for e in asked.entries if not e.native]
    ways = [Start.CDS, Start.AOT] if asked.jdk_major >= AOT_SINCE else [Start.CDS]
    cases = [Case(name=Start.DEFAULT)]
    if jvms and asked.runtime == "process":
        cases += [Case(name=way, entries=jvms) for way in ways]
    return Program(cases=cases, tiers=["1"], duration_s=REST_S, repeats=QUICK_STARTS if asked.quick else STARTS)


SPEC = Scenario(
    name="startup",
    title="starts, each until its first good response",
    program=program,
    trial_s=lambda program: program.repeats * START_S + min(RESTS, program.repeats) * (REST_S + 1),
    rounds=1,
)
