"""slow-readers: clients that read nothing of a large response. Is everyone else still served?

A blocking write holds its thread until the client reads. A pool then has fewer threads for others; a virtual thread
holds its carrier too, if it waits in a monitor on a JDK before 24.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from zoo.bench.trial import TrialCell
from zoo.core.record import Record, Trial
from zoo.core.run import Case, Program, Run
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds
from zoo.core.trial_results import SlowReadersResult
from zoo.load.slow_readers import ReadersSpec
from zoo.report.charts.figure import Group, slug
from zoo.report.columns import title_of
from zoo.report.view import (
    Columns,
    Kinds,
    View,
    dot_figure,
    dots,
    join_by_server,
    median_column,
    peak_column,
    trial_section,
)
from zoo.report.wording import capitalize
from zoo.stats.interval import mean_interval
from zoo.stats.trials import Found, LoadKey, each_result, list_loads

TIERS = ("1", "10", "100", "300")
BYTES = 16_777_216
"""More than the buffers of both ends hold."""

DURATION_S, QUICK_S = 10, 2
PATIENCE_S = 1.0
TEXT = (
    f"Each client requests {BYTES:,} bytes and reads none of them. Next to them, one small request after the other is "
    f"sent on new connections; it counts as answered if its response begins within {PATIENCE_S:g} s."
)


def program(asked: ProgramOptions) -> Program:
    case = Case(path=f"/bytes?n={BYTES}", warm_path="/")
    duration_s = load_seconds(asked, DURATION_S, QUICK_S)
    return Program(cases=[case], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


def measure_cell(cell: TrialCell) -> Trial:
    connections = cell.connections
    with cell.warm_server() as server:
        hosted = server.hosted
        cell.show_phase(f"keeping {connections.actual:,} slow readers")
        spec = ReadersSpec(
            hosted.url, cell.block.case.path, hosted.home, connections.actual, cell.program.duration_s, PATIENCE_S
        )
        with cell.window(server) as window:
            found = hosted.slow_readers.run(spec)
            window.generator_cpu_s = found.cpu_s
        took = [math.inf if us is None else us for us in found.took_us]
        middle = statistics.median_low(took)
        answered = sum(map(math.isfinite, took))
        result = SlowReadersResult(
            readers=connections.actual,
            patience_s=PATIENCE_S,
            requests=len(took),
            answered=answered,
            p50_us=int(middle) if math.isfinite(middle) else None,
            cpu_s=found.cpu_s,
        )
        return cell.trial(server, window, result, answered, connections)


def _answered(found: Found[SlowReadersResult]) -> str:
    answered, requests = (sum(of) for of in zip(*((r.answered, r.requests) for _, r in found), strict=True))
    return f"{answered:,} of {requests:,}"


COLUMNS: Columns[SlowReadersResult] = {
    f"answered within {PATIENCE_S:g} s": _answered,
    title_of("p50_ms"): median_column(lambda r: r.p50_us, 1e-3),
    **peak_column(),
}
SECTION = trial_section(
    "slow-readers", TEXT, SlowReadersResult, COLUMNS, lambda _, level: f"{level[0]} · {level[1]} slow readers"
)


def _shares(records: Sequence[Record], level: LoadKey) -> dict[str, list[float]]:
    """Return the share of answered requests in percent, by entry and round."""
    found = each_result(records, level, SlowReadersResult)
    return {entry: [100 * r.answered / r.requests for r in each] for entry, each in found.items()}


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    figures = [
        figure
        for level in reversed(list_loads(records))  # documents show the first: where the answers differ most
        for figure in dot_figure(
            slug(*level),
            "Next to slow readers",
            f"{capitalize(_subject(level))}, %",
            dots(kinds, _shares(records, level), mean_interval),
        )
    ]
    return [Group("", figures)] if figures else []


def answers(records: Sequence[Record]) -> list[str]:
    """Return the median share of answered requests, by server and thread model."""
    sentences = []
    for level in list_loads(records):
        shares = sorted(_shares(records, level).items())
        texts = {entry: f"{statistics.median(each):.0f}% by" for entry, each in shares}
        by_server = join_by_server(records, texts)
        sentences += [f"{server}, {_subject(level)}: {text}." for server, text in sorted(by_server.items())]
    return sentences


def _subject(level: LoadKey) -> str:
    return f"small requests answered within {PATIENCE_S:g} s next to {level[1]} slow readers"


SLOW_READERS = Scenario(
    name="slow-readers",
    title="small requests next to clients that read nothing of a large response",
    program=program,
    trial=measure_cell,
    trial_s=lambda program: program.duration_s + 5,
    view=View("Slow readers", SECTION, groups, answers),
    rounds=1,
)
