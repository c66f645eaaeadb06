"""The table of everything generated in documents (parts between markers, and whole files), and how it is refreshed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from zoo.core import run as jvm_run
from zoo.core.errors import UserError
from zoo.core.manifest import Catalog
from zoo.core.run import schema
from zoo.reference import claims_page, conclusions, findings, percentiles, readmes
from zoo.reference.conclusions import CONCLUSIONS
from zoo.reference.runs import FINDINGS, Reference, StoredRun
from zoo.report import answer
from zoo.report.section import mark_synthetic
from zoo.scenarios.jdbc import view as databases
from zoo.stats.pairs import Kind

SCHEMAS = {"records": schema, "jvm": jvm_run.jvm_schema, "answer": answer.schema}
"""The functions that create the schemas of stored data, by the names of the schema files in docs/."""


class DocumentError(UserError):
    """A document without the markers of its generated part."""


RenderPart = Callable[[Sequence[StoredRun], Catalog], str]


@dataclass(frozen=True)
class Part:
    """A generated part of a document.

    `runs` are names in the table of committed runs; a name that ends in `*` stands for all that begin that way. The
    part is generated only if the first run is committed; of the others it quotes those that are. A part that renders as
    an empty text is not generated.
    """

    document: str
    marker: str
    runs: Sequence[str]
    render: RenderPart


ZOO = "bench-all"
"""The name of the run of the whole zoo."""

MODELS = "models"
"""The name of the run of every variant, also of those that are measured only on request."""


ANSWERED = ("java-liberty", "java-spring", "java-tomcat", "java-vertx")
"""Servers whose answer is committed."""

BEHIND_ANSWERS = ("scenarios/*", "claims/jdbc*")
"""The runs that measured what an answer quotes of the reference machine."""

EXPERIMENTS = (
    "scenarios/*",
    "answers/java-tomcat/pools",
    "java-liberty/cpu",
    "java-liberty/load",
    "java-liberty/ramp",
)
"""The runs in the tables by scenario."""


def _answer_part(server: str, blocks: slice = slice(None)) -> tuple[Sequence[str], RenderPart]:
    """Return the runs of a part with a server's answer, and the function that renders it."""
    return (f"answers/{server}/*", *BEHIND_ANSWERS), partial(readmes.render_answer, server=server, blocks=blocks)


EXPLAINED = ("java-helidon", "java-webflux", "java-liberty", "java-spring", "java-tomcat", "java-vertx", "rust-axum")
"""Servers whose README has the paragraphs of explanations."""


def document_parts(catalog: Catalog) -> Iterator[Part]:
    """Yield all parts, including those of each server's README."""
    yield Part("README.md", "entries", (), readmes.render_entries)
    yield Part("README.md", "switch", (ZOO, "answers/*", "scenarios/*", "claims/*"), readmes.render_answers)
    yield Part("README.md", "answer", *_answer_part("java-spring", slice(2)))
    yield Part("docs/tutorial.md", "answer", *_answer_part("java-spring"))
    for name in ANSWERED:
        yield Part("docs/explanation/answers.md", name, *_answer_part(name))
    for server in catalog.servers:
        on_request = all(variant.on_request for variant in server.manifest.variants)
        whole, page = (MODELS, "") if on_request else (ZOO, f"/{readmes.REPORT}")
        render = partial(readmes.render_server_results, server=server.name, page=page)
        yield Part(f"{server.name}/README.md", "results", (whole, "scenarios/*"), render)
    for name in EXPLAINED:
        yield Part(f"{name}/README.md", "explain", (f"explain/{name}*",), readmes.render_explanations)
    last_lines = partial(readmes.render_last_lines, server="java-vertx")
    yield Part("java-vertx/README.md", "schedulers", ("schedulers",), last_lines)
    yield Part("java-jdbc/README.md", "results", ("claims/jdbc",), readmes.render_database_results)
    yield Part("docs/guides/databases.md", "profiles", (), lambda *_: databases.profiles())
    yield Part("docs/reference/results.md", "flags", (), findings.render_flags)
    for one in CONCLUSIONS:
        yield Part(FINDINGS, one.marker, one.runs, partial(conclusions.render, conclusion=one))
    yield Part("docs/reference/measurements.md", "results", (ZOO,), readmes.render_results)
    yield Part("docs/reference/measurements.md", "models", (MODELS,), readmes.render_models)
    yield Part("docs/reference/measurements.md", "allocators", ("allocators",), findings.render_allocators)
    yield Part("docs/reference/measurements.md", "conditions", ("conditions/*",), findings.render_conditions)
    yield Part("docs/reference/measurements.md", "tier", ("vm-25k*",), findings.render_highest_tier)
    yield Part("docs/reference/measurements.md", "experiments", EXPERIMENTS, findings.render_experiments)
    yield Part("docs/explanation/liberty.md", "study", ("java-liberty/*",), findings.render_study)
    runtimes = partial(findings.render_pairs, engine=True)
    yield Part("docs/guides/containers.md", "cost", ("container-cost",), runtimes)
    yield Part("docs/guides/swarm.md", "swarm", ("swarm-one-node",), runtimes)
    yield Part("docs/guides/swarm.md", "swarm-no-nat", ("swarm-one-node-no-nat",), runtimes)
    yield Part("docs/guides/swarm.md", "million", ("scenarios/*",), findings.render_million)
    yield Part("docs/explanation/certainty.md", "aa", ("aa", ZOO), findings.render_aa)
    yield Part("docs/explanation/certainty.md", "noise", (ZOO,), findings.render_noise)
    yield Part("docs/explanation/certainty.md", "power", ("aa",), findings.render_power)
    yield Part(
        "docs/explanation/certainty.md", "slowdown", ("slowdown",), partial(findings.render_pairs, kind=Kind.VARIANT)
    )
    yield Part("docs/explanation/method.md", "designs", ("designs/*",), findings.render_designs)
    yield Part("docs/explanation/method.md", "cores-split", ("cores-split",), findings.render_pairs)
    yield Part("docs/explanation/method.md", "agreement", ("vm-10k-process", "vm-10k-guest"), findings.render_agreement)
    yield Part("docs/explanation/method.md", "percentiles", ("wrk-percentiles.json.gz",), percentiles.render)
    yield Part("CHANGELOG.md", "builds", ("builds/*",), findings.render_builds)
    yield Part("docs/contributing/tests.md", "soak", ("soak.json",), findings.render_soak)


