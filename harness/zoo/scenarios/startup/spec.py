"""The workload of `startup`. Pure."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from zoo.model.run import Case, Program
from zoo.plan.scenario import Asked, Scenario

STARTS, QUICK_STARTS = 20, 3
RESTS = 6  # the fewest from which a median has a 95 % interval
REST_S = 5.0
START_S = 2.5
AOT_SINCE = 25


class Start(StrEnum):
    """What a JVM may begin with: the archive of the JDK's own classes that is on by default, an archive of the
    application's classes too (JEP 350), or an ahead-of-time cache (JEP 483, 514, 515; from JDK 25 on)."""

    DEFAULT = "default"
    CDS = "cds"
    AOT = "aot"

    def recording(self, archive: Path) -> tuple[str, ...]:
        """Flags of the training run that makes the archive when it ends."""
        return {
            Start.DEFAULT: (),
            Start.CDS: (f"-XX:ArchiveClassesAtExit={archive}",),
            Start.AOT: (f"-XX:AOTCacheOutput={archive}",),
        }[self]

    def using(self, archive: Path) -> tuple[str, ...]:
        """Flags of a start; a JVM that cannot use the archive ends, where it would else quietly go without."""
        return {
            Start.DEFAULT: (),
            Start.CDS: (f"-XX:SharedArchiveFile={archive}", "-Xshare:on"),
            Start.AOT: (f"-XX:AOTCache={archive}", "-XX:AOTMode=on"),
        }[self]


def program(asked: Asked) -> Program:
    """Archives are for JVMs, and are recorded where the harness starts the process itself."""
    jvms = [e.id for e in asked.entries if not e.native]
    ways = [Start.CDS, Start.AOT] if asked.jdk_major >= AOT_SINCE else [Start.CDS]
    cases = [Case(name=Start.DEFAULT)]
    if jvms and asked.runtime == "process":
        cases += [Case(name=way, entries=jvms) for way in ways]
    return Program(cases=cases, tiers=["1"], duration_s=REST_S, repeats=QUICK_STARTS if asked.quick else STARTS)


SPEC = Scenario(
    name="startup",
    title="starts, each to its first good answer",
    program=program,
    trial_s=lambda program: program.repeats * START_S + min(RESTS, program.repeats) * (REST_S + 1),
    rounds=1,
)
