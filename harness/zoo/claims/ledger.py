"""The published claims, as they stand in `claims/*.toml`: one file an article."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from zoo.claims.quantities import QUANTITIES
from zoo.claims.rules import Rule
from zoo.model.errors import UserError

AXES = ("entry", "case", "tier", "vary")
"""What a cell may list several values of."""

OneOrMore = str | Annotated[list[str], Field(min_length=1)]


class LedgerError(UserError):
    """A ledger file that cannot be used, or a claim that is not in it; the message says what was expected."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Article(_Table):
    """Where claims were published, and on what they were measured there."""

    key: str = Field(pattern=r"^[A-Z]$")
    about: str
    title: str | None = None
    by: str | None = None
    date: str | None = None
    link: str | None = Field(default=None, pattern=r"^https://\S+$")
    machine: str | None = None
    cores: int | None = None
    jdk: str | None = None
    software: str | None = None
    kept: bool = Field(default=True, description="false: the text is not among those whose figures a test checks")


class PublishedFigure(_Table):
    """A published figure: `quote` as it is printed there, `value` as a number in this unit."""

    of: str
    value: float
    unit: str = ""
    quote: str | None = Field(default=None, description="none: read off a graph")


class CellSpec(_Table):
    """What of a run a rule reads: one cell, or several where an axis has a list."""

    scenario: str
    entry: OneOrMore
    case: OneOrMore = ""
    tier: OneOrMore = ""
    vary: OneOrMore = Field(default="", description="a condition as `zoo bench --vary` takes it; empty: none")
    jdk: str = Field(default="", pattern=r"^\d*$", description="of the whole run, where it must be this one")
    duration: int | None = Field(default=None, ge=1, description="seconds of load, at least; none: the scenario's own")
    window: int | None = Field(
        default=None, ge=1, description="seconds that a server is loaded without a pause, at least"
    )
    tiers_from_cores: float | None = Field(default=None, description="judge only tiers of so many times the cores")

    def axis(self, name: str) -> list[str]:
        value = getattr(self, name)
        return [value] if isinstance(value, str) else value

    def listed(self, name: str) -> bool:
        return not isinstance(getattr(self, name), str)


class Claim(_Table):
    """One statement, in our own words, with what decides it. `ambiguous` says what the article leaves open."""

    id: str = Field(pattern=r"^[A-Z]\d+$")
    says: str
    source: str | None = Field(default=None, pattern=r"^https://\S+$", description="where the article is not it")
    published: list[PublishedFigure] = []
    ambiguous: str | None = None
    note: str | None = Field(default=None, description="where the test departs from what was published")
    like: str | None = Field(
        default=None,
        description="why the test is the article's in what matters; none: it is not, so it contradicts nothing",
    )
    rounds: int = Field(default=3, ge=1)
    copies: dict[str, str] = Field(
        default={}, description="servers that are not in the tree, and of which one each is a copy; the note says more"
    )
    runs: list[str] = Field(
        default=[], description="names in results/reference/runs.toml, the preferred first, of which cells are taken"
    )
    cells: dict[str, CellSpec] = {}
    rules: list[Rule] = []
    unmeasured: str | None = Field(default=None, description="why nothing here can decide it")

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        if bool(self.rules) == bool(self.unmeasured):
            raise ValueError("expected either rules or, where nothing can decide it, `unmeasured` with the reason")
        if bool(self.rules) != bool(self.runs):
            raise ValueError(
                "expected `runs`, names of results/reference/runs.toml, where there are rules and only there"
            )
        used = {name for rule in self.rules for name in rule.names}
        if used != set(self.cells):
            odd = ", ".join(sorted(used ^ set(self.cells)))
            raise ValueError(f"expected rules to name exactly the cells that there are, which differs in: {odd}")
        return self

    @model_validator(mode="after")
    def _rules_fit_their_cells(self) -> Self:
        for rule in self.rules:
            quantity = QUANTITIES.get(rule.quantity)
            if quantity is None:
                raise ValueError(f'no quantity "{rule.quantity}"; known: {", ".join(QUANTITIES)}')
            first, *others = (self.cells[name] for name in rule.names)
            for other in others:
                for axis in AXES:
                    both = first.listed(axis) and other.listed(axis)
                    if both and sorted(first.axis(axis)) != sorted(other.axis(axis)):
                        raise ValueError(f"{', '.join(rule.names)}: where both list {axis}, the lists must be alike")
        return self

    @property
    def article(self) -> str:
        return self.id[0]


class LedgerFile(_Table):
    """One file: an article and its claims."""

    article: Article
    claims: list[Claim] = Field(min_length=1)

    @model_validator(mode="after")
    def _ids_are_the_articles(self) -> Self:
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) != len(ids):
            raise ValueError("claims must have different ids")
        strange = [name for name in ids if name[0] != self.article.key]
        if strange:
            raise ValueError(f"expected ids that begin with {self.article.key}, got {', '.join(strange)}")
        return self


@dataclass(frozen=True)
class Ledger:
    """All articles and claims, in the order of the files."""

    files: tuple[LedgerFile, ...]

    @cached_property
    def claims(self) -> list[Claim]:
        return [claim for file in self.files for claim in file.claims]

    @cached_property
    def articles(self) -> dict[str, Article]:
        return {file.article.key: file.article for file in self.files}

    def of(self, articles: Sequence[str] = (), ids: Sequence[str] = ()) -> list[Claim]:
        """The claims of these articles or with these ids; none named: all. `LedgerError` for an unknown name."""
        wanted = [name.upper() for name in (*articles, *ids)]
        known = {*self.articles, *(claim.id for claim in self.claims)}
        for name in wanted:
            if name not in known:
                raise LedgerError(f'no article or claim "{name}"; articles: {", ".join(self.articles)}')
        return [claim for claim in self.claims if not wanted or claim.article in wanted or claim.id in wanted]
