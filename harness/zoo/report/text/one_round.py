"""The last lines of a run with one round: which server variants work, and which commands give statistics. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.model.entry_id import is_target, is_twin, server_of
from zoo.model.record import Record, newest_records
from zoo.model.run import Run
from zoo.plan.scenario import holds, is_trial


def lines(run: Run, records: Sequence[Record]) -> list[str]:
    """Return what one round shows; nothing for a run of several, or of scenarios with a section of their own alone."""
    latest = [r for r in newest_records(records) if not is_twin(r.entry)]
    if run.plan.rounds > 1 or not latest or all(is_trial(r.scenario) for r in latest):
        return []
    failed = [r for r in latest if r.failure]
    said = [f"{r.entry} failed in {r.asked} at {r.tier}: {r.failure.text}" for r in failed if r.failure]
    return [_working(run, latest, {r.entry for r in failed}), *said, *_statistics(latest)]


def _working(run: Run, latest: Sequence[Record], failed: set[str]) -> str:
    """`All 13 server variants work.`"""
    entries = list(dict.fromkeys(r.entry for r in latest))
    good = [entry for entry in entries if entry not in failed]
    if len(entries) == 1:
        text = f"{entries[0]} {'works' if good else 'does not work in every cell'}"
    elif len(good) < len(entries):
        text = f"{len(good)} of {len(entries)} server variants work{'s' if len(good) == 1 else ''} in every cell"
    else:
        text = f"{'Both' if len(good) == 2 else f'All {len(good)}'} server variants work"
    missing = run.plan.cells - len(latest)
    return f"{text}; {missing} of {run.plan.cells} cells not run yet." if missing > 0 else f"{text}."


def _statistics(latest: Sequence[Record]) -> list[str]:
    """Which commands give statistics; nothing where one round shows all, as whether requests are held."""
    if all(holds(r.scenario) or is_trial(r.scenario) for r in latest):
        return []
    servers = list(dict.fromkeys(server_of(r.entry) for r in latest if not is_target(r.entry)))
    named = servers[0] if len(servers) == 1 else "…"
    commands = "the same command with ROUNDS=3"
    if servers:
        commands = f"`make answer SERVER={named}` (about 10 minutes) or `make bench-all` (up to 90 minutes)"
    return [f"One round gives no statistics: {commands} does."]
