"""Runs in the form that the ledger reads: an observation per cell and round, for any kind of run. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zoo.claims.ledger import ClaimPoint, load_name
from zoo.claims.quantities import SPOILT, JsonRecord, value_at
from zoo.core.entry_id import base_id, condition_name, is_aa
from zoo.core.flag import Flag
from zoo.core.host_facts import Cores, HostFacts, feature_release
from zoo.core.jdbc import JDBC, Flood, JdbcCell, record_subject
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import OpenResult
from zoo.stats import Prior, databases
from zoo.stats.lower_bound import LOWER_BOUND
from zoo.stats.memory_per_request import slopes
from zoo.stats.metrics import METRICS, Metric, MetricKind, group_of, window_values
from zoo.stats.pairs import Band, BandKey, PriorKey, compare
from zoo.stats.trials import generator_kept_rate
from zoo.stats.verdict import find_defect

JVM_PROGRAM = "java-hello"

Key = tuple[str, str, str, str, str, str]
"""Scenario, entry, case, connection count, changed settings of the servers, and the JDK: "" for the run's own."""


@dataclass(frozen=True)
class MachineFacts:
    """The facts that runs must share to be compared, and that a reader compares with the published machine."""

    processor: str
    cores: float | None
    memory_gb: float | None
    kernel: str
    descriptors: int | None
    cores_split: str = ""
    unknown: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Return the facts that identify a machine. The kernel is not one of them, because it is updated."""
        return self.processor, self.cores, self.cores_split

    @classmethod
    def of(cls, host: HostFacts, cores: Cores | None = None) -> MachineFacts:
        return cls(
            processor=host.cpu_model or "unknown processor",
            cores=host.cores_usable,
            memory_gb=host.memory_kb / 1048576 if host.memory_kb else None,
            kernel=host.kernel,
            descriptors=host.limits.nofile_hard,
            cores_split=str(cores) if cores else "",
            unknown=host.unknown_machine,
        )


@dataclass(frozen=True)
class Observation:
    """The data of one record.

    `window_s` is the time that the server was loaded without a pause, out of `loaded_s`. `limits` are flags that make
    speed a lower bound. `objections` are reasons why a kind of quantity cannot be read from the record. `groups` has a
    value per metric, which is the same for cells that are expected to vary equally. `window_figures` has the figures of
    each window per metric; empty if a window does not have it.
    """

    line: int
    round: int
    data: JsonRecord
    entry: str = ""
    emulated: bool = False
    loaded_s: float | None = None
    window_s: float = 0.0
    actual: int | None = None
    reduction: str | None = None
    limits: frozenset[Flag] = frozenset()
    failure: str | None = None
    objections: Mapping[MetricKind, str] = field(default_factory=dict)
    groups: Mapping[Metric, Hashable] = field(default_factory=dict)
    window_figures: Mapping[Metric, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Archive:
    """The observations and facts of one run.

    `cells` have the last observation of each round. `bands` come from A/A pairs, `priors` from all pairs. `window_s` is
    the time for which the run's profile measures a cell in a round; a scenario may have its own times. `records` is the
    name of the file of records. `program` names what was measured, if it is not a server. `outdated` has the servers
    and programs whose sources have changed since they were measured.
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
    outdated: frozenset[str] = frozenset()

    def prior(self, point: ClaimPoint, metric: Metric | None) -> Prior:
        """Return the prior from the run's pairs for a ratio of this point; an empty prior without such pairs."""
        return self.priors.get((point.load, metric), Prior()) if metric else Prior()

    def observations(self, point: ClaimPoint) -> list[Mapping[int, Observation]] | None:
        """Return the observations of each connection count by round; None if the run lacks one, or was too short."""
        settings = canonical_setting(point.vary)
        keys = [(point.scenario, point.entry, point.case, tier, settings, point.jdk) for tier in point.tiers]
        found = [self.cells[key] for key in keys if key in self.cells]
        short = any(
            (seen.loaded_s or 0) < (point.duration or 0) or seen.window_s < (point.window or 0)
            for tier in found
            for seen in tier.values()
        )
        return None if short or len(found) < len(keys) else found


