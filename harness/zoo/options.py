"""The options by which a person says what to measure, shared by commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.bench import Wish
from zoo.plan import Design, PlanError
from zoo.scenario import SCENARIOS
from zoo.targets import targets

Servers = Annotated[list[str] | None, typer.Option("--server", help="a server's folder name; repeat for more")]
Variants = Annotated[list[str] | None, typer.Option("--variant", help="a variant's name; repeat for more")]
Scenarios = Annotated[
    list[str] | None, typer.Option("--scenario", help=f"{', '.join(SCENARIOS)}; hello and sleep without it")
]
Cases = Annotated[
    list[str] | None, typer.Option("--case", help="of a scenario that has several, such as 5ms+2ms of cpu; repeat")
]
Tiers = Annotated[
    str | None, typer.Option(help="connection counts, with commas between; without it each scenario's own")
]
Rounds = Annotated[int | None, typer.Option(min=1, help="how often every cell is measured, in fresh processes")]
Duration = Annotated[int | None, typer.Option(min=1, help="seconds of load in a cell that does not wait")]
WarmUp = Annotated[
    int | None,
    typer.Option(
        min=6, help="seconds of warm-up at most, before load without a wait; windows are as short in proportion"
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="one short round: a smoke run, no statistics")]
Hosting = Annotated[
    str,
    typer.Option(
        "--runtime",
        envvar="RUNTIME",
        help="process, container, vm; auto: containers where an engine answers; fit: vm where processes cannot do it",
    ),
]
TwiceARound = Annotated[
    bool | None, typer.Option("--aa/--no-aa", help="measure an entry of each kind twice: A/A; on for the whole zoo")
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        help="measure each entry under a further condition too: runtime=container, heap=50m, jdk=21, "
        "flags=-XX:+UseSerialGC, cpus=1, MAX_THREADS=400, liberty=23.0.0.10; repeat"
    ),
]
HowSet = Annotated[
    Design | None,
    typer.Option(
        help="a server's variants in throughput: in turns (the default), each alone (rounds, the default of a "
        "quick run), or loaded at once (parallel)"
    ),
]
Urls = Annotated[
    list[str] | None, typer.Option("--target", help="the URL of a server that already runs; repeat for more")
]
Pids = Annotated[
    list[int] | None,
    typer.Option("--pid", help="the target's process, whose memory, CPU and threads are then measured; one a target"),
]
Remote = Annotated[bool, typer.Option("--remote", help="also a target that is not on this machine's loopback")]
Results = Annotated[Path | None, typer.Option(help="where runs are written; results/ without it")]
Seed = Annotated[int | None, typer.Option(help="of the order of entries; random and stored without it")]


def wish(
    server: list[str] | None,
    variant: list[str] | None,
    scenario: list[str] | None,
    case: list[str] | None,
    tiers: str | None,
    rounds: int | None,
    duration: int | None,
    warmup: int | None,
    quick: bool,
    seed: int | None,
    aa: bool | None,
    design: Design | None,
    target: list[str] | None,
    pid: list[int] | None,
) -> Wish:
    """What was asked for in these words; `PlanError` where they name no tier."""
    names = [name for name in (tiers or "").split(",") if name.strip()]
    if tiers is not None and not names:
        raise PlanError("no tier; name connection counts such as 100,1k,25k")
    return Wish(
        servers=server or (),
        variants=variant or (),
        scenarios=scenario or (),
        cases=case or (),
        tiers=names,
        rounds=rounds,
        duration_s=duration,
        warmup_s=warmup,
        quick=quick,
        seed=seed,
        aa=aa,
        design=design,
        targets=targets(target or (), pid or ()),
    )
