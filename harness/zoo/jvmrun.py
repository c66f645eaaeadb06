"""A run of the JVM with no server: its form, its files, and what it says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from zoo import __version__
from zoo.baseline import FOLDER, Footprint, build, footprints
from zoo.bench import revision
from zoo.host import facts
from zoo.host.facts import HostFacts
from zoo.host.jdk import Jdk
from zoo.interval import Interval, of_median
from zoo.report.model import NONE, Section, Table
from zoo.report.wording import number

PROTOCOL = 1
"""Version of this measurement's protocol."""


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JvmRecord(_Data):
    """What one set of flags gave; a figure a start."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = PROTOCOL
    case: str = Field(description="the flags, or `default`; and whether a monitor read the JVM's beans over JMX")
    flags: list[str]
    watched: bool
    start_and_end_s: list[float] = Field(description="from fork to exit")
    rss_kb: list[int] = Field(description="after 5 s of sleep, or of being watched")
    peak_kb: list[int]
    anon_kb: list[int]

    @classmethod
    def of(cls, seen: Footprint) -> JvmRecord:
        return cls(
            case=seen.name,
            flags=list(seen.flags),
            watched=seen.watched,
            start_and_end_s=[round(took, 6) for took in seen.took_s],
            rss_kb=seen.rest.rss,
            peak_kb=seen.rest.peak,
            anon_kb=seen.rest.anon,
        )


class JvmRun(_Data):
    """`run.json`: where and with what."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = PROTOCOL
    id: str
    started_at: str
    finished_at: str | None = None
    commit: str | None
    dirty: bool | None
    harness: str
    jdk: str
    host: HostFacts


def schema() -> dict[str, Any]:
    """JSON schema of `run.json` and of one line of `records.ndjson`."""
    return {"run": JvmRun.model_json_schema(), "record": JvmRecord.model_json_schema()}


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
            found.append(JvmRecord.of(seen))
            out.write(found[-1].model_dump_json() + "\n")
            out.flush()
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    _write(folder, run.model_copy(update={"finished_at": finished}))
    return folder, found


def section(jdk: str, found: list[JvmRecord]) -> Section:
    """Medians with their intervals."""
    columns = ["flags", "start and end, ms", "RSS, MB", "highest RSS, MB", "anonymous, MB"]
    rows = [
        [
            one.case,
            _shown(of_median(one.start_and_end_s), 1000) if one.start_and_end_s else NONE,
            *(_shown(of_median(values), 1 / 1024) for values in (one.rss_kb, one.peak_kb, one.anon_kb)),
        ]
        for one in found
    ]
    return Section(f"The JVM with no server, {jdk}", tables=[Table("", columns, rows)])


def _shown(interval: Interval, factor: float) -> str:
    text = number(interval.value * factor)
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ({number(interval.low * factor)}–{number(interval.high * factor)})"


def _write(folder: Path, run: JvmRun) -> None:
    (folder / "run.json").write_text(run.model_dump_json(indent=2) + "\n", encoding="utf-8")