def archive_of_servers(run: Run, records: Sequence[Record], folder: str, reference: str | None = None) -> Archive:
    fits = slopes(records)
    cells: dict[Key, dict[int, Observation]] = {}
    for line, record in enumerate(records, start=1):
        if is_aa(record.entry):
            continue
        data = record.model_dump(mode="json")
        fit = fits.get((record.entry, record.workload), {}).get(record.round)
        data["per_connection"] = {"rss": None if fit is None else fit.kb}
        observed = _observe(record, data, line)
        for jdk in _jdk_names(record.condition.jdk, is_varied=condition_name(record.entry).startswith("jdk=")):
            key = (record.scenario, base_id(record.entry), record.case, record.tier, format_settings(record), jdk)
            cells.setdefault(key, {})[record.round] = observed
    compared = compare(run.plan.entries, records, reference, run.plan.guests)
    window_s = run.plan.profile.get("window_s", 0.0)
    return replace(_make_archive(run, folder, cells, compared.priors, window_s), bands=compared.bands)


def archive_of_databases(run: Run, records: Sequence[Record], folder: str) -> Archive:
    """Convert a database run; its entries are executors."""
    cells: dict[Key, dict[int, Observation]] = {}
    priors: dict[PriorKey, Prior] = {}
    found = databases.compare(records).priors
    for line, record in enumerate(records, start=1):
        if is_aa(record.entry):
            continue
        of = record_subject(record)
        scenario, executor, case, tier = _database_key(of)
        question = of.query_label if isinstance(of, JdbcCell) else ""
        priors |= {
            (load_name(scenario, case), m): found[question, m] for m in databases.FIELDS if (question, m) in found
        }
        seen = _observe_database(record, of, line)
        for jdk in _jdk_names(run.plan.condition.jdk):
            cells.setdefault((scenario, executor, case, tier, "", jdk), {})[record.round] = seen
    program = run.plan.programs.get(JDBC)
    return _make_archive(run, folder, cells, priors, program.duration_s if program else 0.0)


def _make_archive(
    run: Run, folder: str, cells: dict[Key, dict[int, Observation]], priors: dict[PriorKey, Prior], window_s: float
) -> Archive:
    return Archive(
        id=run.id,
        folder=folder,
        started_at=run.started_at,
        commit=run.commit,
        jdk=run.plan.condition.jdk,
        machine=MachineFacts.of(run.host, run.plan.condition.cores),
        protocol=run.protocol,
        cells=cells,
        priors=priors,
        window_s=window_s,
    )


def _observe_database(record: Record, subject_cell: JdbcCell | Flood, line: int) -> Observation:
    """Return the observation of a JMH fork, whose iterations are windows, or of a flood."""
    data = record.model_dump(mode="json")
    return Observation(
        line=line,
        round=record.round,
        data=data,
        entry=subject_cell.executor,
        failure=record.failure.message if record.failure else None,
        groups=dict.fromkeys(databases.FIELDS, databases.group_of(subject_cell))
        if isinstance(subject_cell, JdbcCell)
        else {},
        window_figures={databases.OPS: value_at(data, "trial.result.iterations") or ()},
    )


def archive_of_programs(run: Mapping[str, Any], records: Iterable[Mapping[str, Any]], folder: str) -> Archive:
    """Convert a run of programs that are not servers (the bare JVM), from its files as JSON."""
    cells: dict[Key, dict[int, Observation]] = {}
    for line, record in enumerate(records, start=1):
        number, failure = record.get("round", 1), value_at(record, "failure.message")
        seen = Observation(line, number, record, entry=JVM_PROGRAM, failure=failure)
        for jdk in _jdk_names(run["jdk"]):
            cells.setdefault(("jvm", JVM_PROGRAM, record["case"], "", "", jdk), {})[number] = seen
    return Archive(
        id=run["id"],
        folder=folder,
        started_at=run["started_at"],
        commit=run["commit"],
        jdk=run["jdk"],
        machine=MachineFacts.of(HostFacts.model_validate(run["host"])),
        protocol=run["protocol"],
        cells=cells,
    )


