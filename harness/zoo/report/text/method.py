"""Renders the checks of the method as sections. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from zoo.analysis.method_proof import CHANGES, SHORT, WIDTHS_OF, Alarms, Power, Width, alarms, power
from zoo.analysis.metrics import METRICS, Metric
from zoo.analysis.pairs import Compared, Kind
from zoo.model.run import Run
from zoo.report.formatting import format_interval, format_percent
from zoo.report.section import Section, Table

PROJECTED_MIN = 60.0


def aa(run: Run, runs: Sequence[Compared]) -> Section:
    """False differences over all metrics; `runs` are what the run is cut into."""
    used = [m for m in METRICS if alarms(runs, m).intervals]
    rows = [[m.name, *_counts(alarms(runs, m))] for m in used]
    columns = ["metric", "intervals", "leave out 1", "nominal", "called a difference"]
    table = Table("Intervals of A/A pairs", columns, [*rows, ["all", *_counts(alarms(runs))]])
    return Section(f"A/A over {run.plan.rounds} rounds", [counted(run, runs)], [table])


def counted(run: Run, runs: Sequence[Compared]) -> str:
    """The same over all metrics together, in words."""
    total = alarms(runs)
    entries = ", ".join(dict.fromkeys(p.b for p in runs[0].of(Kind.AGAIN)))
    cut = f", {SHORT} of them a run" if len(runs) > 1 else ""
    return (
        f"{entries}, each twice a round over {run.plan.rounds} rounds{cut}: {total.outside} of {total.intervals} "
        f"intervals leave out 1, where the nominal 5 % are {total.nominal:.1f}. Were the intervals independent, so "
        f"many or more had a probability of {total.chance:.2f}; those of one process are not, and come together more "
        f"often. Called a difference after Holm's correction: {total.called}."
    )


def found_of(run: Run, runs: Sequence[Compared]) -> Section:
    """How often a true difference of each size is found, in the noise of equal servers."""
    rows = [
        [metric.name, tier, f"± {format_percent(sizes[0].half_width, 1)}", *(_share(one) for one in sizes)]
        for metric in WIDTHS_OF
        for tier in run.plan.tiers
        for sizes in [[power(runs, metric, tier, change) for change in CHANGES]]
        if sizes[0].tried
    ]
    columns = ["metric", "connections", "half-width", *(f"{format_percent(change)} found" for change in CHANGES)]
    return Section(
        "Power",
        [
            f"Of {len(runs)} runs of {SHORT} rounds each. Half-width is the median. In brackets what is left after "
            "Holm's correction over the pairs of one metric."
        ],
        [Table("True differences that are found", columns, rows, text=2)],
    )


def _share(found: Power) -> str:
    return f"{found.alone} of {found.tried} ({found.called})"


def _counts(found: Alarms) -> list[str]:
    return [str(found.intervals), str(found.outside), f"{found.nominal:.1f}", str(found.called)]


def designs(found: Sequence[Width]) -> Section:
    """Interval widths at equal time, and what A/A said of each design."""
    rows = [
        [
            f"{w.a} ÷ {w.b}",
            w.design,
            w.metric.name,
            f"{w.rounds} in {w.minutes:.1f} min",
            format_percent(w.sd_log, 1),
            f"± {format_percent(w.half_width(w.minutes), 1)}",
            f"± {format_percent(w.half_width(PROJECTED_MIN), 1)}",
            format_interval(w.pair, "{:.3f}".format),
            f"{format_interval(w.again, '{:.3f}'.format)} {'leaves out 1' if w.again.differs else 'contains 1'}",
        ]
        for w in sorted(found, key=lambda w: (w.a, w.b, WIDTHS_OF.index(w.metric)))
    ]
    columns = ["pair", "design", "metric", "rounds", "s", "± here", "± in 1 h", "ratio", "A/A ratio"]
    return Section(
        "Three designs",
        [
            "s is the standard deviation of one round's log-ratio, of the pair and of A/A beside it together. From it, "
            "the half-width of the 95 % interval after the minutes of the run and after an hour: the time of a round, "
            "which differs between designs, is in both.",
            _summed(found),
        ],
        [Table("Designs at equal time", columns, rows, text=3)],
    )


def _summed(found: Sequence[Width]) -> str:
    """How often each design's interval is the narrowest, and what its A/A said."""
    rows: dict[tuple[str, str, Metric], list[Width]] = {}
    for width in found:
        rows.setdefault((width.a, width.b, width.metric), []).append(width)
    designs = dict.fromkeys(w.design for w in found)
    whole = [each for each in rows.values() if len(each) == len(designs)]
    best = Counter(min(each, key=lambda w: w.half_width(PROJECTED_MIN)).design for each in whole)
    narrowest = ", ".join(f"{design} in {best[design]} of {len(whole)}" for design in designs)
    outside = Counter(w.design for w in found if w.again.differs)
    false = ", ".join(f"{design} {outside[design]} of {sum(w.design == design for w in found)}" for design in designs)
    return f"Narrowest after an hour: {narrowest}. A/A intervals that leave out 1: {false}."
