"""ab: a fixed number of requests by ApacheBench, as in the first article."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.flags import REOPENED_LIMIT
from zoo.analysis.stats.interval import of_mean
from zoo.analysis.trials import LoadKey, each_result, levels, peak_mb, results
from zoo.load.ab import AbSpec
from zoo.measure.responses import bad_responses, sample, too_many
from zoo.measure.trials.base import TrialCell
from zoo.model.flag import Flag
from zoo.model.record import Record, Trial
from zoo.model.run import Case, Program, Run
from zoo.model.trial_results import AbResult
from zoo.plan.scenario import Asked, Scenario
from zoo.report.charts.figure import Group, slug
from zoo.report.columns import title_of
from zoo.report.view import (
    Columns,
    Kinds,
    View,
    dot_figure,
    dots,
    median_answers,
    over,
    peak_column,
    total,
    trial_section,
)

TIERS = ("100",)
REQUESTS, QUICK_REQUESTS = 100_000, 5_000
TEXT = "So many requests over kept-alive HTTP/1.0 connections by ApacheBench, which has one thread."


def program(asked: Asked) -> Program:
    requests = QUICK_REQUESTS if asked.quick else REQUESTS
    return Program(cases=[Case(path="/")], tiers=list(asked.tiers or TIERS), duration_s=15, repeats=requests)


def measure_cell(cell: TrialCell) -> Trial:
    connections = cell.connections
    with cell.living() as server:
        cell.tell("measuring")
        spec = AbSpec(server.hosted.url + cell.block.case.path, cell.program.repeats, connections.actual)
        with cell.watch(server) as watch:
            found = server.hosted.benchmarker.run(spec, watch.tick)
            watch.generator_cpu_s = found.cpu_s
        bad = found.failed + found.non_2xx + found.write_errors
        if too_many(bad, found.requests):
            message = f"{bad:,} of {found.requests:,} responses were bad"
            raise bad_responses(message, sample(server.hosted, spec.url))
        result = AbResult.model_validate(found, from_attributes=True)
        closed = spec.keep_alive and found.complete - found.kept_alive > REOPENED_LIMIT * found.complete
        good = max(0, found.complete - found.failed - found.non_2xx)
        return watch.trial(result, good, connections, [Flag.RECONNECTS] if closed else [])


COLUMNS: Columns[AbResult] = {
    title_of("rps"): over(lambda r: r.requests_per_s),
    title_of("p50_ms"): over(lambda r: r.percentiles_us[50], 1e-3),
    title_of("p99_ms"): over(lambda r: r.percentiles_us[99], 1e-3),
    "bad": total(lambda r: r.requests - r.complete + r.failed + r.non_2xx + r.write_errors),
    "requests": total(lambda r: r.requests),
    **peak_column(),
}
SECTION = trial_section(
    "ab", TEXT, AbResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}, kept alive"
)


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    made = []
    for level in levels(records):
        found = results(records, level, AbResult)
        peaks = {entry: [mb for r, _ in of if (mb := peak_mb(r)) is not None] for entry, of in found.items()}
        figures = [
            figure
            for title, values in ((title_of("rps"), _rates(records, level)), ("peak RSS, MB", peaks))
            for figure in dot_figure(slug(*level, title), level[0], title, dots(kinds, values, of_mean))
        ]
        if figures:
            made.append(Group(f"ab, {level[1]} connections", figures))
    return made


def _rates(records: Sequence[Record], level: LoadKey) -> dict[str, list[float]]:
    found = each_result(records, level, AbResult)
    return {entry: [r.requests_per_s for r in each] for entry, each in found.items()}


ANSWERS = median_answers(_rates, lambda level: f"Requests a second by ApacheBench at {level[1]} connections")
AB = Scenario(
    name="ab",
    title="ApacheBench, kept-alive connections, 13-byte answers",
    program=program,
    trial=measure_cell,
    view=View("ApacheBench", SECTION, groups, ANSWERS),
)
