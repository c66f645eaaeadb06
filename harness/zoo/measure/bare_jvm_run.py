"""Carries out a run of the JVM with no server and writes its folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from zoo import __version__
from zoo.host import facts
from zoo.host.interrupts import held
from zoo.host.revision import revision
from zoo.measure.bare_jvm import FOLDER, Footprint, build, footprints
from zoo.model.jdk import Jdk
from zoo.model.jvm_run import JvmRecord, JvmRun


def measure(root: Path, results: Path, jdk: Jdk) -> tuple[Path, list[JvmRecord]]:
    """Measure all sets of flags and write a run; gives its folder."""
    now = datetime.now(UTC)
    commit, dirty = revision(root)
    run = JvmRun(
        id=f"{now:%Y%m%d-%H%M%S}-jvm",
        started_at=now.isoformat(timespec="seconds"),
        commit=commit,
        dirty=dirty,
        harness=__version__,
        jdk=jdk.version,
        host=facts.gather(jdk),
    )
    jar = build(jdk, root / FOLDER.name)
    folder = results / run.id
    folder.mkdir(parents=True)
    _write(folder, run)
    found = []
    with (folder / "records.ndjson").open("w", encoding="utf-8") as out:
        for seen in footprints(jdk, jar):
            found.append(recorded(seen))
            with held():  # as in a run of servers: pydantic takes an interrupt for a fault of the data
                out.write(found[-1].model_dump_json() + "\n")
                out.flush()
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    _write(folder, run.model_copy(update={"finished_at": finished}))
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
    )


def _write(folder: Path, run: JvmRun) -> None:
    with held():
        (folder / "run.json").write_text(run.model_dump_json(indent=2) + "\n", encoding="utf-8")
