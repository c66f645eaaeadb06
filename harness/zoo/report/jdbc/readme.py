"""The generated parts of the documents about database runs. Pure."""

from __future__ import annotations

from zoo.analysis.pairs import Compared
from zoo.jdbc import plan
from zoo.jdbc.analysis import Row, last_floods, rows
from zoo.jdbc.pairs import BASELINE, OPS, VIRTUAL, Records, compare, paired
from zoo.jdbc.published import TABLES
from zoo.jdbc.records import Cell, JdbcRun, PlanFacts, Profile
from zoo.report.formatting import format_duration, format_ratio
from zoo.report.jdbc.text import answer
from zoo.report.jdbc.wording import median, ratio
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table

OTHER = "forkjoin-15"


def profiles() -> str:
    """What each profile measures, and how long that takes."""
    body = [_profile(used) for used in plan.PROFILES.values()]
    return render_table(Table("profiles", ["profile", "a fork", "rounds", "cells", "floods", "about"], body, text=2))


def _profile(used: Profile) -> list[str]:
    planned = PlanFacts(
        cells=plan.cells(used.name),
        floods=plan.floods(used.name, "postgresql"),
        profile=used,
        seed=0,
        runtime="process",
    )
    name = f"`{used.name}`" + (" (default)" if used.name == plan.DEFAULT else "")
    fork = f"{used.warmups} × {used.warmup_s} s warm-up, {used.iterations} × {used.iteration_s} s"
    about = format_duration(plan.seconds(planned))
    return [name, fork, str(used.rounds), str(len(planned.cells)), str(len(planned.floods)), about]


def results(run: JdbcRun, records: Records, link: str) -> str:
    """The published ratios beside ours, and what the run answers."""
    found = rows(records)
    compared = compare(records)
    table = render_table(_ratios(found, compared))
    bullets = "\n".join(f"- {text}" for text in answer(found, compared, last_floods(records)).bullets)
    host = run.host
    source = (
        f"Profile {run.plan.profile.name}, {run.plan.profile.rounds} rounds; in brackets the 95 % interval; ○: it "
        f"contains 1. {host.cpu_model}, {host.shared('client and database')}, databases: "
        f"{run.plan.runtime}, commit {(run.commit or 'unknown')[:12]}, JDK {run.jdk}."
    )
    return f"Measured in a [committed run]({link}):\n\n{table}\n\n{bullets}\n\n{source}"


def _ratios(found: dict[Cell, Row], compared: Compared) -> Table:
    columns = ["published table", "connections", f"{VIRTUAL} ÷ {BASELINE}", "published"]
    columns += [f"{OTHER} ÷ {BASELINE}", "published", f"{VIRTUAL} ops/s", "bound"]
    body = []
    for table in TABLES:
        limits = {c.max_connections for c in found if c.base == table.cell("*", c.max_connections)}
        for limit in sorted(limits, key=lambda n: n or 0):
            baseline, virtual, other = (found.get(table.cell(name, limit)) for name in (BASELINE, VIRTUAL, OTHER))
            line = [f"{table.title} ({table.claims})", median(virtual, "connections")]
            for name, row in ((VIRTUAL, virtual), (OTHER, other)):
                ours = paired(compared, OPS, row, baseline) if row and baseline else None
                published = table.over(BASELINE, name)
                line += [ratio(ours), NONE if published is None else format_ratio(published)]
            body.append([*line, median(virtual, "ops_per_s"), median(virtual, "bound_ops_per_s")])
    return Table("results", columns, body)
