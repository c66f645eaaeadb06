"""service: a request waits for a service with one thread; blocking a thread of each model, or asynchronously?"""

from zoo.model.run import Case, Program
from zoo.plan.scenario import Asked, Scenario, within
from zoo.report.sweeps import sweep_view

PATH = "/service"
DELAYS = (("5s", 5_000), ("50ms", 50), ("0ms", 0))
TIERS = ("1", "2", "4", "8", "16", "32", "200")
DURATION_S, QUICK_S = 10, 2
TEXT = (
    "Every request waits for a service with one thread, which answers each call after a delay. The blocking variants "
    "keep their thread meanwhile, the asynchronous servlet does not. Requests a second by connections."
)


def program(asked: Asked) -> Program:
    entries = [e.id for e in asked.entries if PATH in e.server.manifest.paths]
    cases = [
        Case(name=name, path=f"{PATH}?ms={ms}", wait_s=ms / 1000, warm_path=f"{PATH}?ms=0", entries=entries)
        for name, ms in DELAYS
        if entries
    ]
    duration_s = within(asked, DURATION_S, QUICK_S)
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=duration_s)


SERVICE = Scenario(
    name="service",
    title="every request waits for a service that has one thread",
    delay_s=5.0,
    settle=True,
    program=program,
    view=sweep_view("service", "Waiting for a service", TEXT),
)
