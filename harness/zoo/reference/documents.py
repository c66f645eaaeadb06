"""The table of everything that is generated in documents, and its refresh: parts between markers, and whole files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from zoo.analysis.pairs import Kind
from zoo.catalog.manifest import Catalog
from zoo.jdbc import records as jdbc
from zoo.model import run as jvm_run
from zoo.model.errors import UserError
from zoo.model.run import schema
from zoo.reference import claims_page, findings, percentiles, readmes
from zoo.reference.runs import Committed, Reference
from zoo.report.jdbc import text as databases

SCHEMAS = {"records": schema, "jdbc": jdbc.schema, "jvm": jvm_run.jvm_schema}
"""The functions that make the schemas of stored data, by the name of their file in docs/."""


class DocumentError(UserError):
    """A document without the markers of its generated part."""


@dataclass(frozen=True)
class Part:
    """A generated part of a document.

    `runs` are names in the table of committed runs; one that ends in `*` stands for all that begin like that. The part
    is generated once the first of them is committed; the others are quoted as far as they are committed. What renders
    as an empty text is not generated.
    """

    document: str
    marker: str
    runs: Sequence[str]
    render: Callable[[Sequence[Committed], Catalog], str]


ZOO = "bench-all"
"""The run of the whole zoo."""


def parts(catalog: Catalog) -> Iterator[Part]:
    """Yield all parts, those of each server's README included."""
    yield Part("README.md", "entries", (), readmes.entries)
    yield Part("README.md", "results", (ZOO,), readmes.results)
    yield Part("README.md", "switch", (ZOO, "scenarios/*", "claims/*", "jdbc*"), readmes.answers)
    yield Part("README.md", "output", (ZOO,), readmes.output)
    for server in catalog.servers:
        render = partial(readmes.server_results, server=server.name)
        yield Part(f"{server.name}/README.md", "results", (ZOO, "scenarios/*"), render)
    last_lines = partial(readmes.last_lines, server="java-vertx")
    yield Part("java-vertx/README.md", "schedulers", ("schedulers",), last_lines)
    yield Part("java-jdbc/README.md", "results", ("jdbc",), readmes.database_results)
    yield Part("java-jdbc/README.md", "article", ("jdbc-article",), readmes.database_results)
    yield Part("docs/jdbc.md", "profiles", (), lambda *_: databases.profiles())
    yield Part("docs/findings.md", "allocators", ("allocators",), findings.allocators)
    yield Part("docs/findings.md", "tier", ("vm-25k*",), findings.highest_tier)
    yield Part("docs/findings.md", "experiments", ("scenarios/*",), findings.experiments)
    yield Part("docs/liberty.md", "study", ("java-liberty/*",), findings.study)
    runtimes = partial(findings.pairs, engine=True)
    yield Part("docs/containers.md", "cost", ("container-cost",), runtimes)
    yield Part("docs/scale-out.md", "swarm", ("swarm-one-node",), runtimes)
    yield Part("docs/scale-out.md", "swarm-no-nat", ("swarm-one-node-no-nat",), runtimes)
    yield Part("docs/scale-out.md", "million", ("scenarios/*",), findings.million)
    yield Part("docs/method.md", "aa", ("aa", ZOO), findings.aa)
    yield Part("docs/method.md", "power", ("aa",), findings.power)
    yield Part("docs/method.md", "slowdown", ("slowdown",), partial(findings.pairs, kind=Kind.VARIANT))
    yield Part("docs/method.md", "designs", ("designs/*",), findings.designs)
    yield Part("docs/method.md", "first-turns", ("first-turns/before", "first-turns/after"), findings.first_turns)
    yield Part("docs/method.md", "cores-split", ("cores-split",), findings.pairs)
    yield Part("docs/method.md", "agreement", ("vm-10k-process", "vm-10k-guest"), findings.agreement)
    yield Part("docs/method.md", "percentiles", ("wrk-percentiles.json.gz",), percentiles.render)
    yield Part("docs/reliability.md", "soak", ("soak.json",), findings.soak)


FILES = (((ZOO,), readmes.files), (("vm-25k*",), findings.highest_tier_reports))
"""Files that are generated as a whole: the runs they quote, as of a part, and what renders them by path."""


def quoted(runs: Sequence[str], reference: Reference) -> list[Committed] | None:
    """Return the committed runs of these names; None if the first is not committed, so that nothing is generated."""
    groups = [reference.matching(name) for name in runs]
    return None if groups and not groups[0] else [run for group in groups for run in group]


def refresh(root: Path, catalog: Catalog, *, write: bool) -> list[Path]:
    """Return the files that are stale or no longer wanted; with `write`, rewrite or remove them."""
    wanted = _wanted(root, catalog)
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    stale += [p for p in sorted((root / "docs/charts").glob("*.svg")) if p not in wanted]
    for path in stale if write else ():
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return stale


def _wanted(root: Path, catalog: Catalog) -> dict[Path, str]:
    """Return the content that generated files, and files with generated parts, should have."""
    reference = Reference(root, catalog)
    wanted = {
        root / f"docs/{name}.schema.json": json.dumps(make(), indent=2, sort_keys=True) + "\n"
        for name, make in SCHEMAS.items()
    }
    wanted |= claims_page.files(root, catalog, reference.folders)
    for names, render in FILES:
        if (runs := quoted(names, reference)) is not None:
            wanted |= {root / path: text for path, text in render(runs, catalog).items()}
    for part in parts(catalog):
        path, runs = root / part.document, quoted(part.runs, reference)
        if runs is not None and path.exists() and (text := part.render(runs, catalog)):
            wanted[path] = _filled(path, wanted.get(path) or path.read_text(encoding="utf-8"), part.marker, text)
    return wanted


def _filled(path: Path, document: str, name: str, text: str) -> str:
    """Fill `<!-- generated: NAME -->` … `<!-- end -->`; a part without its markers is an error of the document."""
    found = re.findall(rf"<!-- generated: {name} -->\n.*?<!-- end -->", document, flags=re.DOTALL)
    if len(found) != 1:
        raise DocumentError(
            f"{path}: expected the markers of the generated part {name!r} once, found them {len(found)} times"
        )
    return document.replace(found[0], f"<!-- generated: {name} -->\n{text}\n<!-- end -->")
