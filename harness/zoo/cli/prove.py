"""Runs that prove the method, one command each: `python -m zoo.cli.prove aa`, `slowdown`, `designs`.

They take minutes of an otherwise idle machine, longer with longer windows and warm-up. Each is an ordinary `zoo bench`,
below results/proof/; with `--keep` its records replace those in results/reference/ from which docs/method.md is
generated.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from zoo import COMMAND, ROOT
from zoo.analysis import method_proof
from zoo.analysis.pairs import Compared, compare
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.cli.screen import console
from zoo.model.condition import Condition
from zoo.model.errors import BenchError, UserError
from zoo.model.option import words
from zoo.model.run import Run
from zoo.plan import blocks, budget, request
from zoo.plan.blocks import Design
from zoo.plan.request import Wish
from zoo.reference.runs import COMMITTED
from zoo.report.section import Section
from zoo.report.text import method_proofs, terminal
from zoo.report.text.wording import duration
from zoo.scenarios.hello import HELLO
from zoo.store import kept
from zoo.store.run_folder import Store

AA, SLOWDOWN, DESIGNS = (COMMITTED / name for name in ("aa", "slowdown", "designs"))
FIXTURE = ROOT / "harness" / "tests" / "fixtures" / "slowed"
NATIVE, JVM = ("rust-axum:async", "rust-axum:hyper"), ("java-tomcat:platform", "java-tomcat:virtual")
PAIRS = {"native": NATIVE, "jvm": JVM}
LEAST_ROUNDS = 2
DURATION_S, WARMUP_S = 4, 9
"""Shorter than in a usual run: in the same time more rounds, which are what intervals rest on."""

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=__doc__)

Rounds = Annotated[int, typer.Option(min=2, help="how often every cell is measured, in fresh processes")]
Duration = Annotated[int, typer.Option(min=1, help="seconds of load in a cell")]
WarmUp = Annotated[int, typer.Option(min=6, help="seconds of warm-up at most")]
Keep = Annotated[bool, typer.Option("--keep", help="store the records in results/reference/, for the documents")]


@dataclass(frozen=True)
class ProofRun:
    """A run to make: where its records belong, what is measured, and the servers beside the zoo."""

    folder: Path
    wish: Wish
    guests: Path | None = None

    def words(self) -> list[str]:
        """Options of `zoo bench`."""
        return words(replace(self.wish, design=self.wish.arranged(), runtime="process"))

    def seconds(self) -> float:
        """Estimated wall time."""
        catalog = self.catalog()
        planned = request.plan_of(self.wish, catalog, Condition())
        return budget.seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)

    def catalog(self) -> Catalog:
        return load_catalog(ROOT, self.guests)

    def run(self) -> Store:
        """Measure, in a process of its own as `zoo bench` becomes another."""
        results = ROOT / "results" / "proof" / self.folder.relative_to(DESIGNS.parent)
        results.mkdir(parents=True, exist_ok=True)
        env: Mapping[str, str] = {**os.environ, **({"ZOO": str(self.guests)} if self.guests else {})}
        command = [*COMMAND, "bench", *self.words(), "--results", str(results)]
        if subprocess.run(command, env=env, check=False).returncode:
            raise BenchError(f"{' '.join(self.words())}: not every cell was measured; nothing is proved")
        return Store.open(results / "latest")


@app.command()
def aa(
    rounds: Rounds = 27,
    tiers: Annotated[str, typer.Option(help="connection counts, with commas between")] = "100,1k,5k",
    duration: Duration = 2,
    warmup: WarmUp = WARMUP_S,
    keep: Keep = False,
    run: Annotated[Path | None, typer.Option(help="count over the A/A pairs of this run instead")] = None,
) -> None:
    """Count false differences of a native and a JVM entry measured twice a round, over all metrics.

    Each three rounds count as a run of their own. How often a true difference would be found in the same noise is told
    besides. Exit code 1 when there are more than the nominal rate explains.
    """
    if run is not None:
        store = Store.open(run)
    else:
        entries = (NATIVE[0], JVM[1])
        wish = _wish(entries, tiers.split(","), rounds, duration, warmup)
        (store,) = _made([ProofRun(AA, wish)], keep=keep)
    found = store.run()
    runs = method_proof.short_runs(found, store.records())
    sections = [method_proofs.aa(found, runs), *([method_proofs.found_of(found, runs)] if len(runs) > 1 else [])]
    _end(sections, proved=method_proof.alarms(runs).nominally)


@app.command()
def slowdown(rounds: Rounds = 8, duration: Duration = 16, warmup: WarmUp = 6, keep: Keep = False) -> None:
    """Measure a server against itself burning 5 % more CPU, and against itself under another name.

    Turns of one process differ so much that four in a round do not show 5 % in 8 rounds, hence 16 of 1 s.
    Exit code 1 unless the first is called slower and the second is not.
    """
    variants = (method_proof.PLAIN, method_proof.SLOWED, method_proof.UNCHANGED)
    wish = replace(_wish(variants, ["100"], rounds, duration, warmup), aa=False)
    (store,) = _made([ProofRun(SLOWDOWN, wish, FIXTURE)], keep=keep)
    run, compared = _compared(store)
    _end([method_proofs.slowdown(run, compared)], proved=method_proof.slowdown_found(compared))


@app.command()
def designs(
    minutes: Annotated[
        int, typer.Option(min=1, help="for all six runs together, of which each has two rounds or more")
    ] = 25,
    duration: Duration = DURATION_S,
    warmup: WarmUp = WARMUP_S,
    keep: Keep = False,
) -> None:
    """Measure a native and a JVM pair, with A/A, in each design for equal time, and compare the intervals' widths."""
    stores = _made(equal_time(minutes, duration, warmup), keep=keep)
    widths = [width for store in stores for width in method_proof.widths(*_compared(store))]
    _end([method_proofs.designs(widths)], proved=True)


