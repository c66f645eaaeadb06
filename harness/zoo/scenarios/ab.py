"""ab: a fixed number of requests from ApacheBench, as in the first article."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.bench.responses import bad_responses, exceeds_bad_limit, find_bad_response
from zoo.bench.trial import TrialCell
from zoo.core.flag import Flag
from zoo.core.record import Record, Trial
from zoo.core.run import Case, Program, Run
from zoo.core.scenario import ProgramOptions, Scenario
from zoo.core.trial_results import AbResult
from zoo.load.ab import AbSpec
from zoo.report.charts.figure import Group, slug
from zoo.report.columns import title_of
from zoo.report.view import (
    Columns,
    Kinds,
    View,
    dot_figure,
    dots,
    median_answers,
    median_column,
    peak_column,
    sum_column,
    trial_section,
)
from zoo.stats.flags import REOPENED_LIMIT
from zoo.stats.interval import mean_interval
from zoo.stats.trials import LoadKey, each_result, list_loads, peak_mb, results

TIERS = ("100",)
REQUESTS, QUICK_REQUESTS = 100_000, 5_000
TEXT = "A fixed number of requests over kept-alive HTTP/1.0 connections, sent by ApacheBench, which has one thread."


def program(asked: ProgramOptions) -> Program:
    requests = QUICK_REQUESTS if asked.quick else REQUESTS
    able = [e.id for e in asked.entries if e.server.manifest.http10]
    entries = able if len(able) < len(asked.entries) else []
    return Program(
        cases=[Case(path="/", entries=entries)], tiers=list(asked.tiers or TIERS), duration_s=15, repeats=requests
    )


def measure_cell(cell: TrialCell) -> Trial:
    connections = cell.connections
    with cell.warm_server() as server:
        cell.show_phase("measuring")
        spec = AbSpec(server.hosted.url + cell.block.case.path, cell.program.repeats, connections.actual)
        with cell.window(server) as window:
            found = server.hosted.benchmarker.run(spec)
            window.generator_cpu_s = found.cpu_s
        bad = found.failed + found.non_2xx + found.write_errors
        if exceeds_bad_limit(bad, found.requests):
            message = f"{bad:,} of {found.requests:,} responses were bad"
            raise bad_responses(message, find_bad_response(server.hosted, spec.url))
        closed = spec.keep_alive and found.complete - found.kept_alive > REOPENED_LIMIT * found.complete
        good = max(0, found.complete - found.failed - found.non_2xx)
        return cell.trial(server, window, found, good, connections, [Flag.RECONNECTS] if closed else [])


COLUMNS: Columns[AbResult] = {
    title_of("rps"): median_column(lambda r: r.requests_per_s),
    title_of("p50_ms"): median_column(lambda r: r.percentiles_us[50], 1e-3),
    title_of("p99_ms"): median_column(lambda r: r.percentiles_us[99], 1e-3),
    "bad": sum_column(lambda r: r.requests - r.complete + r.failed + r.non_2xx + r.write_errors),
    "requests": sum_column(lambda r: r.requests),
    **peak_column(),
}
SECTION = trial_section(
    "ab", TEXT, AbResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}, kept alive"
)


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    made = []
    for level in list_loads(records):
        found = results(records, level, AbResult)
        peaks = {entry: [mb for r, _ in of if (mb := peak_mb(r)) is not None] for entry, of in found.items()}
        figures = [
            figure
            for title, values in ((title_of("rps"), _rates(records, level)), ("peak RSS, MB", peaks))
            for figure in dot_figure(slug(*level, title), level[0], title, dots(kinds, values, mean_interval))
        ]
        if figures:
            made.append(Group(f"ab, {level[1]} connections", figures))
    return made


def _rates(records: Sequence[Record], level: LoadKey) -> dict[str, list[float]]:
    found = each_result(records, level, AbResult)
    return {entry: [r.requests_per_s for r in each] for entry, each in found.items()}


ANSWERS = median_answers(_rates, lambda level: f"Requests per second by ApacheBench at {level[1]} connections")
AB = Scenario(
    name="ab",
    title="ApacheBench, kept-alive connections, 13-byte responses",
    program=program,
    trial=measure_cell,
    view=View("ApacheBench", SECTION, groups, ANSWERS),
)
