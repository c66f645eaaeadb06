"""A run's records, grouped and compared once for all that is said of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.analysis.pairs import Compared, compare_cells
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report import view
from zoo.report.cells import Cells
from zoo.report.text.sentences import ending, one_round, waits

MOST_LINES = 10


@dataclass(frozen=True)
class Summary:
    """`cells`: all of them; `plain`: those of scenarios without a section of their own; `own`: the answers of those
    that have one. Pairs are compared over all records."""

    run: Run
    records: Sequence[Record]
    cells: Cells
    plain: Cells
    compared: Compared
    own: list[str]

    @classmethod
    def of(cls, run: Run, records: Sequence[Record], reference: str | None = None) -> Summary:
        """`reference` is the entry that is nothing but the protocol."""
        cells = Cells.of(run, records, reference)
        compared = compare_cells(run.plan.entries, cells.found, run.plan.guests)
        return cls(
            run,
            records,
            cells=cells,
            plain=cells.without(view.views()),
            compared=compared,
            own=view.answers(records, compared.pairs),
        )

    @property
    def one_round(self) -> list[str]:
        """Which server variants work, where one round gives no comparison; empty otherwise."""
        return one_round(self.run, self.records)

    @property
    def last_lines(self) -> list[str]:
        """What the run came to, in at most ten lines; of its pairs nothing where not all of that has room."""
        pairs = ending(self.cells, self.compared)
        if self.one_round:
            return [*self.one_round, *self.own, *waits(self.cells)][:MOST_LINES]
        room = MOST_LINES - len(self.own)
        return [*self.own, *pairs] if len(pairs) <= room else self.own[:MOST_LINES] or pairs[:MOST_LINES]
