"""What a resumed run still measures: every cell without a record, or whose last record is a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zoo.model.errors import BenchError
from zoo.model.record import Record, newest_records
from zoo.plan.blocks import Block
from zoo.plan.tier import Tier

Done = frozenset[tuple[str, str, str, int]]
"""Keys of records: entry, scenario with case, tier, round."""


def measured(records: Iterable[Record]) -> Done:
    """Of the cells that have not failed."""
    return frozenset(record.key for record in newest_records(records) if record.failure is None)


def check_unchanged(protocol: int, newest: int, builds: Mapping[str, str], now: Mapping[str, str]) -> None:
    """`BenchError` when a run was begun with another protocol, or with other sources (`builds`) than those of now."""
    if protocol != newest:
        raise BenchError(
            f"this run was begun with protocol {protocol}, and this harness measures with {newest}; start a new run"
        )
    if changed := ", ".join(sorted(name for name in builds.keys() & now.keys() if builds[name] != now[name])):
        raise BenchError(f"{changed} changed since this run was begun; start a new run, or restore the sources")


def tiers_left(block: Block, done: Done) -> list[Tier]:
    """The tiers of a block of which an entry has no record; all of the block's entries are then measured again."""
    return [tier for tier in block.tiers if any(key not in done for key in block.keys(tier))]


def blocks_left(blocks: Sequence[Block], done: Done) -> list[Block]:
    """The blocks in which a tier is left, whole and in their order."""
    return [block for block in blocks if tiers_left(block, done)]