def format_settings(record: Record) -> str:
    """Return the deviations from the servers' own settings, in the words of `canonical_setting`."""
    condition, name = record.condition, condition_name(record.entry)
    changes = [f"{key}={value}" for key, value in sorted(condition.env.items())]
    if condition.jvm_flags:
        changes.append(f"flags={','.join(condition.jvm_flags)}")
    # The memory of a virtual machine belongs to the machine; it does not limit the server.
    limits = {} if condition.runtime == "vm" else {"cpus": condition.cpus, "memory": condition.memory}
    changes += [f"{key}={value}" for key, value in limits.items() if value is not None]
    return " ".join([*changes, name] if name.startswith("runtime=") else changes)


def _jdk_names(jdk: str | None, *, is_varied: bool = False) -> list[str]:
    """Return the names that a claim may use for a record's JDK: its number, if known, and "" for the run's own."""
    return [*([] if is_varied else [""]), *([str(feature_release(jdk))] if jdk else [])]


def canonical_setting(vary: str) -> str:
    """Return the same words for the same settings: `heap=50m` becomes `flags=-Xmx50m`."""
    key, _, value = vary.partition("=")
    return f"flags=-Xmx{value}" if key == "heap" else vary


def _database_key(cell: JdbcCell | Flood) -> tuple[str, str, str, str]:
    """Return the scenario, entry, case and tier under which the ledger lists it."""
    if isinstance(cell, Flood):
        return cell.scenario, cell.executor, cell.case, cell.tier
    return cell.scenario, cell.executor, jdbc_case(cell), ""


def jdbc_case(cell: JdbcCell) -> str:
    """Return a cell's name in the ledger, for any executor: `postgresql find-by-code 10/100 none`."""
    form = "" if cell.form == "standing" else f" {cell.form}"
    return f"{cell.database} {cell.query}{form} {cell.connections} {cell.latency}"


def _observe(record: Record, data: JsonRecord, line: int) -> Observation:
    part = data.get("measurement") or data.get("trial") or {}
    connections = part.get("connections") or {}
    actual, limited_by = connections.get("actual"), connections.get("limited_by")
    flags = set(part.get("flags", []))
    loaded_s = value_at(data, "measurement.load.duration_s") or value_at(data, "trial.result.duration_s")
    return Observation(
        line=line,
        round=record.round,
        data=data,
        entry=record.entry,
        emulated=record.condition.emulated,
        loaded_s=loaded_s,
        window_s=(loaded_s or 0.0) / max(1, len(part.get("windows") or [])),
        actual=actual,
        reduction=f"ran at {actual:,} connections instead of {record.tier} ({limited_by})" if limited_by else None,
        limits=frozenset(flag for flag in LOWER_BOUND if flag in flags),
        failure=record.failure.text if record.failure else None,
        objections=_find_objections(record, flags),
        groups={metric: group_of(metric, record.workload, record.tier) for metric in METRICS},
        window_figures={m: window_values(m, record.measurement) for m in METRICS} if record.measurement else {},
    )


def _find_objections(record: Record, flags: set[str]) -> dict[MetricKind, str]:
    """Return the objection to each kind of quantity.

    A fault of the load spoils all kinds, but memory remains usable if the rate was only reached too late.
    """
    result = record.trial.result if record.trial else None
    if isinstance(result, OpenResult) and result.behind:
        return {
            kind: result.behind
            for kind in MetricKind
            if kind is not MetricKind.MEMORY or not generator_kept_rate(result)
        }
    if record.measurement is None:
        return {}
    spoiling = SPOILT & flags
    if spoiling:
        return dict.fromkeys(MetricKind, f"{record.entry}: {Flag(min(spoiling)).text}")
    reasons = {metric.kind: find_defect(metric, record.entry, [record.measurement]) for metric in METRICS}
    return {kind: reason for kind, reason in reasons.items() if reason}
