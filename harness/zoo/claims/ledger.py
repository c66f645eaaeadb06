"""Published claims as written in `claims/*.toml`: articles, claims, their rules, and the cells that these read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from zoo.claims.quantities import QUANTITIES
from zoo.core.capacity import parse_count
from zoo.core.data import Data
from zoo.core.errors import UserError

AXES = ("entry", "case", "tier", "vary")
"""The parts of a cell that may list several values."""

OneOrMore = str | Annotated[list[str], Field(min_length=1)]


class LedgerError(UserError):
    """A ledger file that cannot be used, or a claim that is not in it; the message names what was expected."""


class Article(Data):
    """The place where claims were published, and the machine and software with which they were measured there."""

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
    kept: bool = Field(default=True, description=("false if the text is not among those whose figures a test checks"))


class PublishedFigure(Data):
    """A published figure: `quote` as printed in the article, `value` as a number in this unit."""

    of: str
    value: float
    unit: str = ""
    quote: str | None = Field(default=None, description="none if the figure was read off a graph")


class CellSpec(Data):
    """The cell of a run that a rule reads, or several cells if an axis has a list."""

    scenario: str
    entry: OneOrMore
    case: OneOrMore = ""
    tier: OneOrMore = ""
    vary: OneOrMore = Field(
        default="", description=("a condition in the notation of `zoo bench --vary`; empty if none")
    )
    jdk: str = Field(
        default="", pattern=r"^\d*$", description=("the condition of the whole run, if it must be this one")
    )
    duration: int | None = Field(default=None, ge=1, description=("least seconds of load; none for the scenario's own"))
    window: int | None = Field(default=None, ge=1, description="least seconds of load without a pause")
    tiers_from_cores: float | None = Field(
        default=None, description=("judge only connection counts of at least this many times the cores")
    )

    def axis(self, name: str) -> list[str]:
        value = getattr(self, name)
        return [value] if isinstance(value, str) else value

    def is_list(self, name: str) -> bool:
        return not isinstance(getattr(self, name), str)


SIDES: dict[str, tuple[str, ...]] = {
    "bound": (),
    "count": (),
    "ratio": ("over",),
    "difference": ("less",),
    "gain": ("over", "than", "than_over"),
    "spread": ("over",),
    "recorded": (),
}
"""The keys that name further cells, in addition to `of`, by kind of rule."""


class Rule(Data):
    """The rule that decides a claim: a figure from the cells of `of` and other keys, and the band in which it must lie.

    - bound: the quantity itself
    - count: something counted, not estimated, so every round must lie within the band
    - ratio: `of` over `over`, round by round; `together`: the geometric mean over all cells, not each of them
    - difference: `of` less `less`, round by round, in the quantity's unit
    - gain: the ratio `of` over `over`, over the ratio `than` over `than_over`, to show where more is gained
    - spread: the difference between the highest and the lowest cell in the ratio `of` over `over`
    - recorded: shown, never judged, because it is an absolute figure of another machine; it has no band

    `leans_above` / `leans_below`: an interval outside the band but entirely on this side holds in part.
    `contradicted_above` / `contradicted_below`: the claim is contradicted only beyond these; the default is the band's
    ends. `in_cells`: if there are several cells, the number in which the band must hold.
    """

    rule: Literal["bound", "count", "ratio", "difference", "gain", "spread", "recorded"]
    quantity: str
    of: str
    over: str | None = None
    less: str | None = None
    than: str | None = None
    than_over: str | None = None
    together: bool = False
    at_least: float | None = None
    at_most: float | None = None
    leans_above: float | None = None
    leans_below: float | None = None
    contradicted_above: float | None = None
    contradicted_below: float | None = None
    in_cells: Literal["every", "any"] | Annotated[float, Field(gt=0, le=1)] = "every"
    either: str | None = Field(default=None, description=("rules with the same name are alternatives: one is enough"))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the claim's cells, in the order in which the figure uses them."""
        return (self.of, *(getattr(self, side) for side in SIDES[self.rule]))

    @property
    def judged(self) -> bool:
        return self.rule != "recorded"

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        keys, sides = self.model_fields_set - {"rule", "quantity", "of", "either"}, SIDES[self.rule]
        if missing := [side for side in sides if getattr(self, side) is None]:
            raise ValueError(f'rule "{self.rule}" requires {", ".join(missing)}')
        other = {"over", "less", "than", "than_over"}.difference(sides)
        if self.rule != "ratio":
            other.add("together")
        if odd := sorted(keys & other if self.judged else keys):
            raise ValueError(f'rule "{self.rule}" does not accept {", ".join(odd)}')
        low, high = self.at_least, self.at_most
        if self.judged and low is None and high is None:
            raise ValueError("expected at_least, at_most or both")
        if low is not None and high is not None and low > high:
            raise ValueError(f"expected at_least ≤ at_most, got {low:g} > {high:g}")
        if self.leans_above is not None and self.leans_below is not None:
            raise ValueError("expected one direction, leans_above or leans_below")
        return self


