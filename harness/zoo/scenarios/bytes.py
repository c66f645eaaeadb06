"""bytes: bodies from 256 bytes to 16 MiB, a wrk thread for each of few connections, as published; but in turns."""

from zoo.model.run import Case, Program
from zoo.plan.scenario import Asked, Scenario, within
from zoo.report.sweeps import THROUGHPUT, sweep_view

SIZES = tuple(2**n for n in range(8, 25, 2))
TIERS = ("1", "2", "4", "8", "16", "32")
DURATION_S, QUICK_S = 10, 1
TEXT = "Bodies of so many bytes, a wrk thread for each connection. Requests a second by connections."


def program(asked: Asked) -> Program:
    cases = [Case(name=str(n), path=f"/bytes?n={n}", warm_path=f"/bytes?n={n}") for n in SIZES]
    return Program(
        cases=cases,
        tiers=list(asked.tiers or TIERS),
        duration_s=within(asked, DURATION_S, QUICK_S),
        thread_each=True,
    )


BYTES = Scenario(
    name="bytes",
    title="bodies of 256 bytes to 16 MiB",
    settle=True,
    program=program,
    view=sweep_view("bytes", "Body sizes", TEXT, THROUGHPUT),
    rounds=1,
)
