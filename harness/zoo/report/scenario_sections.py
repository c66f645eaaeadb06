"""Scenarios with a section of their own in a report, beside the tables and charts that all loads of wrk share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report import arrival_rates, held, ramp, starts, sweeps
from zoo.report.charts.figure import Group
from zoo.report.section import Section
from zoo.report.trial_rows import Kinds


@dataclass(frozen=True)
class Experiment:
    """What is said and drawn of a scenario's records."""

    heading: str
    section: Callable[[Sequence[Record]], Section]
    groups: Callable[[Run, Kinds, Sequence[Record]], list[Group]]


EXPERIMENTS = {
    "ramp": Experiment("Ramp-up from rest", ramp.section, ramp.groups),
    "held": Experiment("Memory of held connections", held.section, held.groups),
    "heap": Experiment("The smallest heap", held.heap_section, held.heap_groups),
    "scale": Experiment("As many held connections as there can be", held.scale_section, held.scale_groups),
    "service": Experiment("Waiting for a service", partial(sweeps.section, "service"), sweeps.groups),
    "cpu": Experiment("Work of the processor", partial(sweeps.section, "cpu"), sweeps.groups),
    "bytes": Experiment("Body sizes", partial(sweeps.section, "bytes"), sweeps.groups),
    "open": Experiment("A constant arrival rate", partial(arrival_rates.section, "open"), arrival_rates.groups),
    "rate": Experiment("Latency at fixed rates", partial(arrival_rates.section, "rate"), arrival_rates.groups),
    "ab": Experiment("ApacheBench", starts.ab_section, starts.ab_groups),
    "startup": Experiment("Starts", starts.section, starts.groups),
}


def plain(records: Sequence[Record]) -> list[Record]:
    """Those of scenarios that have no section of their own."""
    return [record for record in records if record.scenario not in EXPERIMENTS]


def sections(records: Sequence[Record]) -> list[tuple[str, Section]]:
    """By scenario, for those that have records."""
    made = []
    for name, experiment in EXPERIMENTS.items():
        mine = [record for record in records if record.scenario == name]
        if mine:
            made.append((name, experiment.section(mine)))
    return made
