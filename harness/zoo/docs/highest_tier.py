"""What a true 25,000 held requests cost each server, as a part of docs/findings.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.analysis.summary import Row, rows
from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.docs.generated import Generated
from zoo.report.text.wording import shown
from zoo.store.run_folder import Store

HIGHEST = 25_000


TIER = "results/reference/vm-25k*"
"""Runs of `make bench-25k`, or of some of its entries."""


EMULATED = "method.md#a-host-of-its-own-where-this-one-forbids-the-tier"


ARTICLE_MB = {"rust-axum:async": 537, "java-vertx:virtual@heap=300m": 484, "java-tomcat:virtual": 3_800}
"""Of the first article, "Benchmarking Java Virtual Thread Performance", 25,000 requests of 10 s each: RSS of axum, of
Vert.x with Mutiny and `-Xmx300m`, of Tomcat."""


def generated(root: Path, catalog: Catalog) -> Generated:
    """The sentence, and the reports of the runs that it is linked to."""
    made = Generated()
    stores = {f"../{folder.relative_to(root)}/report.md": Store.open(folder) for folder in sorted(root.glob(TIER))}
    if not stores:
        return made
    said = tier({report: (one.run().plan.condition.env, rows(one.records())) for report, one in stores.items()})
    made.parts[root / "docs/findings.md"] = {"tier": said}
    for report, store in stores.items():
        if report in said:
            contents = run_reports.read(store, catalog.reference_id)
            made.files[store.folder / "report.md"] = run_reports.text(contents)
    return made


def tier(found: Mapping[str, tuple[Mapping[str, str], Sequence[Row]]]) -> str:
    """What the highest tier cost each server, beside what the article says; by report: a run's settings and its rows.

    An entry that several runs held with the same settings is told once, from the first of them.
    """
    every = [
        (f"`{row.entry}`" + "".join(f" with `{key}={value}`" for key, value in sorted(env.items())), report, row)
        for report, (env, of_run) in found.items()
        for row in of_run
        if row.requested == HIGHEST
    ]
    held = [one for one in every if one[2].held]
    where = f" in an [emulated host]({EMULATED})" if all(row.emulated for *_, row in held) else ""
    told: dict[str, str] = {}
    for name, report, row in held:
        article = f" ({ARTICLE_MB[row.entry]:,})" if row.entry in ARTICLE_MB else ""
        told.setdefault(name, f"{name} [{shown(row.rss_peak_mb)} MB]({report}){article}")
    pools = list(dict.fromkeys(name for name, _, row in every if name not in told and row.ceiling_rps))
    others = {name: f"{name} ([why]({report}))" for name, report, _ in every if name not in told and name not in pools}
    return (
        f"Peak resident memory of one server that held 25,000 requests at once{where}: {', '.join(told.values())}. "
        "In brackets: the first article's figure, on its own hardware."
        + (f" As many as it has threads at a time, while the others waited: {', '.join(pools)}." if pools else "")
        + (f" Not all, or not all answered: {', '.join(others.values())}." if others else "")
    )
