"""The checks of the method as sections. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from zoo.core.entry_id import aa_id
from zoo.core.run import Run
from zoo.report.formatting import format_interval, format_percent
from zoo.report.section import Section, Table
from zoo.report.wording import format_excluding
from zoo.stats import rounds_for_ratio
from zoo.stats.method_proof import CHANGES, SHORT, WIDTHS_OF, FalseAlarms, Power, Width, count_alarms, power
from zoo.stats.metrics import CPU, METRICS, Metric
from zoo.stats.pairs import Kind, Pair, RunPairs

PROJECTED_MIN = 60.0


def aa_section(run: Run, runs: Sequence[RunPairs]) -> Section:
    """Return the section on false differences by metric and in total; `runs` are the parts the run is cut into."""
    metrics = [m for m in METRICS if count_alarms(runs, m).intervals]
    rows = [[m.name, *_format_alarms(count_alarms(runs, m))] for m in metrics]
    columns = ["metric", "intervals", "exclude 1", "nominal", "called a difference"]
    table = Table("Intervals of A/A pairs", columns, [*rows, ["all", *_format_alarms(count_alarms(runs))]])
    return Section(f"A/A over {run.plan.common_rounds} rounds", [describe_alarms(run, runs)], [table])


def describe_alarms(run: Run, runs: Sequence[RunPairs]) -> str:
    """Return the false differences over all metrics together, in words."""
    total = count_alarms(runs)
    entries = ", ".join(dict.fromkeys(p.b for p in runs[0].of(Kind.AA)))
    # Rounds that a precision adds later have no A/A pairs.
    cut = f", in runs of {SHORT} rounds" if len(runs) > 1 and run.plan.common_rounds > SHORT else ""
    return (
        f"{entries}, each measured twice per round over {run.plan.common_rounds} rounds{cut}: "
        f"{format_excluding(total.outside, total.intervals)}; the nominal 5% would be {total.nominal:.1f}. "
        f"By chance alone, {total.outside} or more would occur with probability {total.chance:.2f} if the intervals "
        "were independent. Intervals of one process are not independent, so they exclude 1 together more often. "
        f"Called a difference after Holm's correction: {total.called}."
    )


def power_section(run: Run, runs: Sequence[RunPairs]) -> Section:
    """Return the section on power: how often a true difference of each size is found in the noise of A/A pairs."""
    rows = [
        [metric.name, tier, f"±{format_percent(sizes[0].half_width, 1)}", *map(_format_power, sizes)]
        for metric in WIDTHS_OF
        for tier in run.plan.tiers
        for sizes in [[power(runs, metric, tier, change) for change in CHANGES]]
        if sizes[0].tried
    ]
    columns = ["metric", "connections", "half-width", *(f"{format_percent(change)} found" for change in CHANGES)]
    return Section(
        "Power",
        [
            f"From {len(runs)} runs of {SHORT} rounds each. Half-width is the median. Brackets: what "
            "remains after Holm's correction over the pairs of one metric."
        ],
        [Table("True differences that were found", columns, rows, text=2)],
    )


TARGETS = {"100": 0.05, "1k": 0.08}
"""Half-widths that CPU per request should be known to, by number of connections."""


def noise_section(pairs: Sequence[Pair]) -> Section:
    """Return the parts of the noise in CPU per request: for each pair, of its windows and between its processes."""
    rows = []
    for pair in pairs:
        c, target = pair.comparisons.get(CPU), TARGETS.get(pair.tier)
        if c is None or c.sample is None or c.ratio is None or c.ratio.sd_log is None or target is None:
            continue
        enough = rounds_for_ratio(c.ratio, target)
        row = [
            f"{pair.a} ÷ {pair.b}" if pair.a != aa_id(pair.b) else f"{pair.b}, measured twice",
            pair.tier,
            str(c.ratio.rounds),
            format_percent(math.sqrt(c.sample.window_variance), 1),
            format_percent(math.sqrt(c.sample.process_variance), 1) if c.sample.process_variance > 0 else "none found",
            f"±{format_percent(c.ratio.half_width, 1)}",
            f"{enough} for ±{format_percent(target)}",
        ]
        rows.append(row)
    columns = ["pair", "connections", "rounds", "windows", "processes", "half-width", "rounds needed"]
    return Section(
        "Noise",
        [
            "Standard deviations of one round's log-ratio of CPU per request: what its windows contribute, and what "
            "comes on top between processes. Half-width: that of the 95% interval after these rounds. Rounds needed: "
            "by the same noise, for the target at that number of connections."
        ],
        [Table("", columns, rows, text=2)],
    )


def _format_power(power: Power) -> str:
    return f"{power.alone} of {power.tried} ({power.called})"


def _format_alarms(alarms: FalseAlarms) -> list[str]:
    return [str(alarms.intervals), str(alarms.outside), f"{alarms.nominal:.1f}", str(alarms.called)]


def design_section(widths: Sequence[Width]) -> Section:
    """Return the section on designs: interval widths at equal time, and the A/A result of each design."""
    rows = [
        [
            f"{w.a} ÷ {w.b}",
            w.design,
            w.metric.name,
            f"{w.rounds} in {w.minutes:.1f} min",
            format_percent(w.sd_log, 1),
            f"±{format_percent(w.half_width(w.minutes), 1)}",
            f"±{format_percent(w.half_width(PROJECTED_MIN), 1)}",
            format_interval(w.pair, "{:.3f}".format),
            f"{format_interval(w.again, '{:.3f}'.format)} {('excludes 1' if w.again.differs else 'includes 1')}",
        ]
        for w in sorted(widths, key=lambda w: (w.a, w.b, WIDTHS_OF.index(w.metric)))
    ]
    columns = ["pair", "design", "metric", "rounds", "s", "± here", "± in 1 h", "ratio", "A/A ratio"]
    return Section(
        "Three designs",
        [
            "s is the standard deviation of one round's log-ratio, for the pair and the A/A pair "
            "together. The half-widths of the 95% interval after the minutes of the run and after "
            "one hour follow from it; both include the time per round, which differs between designs.",
            _summarize_designs(widths),
        ],
        [Table("Designs with equal time", columns, rows, text=3)],
    )


def _summarize_designs(widths: Sequence[Width]) -> str:
    """Return how often each design's interval is the narrowest, and how often its A/A interval excludes 1."""
    rows: dict[tuple[str, str, Metric], list[Width]] = {}
    for width in widths:
        rows.setdefault((width.a, width.b, width.metric), []).append(width)
    designs = dict.fromkeys(w.design for w in widths)
    whole = [each for each in rows.values() if len(each) == len(designs)]
    best = Counter(min(each, key=lambda w: w.half_width(PROJECTED_MIN)).design for each in whole)
    narrowest = ", ".join(f"{design} in {best[design]} of {len(whole)}" for design in designs)
    outside = Counter(w.design for w in widths if w.again.differs)
    false = ", ".join(f"{design} {outside[design]} of {sum(w.design == design for w in widths)}" for design in designs)
    return f"Narrowest after one hour: {narrowest}. A/A intervals that exclude 1: {false}."
