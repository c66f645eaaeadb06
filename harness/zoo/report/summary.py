"""The records of a run, grouped and compared once for all parts of its report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report import view
from zoo.report.cells import Cells
from zoo.report.sentences import last_lines, one_round_lines, waiting_lines
from zoo.stats.pairs import RunPairs, compare_cells

MAX_LINES = 10


@dataclass(frozen=True)
class Summary:
    """The summary of a run. `cells` has all cells, `plain_cells` only those of scenarios without a view.

    `view_answers` holds the first sentences of the scenarios with a view. Pairs are compared over all records.
    """

    run: Run
    records: Sequence[Record]
    cells: Cells
    plain_cells: Cells
    compared: RunPairs
    view_answers: list[str]
    synthetic: Mapping[str, str] = field(default_factory=dict)
    """By entry that nobody would build like this, the reason."""

    @classmethod
    def of(
        cls,
        run: Run,
        records: Sequence[Record],
        reference: str | None = None,
        synthetic: Mapping[str, str] | None = None,
    ) -> Summary:
        """Build the summary; `reference` is the entry that implements nothing but the protocol."""
        cells = Cells.of(run, records, reference)
        compared = compare_cells(run.plan.entries, cells.by_key, run.plan.guests)
        return cls(
            run,
            records,
            cells=cells,
            plain_cells=cells.without_scenarios(view.views()),
            compared=compared,
            view_answers=view.answers(records, compared.pairs),
            synthetic={entry: reason for entry, reason in (synthetic or {}).items() if entry in run.plan.entries},
        )

    @property
    def notes(self) -> list[str]:
        """Return which entries are synthetic, and whether the machine of the run is unknown."""
        synthetic = [f"{entry} is synthetic: {reason}." for entry, reason in self.synthetic.items()]
        return [*synthetic, *filter(None, [self.run.host.unknown_machine])]

    @property
    def one_round_lines(self) -> list[str]:
        """Return which server variants work if the run has one round and thus no comparison; otherwise empty."""
        return one_round_lines(self.run, self.records)

    @property
    def last_lines(self) -> list[str]:
        """Return the result of the run in at most ten lines; pairs are left out unless all of their lines fit."""
        pairs = last_lines(self.cells, self.compared)
        if self.one_round_lines:
            return [*self.one_round_lines, *self.view_answers, *waiting_lines(self.cells)][:MAX_LINES]
        room = MAX_LINES - len(self.view_answers)
        return (
            [*self.view_answers, *pairs] if len(pairs) <= room else self.view_answers[:MAX_LINES] or pairs[:MAX_LINES]
        )