FILES = (
    ((ZOO,), readmes.render_files),
    (("answers/*", *BEHIND_ANSWERS), readmes.render_answer_files),
    (EXPERIMENTS, findings.render_experiment_charts),
    (("vm-25k*",), findings.render_highest_tier_reports),
    (tuple(one.drawn_run for one in CONCLUSIONS if one.chart), conclusions.render_charts),
)
"""Groups of files that are generated as a whole: the runs they quote, as in `Part`, and the function that renders them.

The function returns the text of each file by its path.
"""


def find_runs(runs: Sequence[str], reference: Reference) -> list[StoredRun] | None:
    """Return the committed runs of these names; None if the first is not committed, so nothing can be generated."""
    groups = [reference.matching(name) for name in runs]
    return None if groups and not groups[0] else [run for group in groups for run in group]


def refresh_documents(root: Path, catalog: Catalog, *, write: bool) -> list[Path]:
    """Return the files that are stale or no longer needed; with `write`, rewrite or remove them."""
    expected = _expected_files(root, catalog)
    stale = [p for p, text in expected.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    stale += [p for p in sorted((root / "docs/charts").glob("*.svg")) if p not in expected]
    for path in stale if write else ():
        if path in expected:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(expected[path], encoding="utf-8")
        else:
            path.unlink()
    return stale


def _expected_files(root: Path, catalog: Catalog) -> dict[Path, str]:
    """Return the text that each generated file, and each file with generated parts, should have."""
    reference = Reference(root, catalog)
    expected = {
        root / f"docs/{name}.schema.json": json.dumps(make(), indent=2, sort_keys=True) + "\n"
        for name, make in SCHEMAS.items()
    }
    expected |= claims_page.render_files(root, catalog, reference.folders)
    for names, render in FILES:
        if (runs := find_runs(names, reference)) is not None:
            expected |= {root / path: text for path, text in render(runs, catalog).items()}
    for part in document_parts(catalog):
        path, runs = root / part.document, find_runs(part.runs, reference)
        if runs is not None and path.exists() and (text := part.render(runs, catalog)):
            document = expected.get(path) or path.read_text(encoding="utf-8")
            expected[path] = _fill_part(
                path, document, part.marker, _make_links_relative(_mark_synthetic_entries(text, catalog), part.document)
            )
    return expected


def _mark_synthetic_entries(text: str, catalog: Catalog) -> str:
    """Mark synthetic entries in the text's tables."""
    lines = (mark_synthetic(line, catalog.synthetic) if line.startswith("|") else line for line in text.split("\n"))
    return "\n".join(lines)


def _make_links_relative(text: str, document: str) -> str:
    """Turn links that start at the root of the repository into links that start at the document's folder."""
    return re.sub(r"\]\((?![a-z]+:|#)", "](" + "../" * document.count("/"), text)


def _fill_part(path: Path, document: str, name: str, text: str) -> str:
    """Replace the text between `<!-- generated: NAME -->` and `<!-- end -->`.

    Raise `DocumentError` unless the document has these markers exactly once.
    """
    found = re.findall(rf"<!-- generated: {name} -->\n.*?<!-- end -->", document, flags=re.DOTALL)
    if len(found) != 1:
        raise DocumentError(
            f"{path}: expected the markers of the generated part {name!r} once, found them {len(found)} times"
        )
    return document.replace(found[0], f"<!-- generated: {name} -->\n{text}\n<!-- end -->")
