"""Conversion of database runs that an earlier version stored in its own format. Pure."""

from __future__ import annotations

from typing import Any

from zoo.core.condition import Condition
from zoo.core.data import check_protocol
from zoo.core.jdbc import JDBC, MODELS, PROTOCOL, Flood, JdbcCell, plan_facts

RUN_KIND, FLOOD_KIND = "jdbc", "jdbc-flood"


def convert_run(data: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return `run.json` in the current format."""
    if not _is_earlier(data):
        return data
    plan, profile = data["plan"], data["plan"]["profile"]
    cells, floods = map(JdbcCell.model_validate, plan["cells"]), map(Flood.model_validate, plan["floods"])
    facts = plan_facts(
        [*cells, *floods],
        times={name: profile[name] for name in ("warmups", "warmup_s", "iterations", "iteration_s")},
        rounds=profile["rounds"],
        seed=plan["seed"],
        condition=Condition(runtime=plan["runtime"], jdk=data["jdk"]),
    )
    return {name: value for name, value in data.items() if name not in ("kind", "jdk")} | {"plan": facts}


def convert_record(data: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return a line of `records.ndjson` in the current format; the run holds the condition."""
    if not _is_earlier(data):
        return data
    kind = data["kind"]
    of = JdbcCell.model_validate(data["cell"]) if kind == JDBC else Flood.model_validate(data["flood"])
    result = data.get("measurement" if kind == JDBC else "result")
    return {
        "protocol": data["protocol"],
        "entry": of.entry,
        "model": MODELS[of.executor],
        "scenario": of.scenario,
        "case": of.case,
        "tier": of.tier,
        "condition": {},
        "round": data.get("round", 1),
        "position": data.get("position", 0),
        "started_at": data["started_at"],
        "trial": result and {"result": {"kind": kind, **result}},
        "failure": data.get("failure"),
    }


def _is_earlier(data: object) -> bool:
    if not isinstance(data, dict) or data.get("kind") not in (RUN_KIND, FLOOD_KIND):
        return False
    check_protocol(data.get("protocol"), PROTOCOL)
    return True
