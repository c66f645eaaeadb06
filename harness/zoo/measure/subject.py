"""A warm server and the cell that is measured on it."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.measure.warm_server import WarmServer
from zoo.model.record import stem
from zoo.plan.blocks import Block
from zoo.plan.tier import Tier


@dataclass(frozen=True)
class Subject:
    """A running server that is measured, and the cell it is measured in."""

    entry_id: str
    block: Block
    tier: Tier
    server: WarmServer

    @property
    def name(self) -> str:
        """For files below `raw/`."""
        return f"{stem(self.entry_id, self.block.asked)}-{self.tier.name}-r{self.block.round}"
