"""A zoo with one server: the contract suite's fake server, as a folder with a manifest."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from zoo.bench import session as benches
from zoo.bench.display import Display
from zoo.cli.checkout import ROOT
from zoo.core import plan as request
from zoo.core.condition import Condition
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.plan import BenchOptions
from zoo.core.record import Record
from zoo.core.run_folder import Store
from zoo.host import facts

SOURCES = (ROOT / "contract/suite_proof/fake/fake.py", ROOT / "harness/tests/fixtures/faulty.py")

MANIFEST = """
name = "fake"
title = "A server of one file"
language = "rust"
port = 8199

[build]
command = ["true"]
makes = ["fake.py"]
sources = ["fake.py"]

[run]
command = ["{python}", "faulty.py"]
"""
VARIANT = """
[[variants]]
name = "{name}"
model = "{model}"
summary = "one loop"
env = {{ {env} }}
"""
MODELS = {"eventloop": "event-loop", "virtual": "virtual-thread"}


def fake_zoo(folder: Path, variants: Mapping[str, Mapping[str, str]]) -> Catalog:
    """Create the catalog. `variants` maps each variant to its environment, which may contain a fault."""
    server = folder / "fake"
    server.mkdir()
    for source in SOURCES:
        shutil.copy(source, server)
    text = MANIFEST.format(python=sys.executable)
    for name, env in variants.items():
        words = ", ".join(f'{key} = "{value}"' for key, value in env.items())
        text += VARIANT.format(name=name, model=MODELS[name], env=words)
    (server / "server.toml").write_text(text, encoding="utf-8")
    return load_catalog(folder)


def measured(folder: Path, catalog: Catalog, display: Display | None = None) -> dict[str, Record]:
    """Measure all entries in a quick run, and return one record for each."""
    wish = BenchOptions(scenarios=["hello"], tiers=["10"], quick=True, duration_s=1, seed=1)
    run = benches.new_run(folder, wish, request.make_plan(wish, catalog, Condition()), facts.gather(), {}, catalog)
    store = Store.create(folder / "results", run)
    found = benches.carry_out(folder, store, catalog, display or Display())
    return {record.entry: record for record in found}
