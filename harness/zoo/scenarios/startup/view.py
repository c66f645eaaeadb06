"""View of `startup`: the time to the first good response, and the memory at rest. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import StartupResult
from zoo.report.charts.figure import Figure, Group, slug
from zoo.report.formatting import format_interval, format_number
from zoo.report.section import NONE
from zoo.report.view import Columns, Kinds, Values, View, dot_figure, dots, median_answers, trial_section
from zoo.stats.interval import median_interval
from zoo.stats.trials import Found, each_result, list_loads

TEXT = (
    "Time from the start of a process to the first bytes of its first good response, polled every "
    "millisecond (for a container: from the command that starts it to the line that says it "
    "listens). Medians over all starts with their 95% interval (order statistics). default: the "
    "JDK's own class archive, which is always on; cds: an archive that includes the application's "
    "classes; aot: an ahead-of-time cache."
)
Read = Callable[[StartupResult], Iterable[float]]


def _first_answer_ms(result: StartupResult) -> Iterable[float]:
    return [1000 * s for s in result.first_answer_s]


def _rest_mb(result: StartupResult) -> Iterable[float]:
    return [kb / 1024 for kb in result.rss_kb]


def _median(read: Read) -> Callable[[Found[StartupResult]], str]:
    """Return a column's text, such as `412 [408, 419]`: the median over all starts of all rounds, with its interval."""

    def text(found: Found[StartupResult]) -> str:
        values = [value for _, result in found for value in read(result)]
        return format_interval(median_interval(values)) if values else NONE

    return text


def _archive(found: Found[StartupResult]) -> str:
    sizes = [result.archive_kb for _, result in found if result.archive_kb is not None]
    return format_number(max(sizes) / 1024) if sizes else NONE


COLUMNS: Columns[StartupResult] = {
    "starts": lambda found: str(sum(len(result.first_answer_s) for _, result in found)),
    "first response ms": _median(_first_answer_ms),
    "RSS at rest MB": _median(_rest_mb),
    "anonymous MB": _median(lambda result: [kb / 1024 for kb in result.anon_kb]),
    "archive MB": _archive,
}
SECTION = trial_section("startup", TEXT, StartupResult, COLUMNS, lambda _, level: level[0])


def _starts(read: Read) -> Values:
    """Return the values read from all starts of all rounds, by entry."""
    return lambda records, level: {
        entry: [value for result in each for value in read(result)]
        for entry, each in each_result(records, level, StartupResult).items()
    }


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return the figures of time and memory, one figure per way to start."""
    made = []
    for heading, name, title, read in (
        ("Time", "start", "first response, ms", _first_answer_ms),
        ("Memory", "rest", "RSS at rest, MB", _rest_mb),
    ):
        figures: list[Figure] = []
        for level in list_loads(records):
            data = dots(kinds, _starts(read)(records, level), median_interval)
            figures += dot_figure(slug(name, *level), level[0], f"{level[0].partition(' ')[2]}: {title}", data)
        made.append(Group(heading, figures))
    return [group for group in made if group.figures]


ANSWERS = median_answers(
    _starts(_first_answer_ms), lambda level: f"From start to first response ({level[0].partition(' ')[2]}), ms", round
)
VIEW = View("Starts", SECTION, groups, ANSWERS)
