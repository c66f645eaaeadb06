"""A comparison of the latencies that wrk prints with those that it measured, in one run of wrk.

`python -m zoo.reference.percentiles java-tomcat:virtual 100 results/reference/wrk-percentiles.json.gz` measures one
cell of hello, and stores the output of wrk and its whole histogram. `zoo docs` turns them into a table in
docs/explanation/method.md.
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

from pydantic import Field

from zoo import ROOT
from zoo.core.capacity import parse_tier as tier_of
from zoo.core.data import Data
from zoo.core.manifest import Catalog, Entry
from zoo.core.manifest_files import load_catalog
from zoo.host import facts, run_metadata
from zoo.host.build import source_hash
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadSpec
from zoo.load.wrk import REPORT, Wrk, read_report, threads_of
from zoo.reference.runs import StoredRun
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table
from zoo.runtime import conditions
from zoo.runtime.base import Launch
from zoo.runtime.process import ProcessRuntime

WINDOW_S = 10
WARM_UP_S = 30
QUANTILES = {"50": 0.5, "75": 0.75, "90": 0.9, "99": 0.99}
PERCENTILE = re.compile(r"^\s+(\d+)%\s+([\d.]+)([a-z]+)$", re.MULTILINE)
"""A line of wrk's output such as `     99%   12.31ms`."""


class WrkOutput(Data):
    """One run of wrk: its final output, and the report of its script with the whole histogram."""

    entry: str
    connections: int
    threads: int
    timeout_s: int
    wrk: str
    jdk: str | None
    cpu_model: str | None
    cores: int | None
    commit: str | None
    started_at: str
    builds: dict[str, str] = Field(description="the hash of the server's sources")
    output: str
    report: dict[str, Any]

    @property
    def outcome(self) -> LoadOutcome:
        """Return the outcome with the histogram, after the checks that every cell passes."""
        return read_report(json.dumps(self.report), self.connections, self.timeout_s, self.output)

    @property
    def percentiles(self) -> dict[str, str]:
        """Return each percentile and its latency as wrk printed them."""
        return {
            percent: f"{value} {unit.replace('us', 'µs')}" for percent, value, unit in PERCENTILE.findall(self.output)
        }


def render(runs: Sequence[StoredRun], catalog: Catalog) -> str:
    """Render the generated part of docs/explanation/method.md."""
    return render_output(read(runs[0].folder))


def read(path: Path) -> WrkOutput:
    return WrkOutput.model_validate_json(gzip.decompress(path.read_bytes()))


def write(path: Path, output: WrkOutput) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        out.write(output.model_dump_json().encode())


def render_output(output: WrkOutput) -> str:
    """Render a table and its source as Markdown."""
    outcome = output.outcome
    columns = ["percentile", "as wrk prints it", "of its corrected histogram", "as measured"]
    rows = [
        [
            f"{percent}%",
            output.percentiles[percent],
            _ms(outcome.corrected.quantile(q)),
            _ms(outcome.histogram.quantile(q)),
        ]
        for percent, q in QUANTILES.items()
    ]
    added = outcome.corrected.total - outcome.histogram.total
    interval = round(1e6 * outcome.runtime_s) // (outcome.requests // output.connections)
    table = Table("percentiles", columns, rows, text=0)
    return (
        f"{render_table(table)}\n\n`{output.entry}`, hello, {output.connections:,} connections, one "
        f"run of `wrk --latency`; wrk {output.wrk}, {output.cpu_model}, {output.cores} cores "
        f"shared by server and wrk, JDK {output.jdk or 'none'}, commit "
        f"{(output.commit or 'unknown')[:12]}. The server answered {outcome.requests:,} requests, but "
        f"wrk's histogram holds {outcome.corrected.total:,} samples: wrk invented the other {added:,} "
        f"({100 * added / outcome.corrected.total:.1f}%), with e = {interval / 1000:.2f} ms."
    )


def measure(entry: Entry, connections: int) -> WrkOutput:
    """Start the entry in its own process, warm it up for a fixed time, and measure one window."""
    started_at = run_metadata.now()
    jdk = conditions.jdk_for([entry])
    host = facts.gather(jdk)
    wrk = Wrk(options=("--latency",))
    with tempfile.TemporaryDirectory(prefix="zoo-printed-") as folder:
        server = ProcessRuntime(jdk).start(Launch(entry, Path(folder) / "server.log"))
        try:
            for seconds in (WARM_UP_S, WINDOW_S):
                spec = LoadSpec(f"{server.url}/", connections, seconds, seconds + 5, min(host.cores or 2, 4))
                execution = wrk.execute(spec)
        finally:
            server.stop()
    return WrkOutput(
        entry=entry.id,
        connections=connections,
        threads=threads_of(spec),
        timeout_s=spec.timeout_whole_s,
        wrk=wrk.version(),
        jdk=jdk.version if jdk else None,
        cpu_model=host.cpu_model,
        cores=host.cores,
        commit=run_metadata.revision(ROOT).commit,
        started_at=started_at,
        builds={entry.server.name: source_hash(entry.server)},
        output=execution.output,
        report=json.load(execution.open(REPORT)),
    )


def _ms(us: int | None) -> str:
    return NONE if us is None else f"{us / 1000:.3f} ms"


def main() -> None:
    """Measure an entry, and store and print the result; the arguments are the entry, its connections and the file."""
    entry, tier, path = sys.argv[1:]
    output = measure(load_catalog(ROOT).entry(entry), tier_of(tier).connections)
    write(Path(path), output)
    print(render_output(output))


if __name__ == "__main__":
    main()