def _wish(variants: Sequence[str], tiers: Sequence[str], rounds: int, duration: int, warmup: int) -> Wish:
    """Throughput of these variants, with A/A."""
    lengths = Wish(rounds=rounds, duration_s=duration, warmup_s=warmup, aa=True)
    return replace(lengths, variants=variants, scenarios=[HELLO.name], tiers=tiers)


def equal_time(minutes: float, duration: int = DURATION_S, warmup: int = WARMUP_S) -> list[ProofRun]:
    """A trial for each pair and design, with as many rounds as its share of the time allows."""
    one = _wish((), ["100"], 1, duration, warmup)
    trials = [
        ProofRun(DESIGNS / f"{name}-{design}", replace(one, variants=pair, design=design))
        for name, pair in PAIRS.items()
        for design in Design
    ]
    rounds = method_proof.rounds_within(60 * minutes, [trial.seconds() for trial in trials], LEAST_ROUNDS)
    return [replace(t, wish=replace(t.wish, rounds=n)) for t, n in zip(trials, rounds, strict=True)]


def _made(trials: Sequence[ProofRun], *, keep: bool) -> list[Store]:
    """All runs, kept only when all were made."""
    console.print(f"about {duration(sum(trial.seconds() for trial in trials))}; the machine should be idle")
    stores = [trial.run() for trial in trials]
    if keep:
        for trial, store in zip(trials, stores, strict=True):
            kept.keep(store.folder, ROOT / trial.folder)
            console.print(f"kept: {trial.folder} (zoo docs brings the documents up to date)")
    return stores


def _compared(store: Store) -> tuple[Run, Compared]:
    run = store.run()
    return run, compare(run.plan.entries, store.records())


def _end(sections: Sequence[Section], *, proved: bool) -> None:
    terminal.show(sections, console)
    raise typer.Exit(0 if proved else 1)


def main() -> None:
    """A mistake is told in plain words."""
    try:
        app()
    except UserError as fault:
        print(f"prove: {fault}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
