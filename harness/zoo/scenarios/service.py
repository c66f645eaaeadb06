"""service: requests that wait for a single-threaded service. Is blocking any worse than waiting asynchronously?"""

from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds
from zoo.report.sweeps import sweep_view

PATH = "/service"
DELAYS = (("5s", 5_000), ("50ms", 50), ("0ms", 0))
TIERS = ("1", "2", "4", "8", "16", "32", "200")
DURATION_S, QUICK_S = 10, 2
TEXT = (
    "Every request waits for a service with one thread, which answers each call after a delay. The "
    "blocking variants keep their thread meanwhile; the asynchronous servlet does not. Requests per "
    "second by number of connections."
)


def program(asked: ProgramOptions) -> Program:
    entries = [e.id for e in asked.entries if PATH in e.server.manifest.paths]
    cases = [
        Case(name=name, path=f"{PATH}?ms={ms}", wait_s=ms / 1000, warm_path=f"{PATH}?ms=0", entries=entries)
        for name, ms in DELAYS
        if entries
    ]
    duration_s = load_seconds(asked, DURATION_S, QUICK_S)
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=duration_s)


SERVICE = Scenario(
    name="service",
    title="every request waits for a service that has one thread",
    delay_s=5.0,
    measures_throughput=True,
    program=program,
    view=sweep_view("service", "Waiting for a service", TEXT),
)
