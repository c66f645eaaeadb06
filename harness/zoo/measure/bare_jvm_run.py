"""Carries out a run of the JVM with no server and writes its folder."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog.build import program_hash
from zoo.host import environment, facts
from zoo.host.interrupts import defer_signals
from zoo.host.run_metadata import new_run_metadata, now
from zoo.measure.bare_jvm import FOLDER, Footprint, build, footprints
from zoo.model.jdk import Jdk
from zoo.model.jvm_run import JvmRecord, JvmRun
from zoo.store.writing import write_data


def measure(root: Path, results: Path, jdk: Jdk) -> tuple[Path, list[JvmRecord]]:
    """Measure all sets of flags and write a run; gives its folder."""
    builds = {FOLDER.name: program_hash(root, FOLDER.name)}
    given = {FOLDER.name: environment.chosen(environment.FOLDER)}
    run = JvmRun(
        **new_run_metadata(root, "jvm"), jdk=jdk.version, host=facts.gather(jdk), builds=builds, environment=given
    )
    jar = build(jdk, root / FOLDER.name)
    folder = results / run.id
    folder.mkdir(parents=True)
    write_data(folder / "run.json", run)
    found = []
    with (folder / "records.ndjson").open("w", encoding="utf-8") as out:
        for seen in footprints(jdk, jar):
            found.append(recorded(seen))
            with defer_signals():  # as in a run of servers: pydantic takes an interrupt for a fault of the data
                out.write(found[-1].model_dump_json() + "\n")
                out.flush()
    write_data(folder / "run.json", run.model_copy(update={"finished_at": now()}))
    return folder, found


def recorded(seen: Footprint) -> JvmRecord:
    """What one set of flags gave, as it is stored."""
    return JvmRecord(
        case=seen.name,
        flags=list(seen.flags),
        watched=seen.watched,
        start_and_end_s=[round(took, 6) for took in seen.took_s],
        rss_kb=seen.rest.rss,
        peak_kb=seen.rest.peak,
        anon_kb=seen.rest.anon,
        parked_kb=[round(kb, 4) for kb in seen.parked_kb],
    )
