"""Compares the latencies that wrk prints with those it measured, in one run of wrk.

`python -m zoo.reference.percentiles java-tomcat:virtual 100 results/reference/wrk-percentiles.json.gz` measures one
cell of hello and keeps what wrk printed and its whole histogram. `zoo docs` turns that into a table of docs/method.md.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo import ROOT
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog, Entry
from zoo.host import facts, run_metadata
from zoo.load.spec import LoadSpec
from zoo.load.wrk import REPORT, Report, Wrk, read_report, threads_of
from zoo.model.data import Data
from zoo.plan.capacity import tier as tier_of
from zoo.reference.runs import Committed
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table
from zoo.runtime import conditions
from zoo.runtime.base import Launch
from zoo.runtime.process import ProcessRuntime

WINDOW_S = 10
WARM_UP_S = 30
QUANTILES = {"50": 0.5, "75": 0.75, "90": 0.9, "99": 0.99}
LINE = re.compile(r"^\s+(\d+)%\s+([\d.]+)([a-z]+)$", re.MULTILINE)
"""`     99%   12.31ms`"""


class Printed(Data):
    """One run of wrk: what it printed last, and what its script wrote, which is its whole histogram."""

    entry: str
    connections: int
    threads: int
    timeout_s: int
    wrk: str
    jdk: str | None
    cpu_model: str | None
    cores: int | None
    commit: str | None
    output: str
    report: dict[str, Any]

    @property
    def measured(self) -> Report:
        """The histogram, checked as in every cell."""
        return read_report(json.dumps(self.report), self.connections, self.timeout_s, self.output)

    @property
    def lines(self) -> dict[str, str]:
        """Percent and latency, in wrk's own words."""
        return {percent: f"{value} {unit.replace('us', 'µs')}" for percent, value, unit in LINE.findall(self.output)}


def render(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the part of docs/method.md."""
    return told(read(runs[0].folder))


def read(path: Path) -> Printed:
    return Printed.model_validate_json(gzip.decompress(path.read_bytes()))


def write(path: Path, printed: Printed) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        out.write(printed.model_dump_json().encode())


def told(printed: Printed) -> str:
    """Render a table and its source as Markdown."""
    seen = printed.measured
    columns = ["percentile", "as wrk prints it", "of its corrected histogram", "as measured"]
    rows = [
        [f"{percent} %", printed.lines[percent], _ms(seen.corrected.quantile(q)), _ms(seen.raw.quantile(q))]
        for percent, q in QUANTILES.items()
    ]
    invented = seen.corrected.total - seen.raw.total
    interval = seen.runtime_us // (seen.requests // printed.connections)
    table = Table("percentiles", columns, rows, text=0)
    return (
        f"{render_table(table)}\n\n"
        f"`{printed.entry}`, hello, {printed.connections:,} connections, one run of `wrk --latency`; "
        f"wrk {printed.wrk}, {printed.cpu_model}, {printed.cores} cores shared by server and wrk, "
        f"JDK {printed.jdk or 'none'}, commit {(printed.commit or 'unknown')[:12]}. {seen.requests:,} requests were "
        f"answered, and wrk's histogram holds {seen.corrected.total:,} samples: the {invented:,} "
        f"({100 * invented / seen.corrected.total:.1f} %) beyond were invented, with e = {interval / 1000:.2f} ms."
    )


def measure(entry: Entry, connections: int) -> Printed:
    """Start the entry in its own process and warm it up for a fixed time."""
    jdk = conditions.jdk_for([entry])
    host = facts.gather(jdk)
    wrk = Wrk(options=("--latency",))
    with tempfile.TemporaryDirectory(prefix="zoo-printed-") as folder:
        hosted = ProcessRuntime(jdk).start(Launch(entry, Path(folder) / "server.log"))
        try:
            for seconds in (WARM_UP_S, WINDOW_S):
                spec = LoadSpec(f"{hosted.url}/", connections, seconds, seconds + 5, min(host.cores or 2, 4))
                done = wrk.execute(spec)
        finally:
            hosted.stop()
    return Printed(
        entry=entry.id,
        connections=connections,
        threads=threads_of(spec),
        timeout_s=spec.timeout_whole_s,
        wrk=wrk.version(),
        jdk=jdk.version if jdk else None,
        cpu_model=host.cpu_model,
        cores=host.cores,
        commit=run_metadata.revision(ROOT).commit,
        output=done.output,
        report=json.load(done.open(REPORT)),
    )


def _ms(us: int | None) -> str:
    return NONE if us is None else f"{us / 1000:.2f} ms"


def main() -> None:
    """Measure the entry and tier of the arguments, and write the file that they name."""
    entry, tier, path = sys.argv[1:]
    printed = measure(load_catalog(ROOT).entry(entry), tier_of(tier).connections)
    write(Path(path), printed)
    print(told(printed))


if __name__ == "__main__":
    main()
