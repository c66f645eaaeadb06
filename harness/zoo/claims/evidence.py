"""Runs as a ledger reads them: the observation of each cell in each round, whatever the kind of run. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.analysis.held import slopes
from zoo.analysis.lower_bound import LOWER_BOUND
from zoo.analysis.metrics import METRICS, Class, Metric, group_of, of_turns
from zoo.analysis.pairs import Band, BandKey, PriorKey, compare
from zoo.analysis.stats import Prior
from zoo.analysis.trials import rate_made
from zoo.analysis.verdict import spoiled
from zoo.claims.ledger import ClaimPoint, asked
from zoo.claims.quantities import SPOILT, JsonRecord, at
from zoo.jdbc import analysis as databases
from zoo.jdbc.analysis import rows
from zoo.jdbc.records import Cell, CellRecord, Profile
from zoo.model.entry_id import is_twin, name_of, plain
from zoo.model.flag import Flag
from zoo.model.host import Cores, HostFacts, major_of
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import OpenResult

Key = tuple[str, str, str, str, str, str]
"""Scenario, entry, case, tier, what differs from the servers' own settings, and the JDK: "" for the run's own."""


@dataclass(frozen=True)
class MachineFacts:
    """The facts that runs must share to be compared, and that a reader compares with the published machine."""

    processor: str
    cores: float | None
    memory_gb: float | None
    kernel: str
    descriptors: int | None
    apart: str = ""

    @property
    def alike(self) -> tuple[object, ...]:
        """The facts that make two machines count as one; the kernel is not among them, because it is updated."""
        return self.processor, self.cores, self.apart

    @classmethod
    def of(cls, host: HostFacts, cores: Cores | None = None) -> MachineFacts:
        return cls(
            processor=host.cpu_model or "unknown processor",
            cores=host.cores_usable,
            memory_gb=host.memory_kb / 1048576 if host.memory_kb else None,
            kernel=host.kernel,
            descriptors=host.limits.nofile_hard,
            apart=str(cores) if cores else "",
        )


@dataclass(frozen=True)
class Observation:
    """One record.

    `window_s`: how long it was loaded without a pause, of `loaded_s`. `limits` make speed a lower bound. `objections`
    say why a kind of quantity cannot be read off it. `groups`: by metric, the same for cells that are expected to vary
    equally. `turns`: by metric, the figure of each window; empty where a window does not have it.
    """

    line: int
    round: int
    data: JsonRecord
    entry: str = ""
    emulated: bool = False
    loaded_s: float | None = None
    window_s: float = 0.0
    actual: int | None = None
    cut: str | None = None
    limits: frozenset[Flag] = frozenset()
    failure: str | None = None
    objections: Mapping[Class, str] = field(default_factory=dict)
    groups: Mapping[Metric, Hashable] = field(default_factory=dict)
    turns: Mapping[Metric, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Archive:
    """One run.

    `cells` have their last observation of each round; `bands` come from A/A pairs, `priors` from all pairs. `window_s`:
    for how long its profile measures a cell in a round; a scenario may have times of its own. `records`: the name of
    its file of records. `program`: what was measured, where it is no server. `older`: servers and programs whose
    sources are no longer those that were measured.
    """

    id: str
    folder: str
    started_at: str
    commit: str | None
    jdk: str | None
    machine: MachineFacts
    protocol: int
    cells: Mapping[Key, Mapping[int, Observation]]
    bands: Mapping[BandKey, Band] = field(default_factory=dict)
    priors: Mapping[PriorKey, Prior] = field(default_factory=dict)
    window_s: float = 0.0
    records: str = "records.ndjson"
    program: str | None = None
    older: frozenset[str] = frozenset()

    def prior(self, point: ClaimPoint, metric: Metric | None) -> Prior:
        """Return the prior that the run's pairs give for a ratio of this point; without such pairs, an empty one."""
        return self.priors.get((point.asked, metric), Prior()) if metric else Prior()

    def seen(self, point: ClaimPoint) -> list[Mapping[int, Observation]] | None:
        """Return the observations of each tier by round; None where the run lacks a tier, or was too short."""
        settings = canonical(point.vary)
        keys = [(point.scenario, point.entry, point.case, tier, settings, point.jdk) for tier in point.tiers]
        found = [self.cells[key] for key in keys if key in self.cells]
        short = any(
            (seen.loaded_s or 0) < (point.duration or 0) or seen.window_s < (point.window or 0)
            for tier in found
            for seen in tier.values()
        )
        return None if short or len(found) < len(keys) else found