class Claim(Data):
    """One statement, in our own words, with the rules that decide it. `ambiguous` says what the article leaves open."""

    id: str = Field(pattern=r"^[A-Z]\d+$")
    says: str
    source: str | None = Field(
        default=None, pattern=r"^https://\S+$", description=("link to the source, if it is not the article")
    )
    published: list[PublishedFigure] = Field(default=[])
    ambiguous: str | None = None
    note: str | None = Field(default=None, description="how the test differs from what was published")
    like: str | None = Field(
        default=None,
        description=(
            "why the test matches the article's in all essentials; none if it does not, so "
            "that it cannot contradict the claim"
        ),
    )
    rounds: int = Field(default=3, ge=1)
    copies: dict[str, str] = Field(
        default={},
        description=("servers that are not in the tree, each with the server that it is a copy of; the note says more"),
    )
    runs: list[str] = Field(
        default=[],
        description=("names in results/reference/runs.toml from which cells are taken, the preferred one first"),
    )
    explained_by: list[str] = Field(
        default=[],
        description=(
            "names in results/reference/runs.toml of the explanations that show the causes, without a verdict"
        ),
    )
    cells: dict[str, CellSpec] = Field(default={})
    rules: list[Rule] = Field(default=[])
    unmeasured: str | None = Field(default=None, description="why no measurement here can decide the claim")

    @property
    def article(self) -> str:
        return self.id[0]

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if bool(self.rules) == bool(self.unmeasured):
            raise ValueError("expected either rules or, if nothing can decide the claim, `unmeasured` with the reason")
        if bool(self.rules) != bool(self.runs):
            raise ValueError("expected `runs` (names in results/reference/runs.toml) if there are rules, and only then")
        used = {name for rule in self.rules for name in rule.names}
        if used != set(self.cells):
            odd = ", ".join(sorted(used ^ set(self.cells)))
            raise ValueError(f"expected the rules to name exactly the cells of the claim; the difference: {odd}")
        return self

    @model_validator(mode="after")
    def _check_quantities_and_axes(self) -> Self:
        for rule in self.rules:
            if rule.quantity not in QUANTITIES:
                raise ValueError(f'there is no quantity "{rule.quantity}"; known: {", ".join(QUANTITIES)}')
            first, *others = (self.cells[name] for name in rule.names)
            for other, axis in itertools.product(others, AXES):
                both = first.is_list(axis) and other.is_list(axis)
                if both and sorted(first.axis(axis)) != sorted(other.axis(axis)):
                    raise ValueError(f"{', '.join(rule.names)}: if both list {axis}, the lists must be equal")
        return self


class LedgerFile(Data):
    """The contents of one file: an article and its claims."""

    article: Article
    claims: list[Claim] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) != len(ids):
            raise ValueError("claims must have different ids")
        if strange := [name for name in ids if name[0] != self.article.key]:
            raise ValueError(f"expected ids that start with {self.article.key}, got {', '.join(strange)}")
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

    def select(self, articles: Sequence[str] = (), ids: Sequence[str] = ()) -> list[Claim]:
        """Return the claims of these articles or with these ids, or all claims; `LedgerError` for an unknown name."""
        names = [name.upper() for name in (*articles, *ids)]
        known = {*self.articles, *(claim.id for claim in self.claims)}
        if unknown := [name for name in names if name not in known]:
            raise LedgerError(f'there is no article or claim "{unknown[0]}"; articles: {", ".join(self.articles)}')
        return [claim for claim in self.claims if not names or claim.article in names or claim.id in names]


# --- the single cells that a rule compares


def load_name(scenario: str, case: str) -> str:
    return f"{scenario} {case}".strip()


class ClaimPoint(NamedTuple):
    """One cell, or several connection counts of it if a quantity combines them."""

    scenario: str
    entry: str
    case: str
    tiers: tuple[str, ...]
    vary: str
    jdk: str = ""
    duration: int | None = None
    window: int | None = None

    @property
    def load(self) -> str:
        return load_name(self.scenario, self.case)

    @property
    def text(self) -> str:
        """Return the point in words: `java-tomcat:virtual, held 1k–25k, heap=300m`."""
        tiers = "–".join(dict.fromkeys([self.tiers[0], self.tiers[-1]]))
        jdk = f"JDK {self.jdk}" if self.jdk else ""
        return ", ".join(filter(None, [self.entry, f"{self.load} {tiers}".strip(), self.vary, jdk]))


def list_points(cells: CellSpec, *, over_tiers: bool = False) -> list[ClaimPoint]:
    """Return every point that a cell's lists describe."""
    tiers = [tuple(cells.axis("tier"))] if over_tiers else [(tier,) for tier in cells.axis("tier")]
    return [
        ClaimPoint(cells.scenario, entry, case, tier, vary, cells.jdk, cells.duration, cells.window)
        for entry, case, tier, vary in itertools.product(
            cells.axis("entry"), cells.axis("case"), tiers, cells.axis("vary")
        )
    ]


def combinations(rule: Rule, of: Sequence[CellSpec], cores: float | None = None) -> Iterator[tuple[ClaimPoint, ...]]:
    """Yield the points that are judged together: those that agree on each axis that both of their cells list.

    If the host's `cores` are given, connection counts too small for that number are left out; None keeps all.
    """
    over_tiers = QUANTITIES[rule.quantity].over_tiers
    axes = [axis for axis in AXES if of[0].is_list(axis) and not (over_tiers and axis == "tier")]
    for chosen in itertools.product(*(list_points(cells, over_tiers=over_tiers) for cells in of)):
        both = list(zip(chosen, of, strict=True))
        if all(_is_large_enough(point, cells, cores) for point, cells in both) and all(
            _axis_value(chosen[0], axis) == _axis_value(point, axis)
            for point, cells in both[1:]
            for axis in axes
            if cells.is_list(axis)
        ):
            yield chosen


def _is_large_enough(point: ClaimPoint, cells: CellSpec, cores: float | None) -> bool:
    if cores is None or cells.tiers_from_cores is None:
        return True
    return parse_count(point.tiers[0]) >= cells.tiers_from_cores * cores


def _axis_value(point: ClaimPoint, axis: str) -> str:
    return point.tiers[0] if axis == "tier" else str(getattr(point, axis))
