"""What decides a claim: a few typed rules, written as data. Each names cells of its claim and a quantity."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Base(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    quantity: str
    of: str
    either: str | None = Field(default=None, description="rules with the same word are alternatives: one is enough")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the claim's cells."""
        return (self.of,)


class Judged(_Base):
    """The band that must hold for the whole interval, and what is still the direction that was published.

    `leans_above` / `leans_below`: an interval outside of the band, but wholly on this side, holds in part.
    `contradicted_above` / `contradicted_below`: the claim is contradicted only beyond these, else at the band's ends.
    `in_cells`: where cells are several, in how many of them the band must hold.
    """

    at_least: float | None = None
    at_most: float | None = None
    leans_above: float | None = None
    leans_below: float | None = None
    contradicted_above: float | None = None
    contradicted_below: float | None = None
    in_cells: Literal["every", "any"] | Annotated[float, Field(gt=0, le=1)] = "every"

    @model_validator(mode="after")
    def _has_a_band(self) -> Self:
        low, high = self.at_least, self.at_most
        if low is None and high is None:
            raise ValueError("expected at_least, at_most or both")
        if low is not None and high is not None and low > high:
            raise ValueError(f"expected at_least ≤ at_most, got {low:g} > {high:g}")
        if self.leans_above is not None and self.leans_below is not None:
            raise ValueError("expected one direction, leans_above or leans_below")
        return self


class BoundRule(Judged):
    """The quantity itself lies within the band."""

    rule: Literal["bound"]


class CountRule(Judged):
    """Something counted, not estimated: every round lies within the band."""

    rule: Literal["count"]


class RatioRule(Judged):
    """`of` over `over`, round by round; `together`: the geometric mean over all cells is judged, not each of them."""

    rule: Literal["ratio"]
    over: str
    together: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, self.over)


class DifferenceRule(Judged):
    """`of` less `less`, round by round, in the quantity's unit."""

    rule: Literal["difference"]
    less: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, self.less)


class GainRule(Judged):
    """The ratio `of` over `over`, over the ratio `than` over `than_over`: where is more gained?"""

    rule: Literal["gain"]
    over: str
    than: str
    than_over: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, self.over, self.than, self.than_over)


class SpreadRule(Judged):
    """By how much the ratio `of` over `over` differs between its highest and its lowest cell."""

    rule: Literal["spread"]
    over: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, self.over)


class RecordedRule(_Base):
    """Shown, never judged: an absolute figure of another machine."""

    rule: Literal["recorded"]


Rule = Annotated[
    BoundRule | CountRule | RatioRule | DifferenceRule | GainRule | SpreadRule | RecordedRule,
    Field(discriminator="rule"),
]