def of_servers(run: Run, records: Sequence[Record], folder: str, reference: str | None = None) -> Archive:
    fits = slopes(records)
    cells: dict[Key, dict[int, Observation]] = {}
    for line, record in enumerate(records, start=1):
        if is_twin(record.entry):
            continue
        data = record.model_dump(mode="json")
        fit = fits.get((record.entry, record.asked), {}).get(record.round)
        data["per_connection"] = {"rss": None if fit is None else fit.kb}
        observed = _observed(record, data, line)
        for jdk in _jdks(record.condition.jdk, varied=name_of(record.entry).startswith("jdk=")):
            key = (record.scenario, plain(record.entry), record.case, record.tier, settings(record), jdk)
            cells.setdefault(key, {})[record.round] = observed
    compared = compare(run.plan.entries, records, reference, run.plan.guests)
    return Archive(
        id=run.id,
        folder=folder,
        started_at=run.started_at,
        commit=run.commit,
        jdk=run.plan.condition.jdk,
        machine=MachineFacts.of(run.host, run.plan.condition.cores),
        protocol=run.protocol,
        cells=cells,
        bands=compared.bands,
        priors=compared.priors,
        window_s=run.plan.profile.get("window_s", 0.0),
    )


def of_programs(run: Mapping[str, Any], records: Iterable[Mapping[str, Any]], folder: str) -> Archive:
    """Read a run of programs that are no servers, from its files as JSON: databases, the bare JVM."""
    records = list(records)
    cells: dict[Key, dict[int, Observation]] = {}
    for line, record in enumerate(records, start=1):
        if record.get("cell", {}).get("again"):  # again: A/A of a database
            continue
        scenario, program, case, tier, settings = _program(record)
        number, failure = record.get("round", 1), at(record, "failure.message")
        groups, turns = _of_fork(record) if record["kind"] == "jdbc" else ({}, {})
        seen = Observation(line, number, record, entry=program, failure=failure, groups=groups, turns=turns)
        for jdk in _jdks(run["jdk"]):
            cells.setdefault((scenario, program, case, tier, settings, jdk), {})[number] = seen
    return Archive(
        id=run["id"],
        folder=folder,
        started_at=run["started_at"],
        commit=run["commit"],
        jdk=run["jdk"],
        machine=MachineFacts.of(HostFacts.model_validate(run["host"])),
        protocol=run["protocol"],
        cells=cells,
        priors=_priors(records),
        window_s=_window_s(run) if run["kind"] == "jdbc" else 0.0,
    )


def _of_fork(record: JsonRecord) -> tuple[dict[Metric, Hashable], dict[Metric, Sequence[float]]]:
    """Return the group and the turns of a fork of JMH, by metric."""
    group = databases.group_of(Cell.model_validate(record["cell"]))
    return dict.fromkeys(databases.FIELDS, group), {databases.OPS: at(record, "measurement.iterations") or ()}


def _priors(records: Iterable[JsonRecord]) -> dict[PriorKey, Prior]:
    """Return the priors of a database run by the case that the ledger calls a cell."""
    known = [CellRecord.model_validate(record) for record in records if record["kind"] == "jdbc"]
    priors = databases.compare(known).priors
    return {
        (asked("jdbc", jdbc_case(cell)), metric): priors[cell.question, metric]
        for cell in rows(known)
        for metric in databases.FIELDS
        if (cell.question, metric) in priors
    }


