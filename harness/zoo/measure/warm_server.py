"""A server made ready to be measured: started, probed, looked at while idle, warmed up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zoo.load.spec import LoadError
from zoo.measure.warmup import warm_up
from zoo.measure.window import Bench
from zoo.model.errors import RuntimeFailure
from zoo.model.measurement import Warmup
from zoo.plan.blocks import Block
from zoo.plan.tier import Tier
from zoo.runtime.base import Hosted
from zoo.sample.requests import Info


@dataclass
class WarmServer:
    """A running server of a block, and how it was warmed up."""

    hosted: Hosted
    info: Info | None
    idle_kb: int | None
    canary_s: float | None
    warmup: Warmup
    asleep_until_s: float = 0.0
    """By the clock: requests of the load before may wait until then, though their connections are closed."""


def begin(
    bench: Bench, start: Callable[[], Hosted], where: str, block: Block, first: Tier, *, native: bool
) -> WarmServer:
    """`RuntimeFailure` or `LoadError` when it does not come so far; it is then stopped. `where` is for the reporter."""
    bench.reporter.phase(where, "starting the server")
    hosted = start()
    tools = hosted.instruments
    try:
        info = hosted.probe()
        bench.clock.rest(bench.profile.idle_s)
        canary = None if bench.emulated else tools.canary()
        idle = tools.snapshot(hosted.pid)
        warmup = warm_up(bench, where, block, hosted, first, native=native)
    except (LoadError, ProcessLookupError) as error:
        alive = hosted.alive() and isinstance(error, LoadError)
        hosted.stop(0)
        if alive:
            raise
        raise hosted.ended("during warm-up") from error
    except RuntimeFailure as error:
        hosted.stop(0)
        raise RuntimeFailure(error.kind, error.message, error.log_tail or hosted.log_tail()) from error
    except BaseException:
        hosted.stop(0)
        raise
    return WarmServer(hosted, info, idle.rss_kb if idle else None, canary, warmup)
