"""A zoo of one server: the contract suite's fake one, as a folder with a manifest."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rich.console import Console

from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.cli.checkout import ROOT
from zoo.cli.progress import Live
from zoo.host import facts
from zoo.measure import session as benches
from zoo.model.condition import Condition
from zoo.model.record import Record
from zoo.plan import request
from zoo.plan.request import Wish
from zoo.store.run_folder import Store

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
    """`variants`: the environment of each, which may tell it how to fail."""
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


def measured(folder: Path, catalog: Catalog) -> dict[str, Record]:
    """A quick run of all its entries, one record each."""
    wish = Wish(scenarios=["hello"], tiers=["10"], quick=True, duration_s=1, seed=1)
    run = benches.new_run(folder, wish, request.plan_of(wish, catalog, Condition()), facts.gather(), {}, catalog)
    store = Store.create(folder / "results", run)
    quiet = Console(quiet=True)
    found = benches.carry_out(folder, store, catalog, quiet.status, partial(Live, quiet), print)
    return {record.entry: record for record in found}
