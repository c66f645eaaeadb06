"""open: a new user 400 times a second, whatever the server does; who is answered in time?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from zoo.load.base import LoadError
from zoo.load.vegeta import Attack
from zoo.openmodel import account
from zoo.records import Flag
from zoo.results import Case, Lag, OpenResult, Program, Quantiles
from zoo.scenario.base import Asked, Scenario, within

if TYPE_CHECKING:
    from zoo.life import Life
    from zoo.records import Trial
    from zoo.stage import Stage

RATE, DELAY_S = 400, 4
DURATION_S, QUICK_S = 60, 5
TIMEOUT_S = 60.0


def program(asked: Asked) -> Program:
    duration_s = within(asked, DURATION_S, QUICK_S)
    case = Case(
        name=f"{RATE}ps-{DELAY_S}s",
        path=f"/sleep?ms={1000 * DELAY_S}",
        wait_s=DELAY_S,
        warm_path="/sleep?ms=1",
        rate=RATE,
    )
    users = RATE * duration_s
    tier = str(users) if users % 1000 else f"{users // 1000}k"
    return Program(cases=[case], tiers=[tier], duration_s=duration_s)


def trial(stage: Stage) -> Trial:
    """Each request on a connection of its own."""
    case, duration_s = stage.block.case, stage.program.duration_s
    assert case.rate is not None
    with stage.living() as server:
        url = server.hosted.url + case.path
        return attacked(stage, server, Attack(url, duration_s, TIMEOUT_S, rate=case.rate, keep_alive=False))


def attacked(stage: Stage, server: Life, attack: Attack, share: float | None = None) -> Trial:
    """The account of a load at a constant rate; `share` of the capacity that the rate is, where it is one."""
    assert attack.rate is not None
    stage.tell(f"measuring at {attack.rate:,}/s")
    with stage.watch(server) as watch:
        given = server.hosted.attacker.run(attack, watch.tick)
        watch.generator_cpu_s = given.cpu_s
    try:
        found = account(given.hits, attack.rate, attack.duration_s)
    except ValueError as error:
        raise LoadError("generator_failed", str(error)) from error
    result = OpenResult(
        rate=attack.rate,
        share=share,
        capacity_rps=stage.program.capacity_rps,
        delay_s=stage.block.case.wait_s,
        duration_s=attack.duration_s,
        timeout_s=attack.timeout_s,
        keep_alive=attack.keep_alive,
        due=found.due,
        sent=found.sent,
        ok=found.ok,
        ok_share=found.ok_share,
        total_s=found.total_s,
        ok_per_s=found.ok_per_s,
        failures=found.failures,
        lag=Lag(**asdict(found.lag)),
        late_limit_us=found.late_limit_us,
        behind=found.behind,
        latency=Quantiles(**asdict(found.latency)),
        cpu_s=given.cpu_s,
        version=given.version,
        histogram=stage.bench.store.write_raw(f"{stage.name}-histogram", found.answered.quantized().to_pairs()),
    )
    return watch.trial(result, found.ok, flags=[Flag.GENERATOR_BEHIND] if found.behind else [])


OPEN = Scenario(
    name="open",
    title="a constant arrival rate, a new connection each, every request waits",
    delay_s=float(DELAY_S),
    settle=False,
    program=program,
    trial=trial,
    trial_s=lambda program: program.duration_s + TIMEOUT_S / 2,
)