def _window_s(run: Mapping[str, Any]) -> float:
    """Return how long a fork of JMH measures after its warm-up."""
    profile = Profile.model_validate(run["plan"]["profile"])
    return profile.iterations * profile.iteration_s


def settings(record: Record) -> str:
    """What differs from the servers' own settings, in the words of `canonical`."""
    condition, name = record.condition, name_of(record.entry)
    changes = [f"{key}={value}" for key, value in sorted(condition.env.items())]
    if condition.jvm_flags:
        changes.append(f"flags={','.join(condition.jvm_flags)}")
    # a guest's memory is that of the machine, no limit of the server
    limits = {} if condition.runtime == "vm" else {"cpus": condition.cpus, "memory": condition.memory}
    changes += [f"{key}={value}" for key, value in limits.items() if value is not None]
    return " ".join([*changes, name] if name.startswith("runtime=") else changes)


def _jdks(jdk: str | None, *, varied: bool = False) -> list[str]:
    """Return how a claim may name a record's JDK: by its number, if it has one; the run's own may be left out."""
    return [*([] if varied else [""]), *([str(major_of(jdk))] if jdk else [])]


def canonical(vary: str) -> str:
    """Return the same words for the same settings: `heap=50m` is `flags=-Xmx50m`."""
    key, _, value = vary.partition("=")
    return f"flags=-Xmx{value}" if key == "heap" else vary


def jdbc_case(cell: Cell) -> str:
    """Name a cell as the ledger does, whatever its executor: `postgresql find-by-code 10/100 none`."""
    form = "" if cell.form == "standing" else f" {cell.form}"
    return f"{cell.database} {cell.query}{form} {cell.connections} {cell.latency}"


def _program(record: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """Return a cell's key without the JDK, which is the run's."""
    if record["kind"] == "jdbc":
        cell = Cell.model_validate(record["cell"])
        return ("jdbc", cell.executor, jdbc_case(cell), "", "")
    if record["kind"] == "jdbc-flood":
        flood = record["flood"]
        return ("jdbc-flood", flood["executor"], flood["database"], f"{flood['tasks'] // 1000}k", "")
    return ("jvm", "java-hello", record["case"], "", "")


def _observed(record: Record, data: JsonRecord, line: int) -> Observation:
    part = data.get("measurement") or data.get("trial") or {}
    connections = part.get("connections") or {}
    actual, limited_by = connections.get("actual"), connections.get("limited_by")
    flags = set(part.get("flags", []))
    loaded_s = at(data, "measurement.load.duration_s") or at(data, "trial.result.duration_s")
    return Observation(
        line=line,
        round=record.round,
        data=data,
        entry=record.entry,
        emulated=record.condition.emulated,
        loaded_s=loaded_s,
        window_s=(loaded_s or 0.0) / max(1, len(part.get("windows") or [])),
        actual=actual,
        cut=f"ran at {actual:,} connections instead of {record.tier} ({limited_by})" if limited_by else None,
        limits=frozenset(flag for flag in LOWER_BOUND if flag in flags),
        failure=record.failure.text if record.failure else None,
        objections=_objections(record, flags),
        groups={metric: group_of(metric, record.asked, record.tier) for metric in METRICS},
        turns={m: of_turns(m, record.measurement) for m in METRICS} if record.measurement else {},
    )


def _objections(record: Record, flags: set[str]) -> dict[Class, str]:
    """Return the objection to each kind of quantity.

    A fault of the load spoils all kinds, but a rate that was made too late leaves memory.
    """
    result = record.trial.result if record.trial else None
    if isinstance(result, OpenResult) and result.behind:
        return {kind: result.behind for kind in Class if kind is not Class.MEMORY or not rate_made(result)}
    if record.measurement is None:
        return {}
    bad = SPOILT & flags
    if bad:
        return dict.fromkeys(Class, f"{record.entry}: {Flag(min(bad)).text}")
    found = {metric.kind: spoiled(metric, record.entry, [record.measurement]) for metric in METRICS}
    return {kind: why for kind, why in found.items() if why}
