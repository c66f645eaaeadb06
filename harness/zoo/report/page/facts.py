"""What a run was, where, and what its servers said of themselves, as names and values. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoo.model.run import Run
from zoo.plan import blocks
from zoo.report.cells import Cells, variant
from zoo.report.charts.looks import KINDS
from zoo.report.formatting import format_memory


def host(run: Run) -> str:
    """The machine in one line."""
    host = run.host
    return " · ".join(
        [
            host.cpu_model or "unknown CPU",
            run.cores,
            format_memory(host.memory_kb),
            host.virtualization or "no virtualisation seen",
            host.distribution or host.system,
            f"kernel {host.kernel}",
            f"JDK {run.plan.condition.jdk or 'none'}",
            f"wrk {host.tools.wrk or 'none'}",
        ]
    )


def of_run(run: Run) -> dict[str, Mapping[str, Any]]:
    """Name and value, by heading: what the run was and where."""
    host = run.host.model_dump()
    limits, tools, jdk, engine = host.pop("limits"), host.pop("tools"), host.pop("jdk"), host.pop("engine")
    if limits["server_host"] is None:
        for name in ("generators", "server_host", "ports_host"):
            del limits[name]
    host["jdk"] = " ".join(str(v) for v in jdk.values()) if jdk else None
    host["jdks"] = ", ".join(f"{j['name']} {j['version']}" for j in host["jdks"])
    limits |= {f"cgroup {name}": value for name, value in limits.pop("cgroup").items()}
    condition = run.plan.condition.model_dump()
    condition["jvm_flags"] = " ".join(condition["jvm_flags"]) or None
    condition["cores"] = str(run.plan.condition.cores or "shared by server and generator")
    condition["env"] = ", ".join(f"{name}={value}" for name, value in condition["env"].items()) or None
    times = {"started": run.started_at, "finished": run.finished_at, "commit": run.commit, "changed": run.dirty}
    own = {
        "Run": times | {"harness": run.harness, "protocol": run.protocol, "order seed": run.plan.seed},
        "Condition": condition,
        "Profile, seconds and counts": run.plan.profile,
        "Host": host,
        "Limits": limits,
        "Tools": tools,
    }
    return own | ({"Container engine": engine} if engine else {})


def of_servers(cells: Cells) -> list[tuple[str, dict[str, Any]]]:
    """What each entry said of itself when it was probed."""
    made = []
    for entry in cells.entries:
        seen = next((m for key, cell in cells.found.items() if key[0] == entry for m in cell.seen.values()), None)
        facts = seen.server if seen is not None else None
        if facts is not None:
            made.append(
                (
                    entry,
                    {
                        "framework": f"{facts.framework} {facts.framework_version}",
                        "runtime": f"{facts.runtime} {facts.runtime_version}",
                        "GC": ", ".join(facts.gc) or None,
                        "thread of the handler": facts.thread,
                        "virtual": facts.virtual,
                        "ready after s": None if facts.ready_s is None else round(facts.ready_s, 2),
                        **facts.limits,
                    },
                )
            )
    return made


def orders(run: Run) -> list[tuple[int, list[str]]]:
    """What each round measures, in its order; entries that are alive at once stand together."""
    rounds: dict[int, list[str]] = {}
    for block in blocks.blocks_of(run.plan):
        rounds.setdefault(block.round, []).append(f"{' with '.join(block.entries)} {block.asked}")
    return list(rounds.items())


def variants(cells: Cells) -> Iterator[tuple[str, str, str, str]]:
    """Kind, colour, shape and the variants of it, for the legend."""
    for kind, (hue, shape) in KINDS.items():
        names = [entry for entry in cells.entries if cells.kinds[entry] == kind]
        if names:
            yield kind, hue, shape, ", ".join(sorted({variant(n) for n in names}))
