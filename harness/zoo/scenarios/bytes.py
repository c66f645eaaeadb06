"""bytes: bodies from 256 bytes to 16 MiB over few connections, with one wrk thread per connection.

Sizes and connections are those of the published benchmark, but servers are measured in alternating windows.
"""

from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds
from zoo.report.sweeps import THROUGHPUT, sweep_view

SIZES = tuple(2**n for n in range(8, 25, 2))
TIERS = ("1", "2", "4", "8", "16", "32")
DURATION_S, QUICK_S = 10, 1
TEXT = (
    "Bodies of different sizes, with one wrk thread for each connection. Requests per second by number of connections."
)


def program(asked: ProgramOptions) -> Program:
    cases = [Case(name=str(n), path=f"/bytes?n={n}", warm_path=f"/bytes?n={n}") for n in SIZES]
    return Program(
        cases=cases,
        tiers=list(asked.tiers or TIERS),
        duration_s=load_seconds(asked, DURATION_S, QUICK_S),
        thread_each=True,
    )


BYTES = Scenario(
    name="bytes",
    title="bodies of 256 bytes to 16 MiB",
    measures_throughput=True,
    program=program,
    view=sweep_view("bytes", "Body sizes", TEXT, THROUGHPUT),
    rounds=1,
)
