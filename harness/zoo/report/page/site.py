"""The pages of a site that lead to its reports. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.claims.evidence import Archive
from zoo.claims.verdicts import ClaimVerdict
from zoo.report.ledger_text import counted
from zoo.report.page.html import ENVIRONMENT, policy


@dataclass(frozen=True)
class SiteEntry:
    """A run as the index shows it: what was asked of whom, when and where, and what it came to."""

    id: str
    href: str
    title: str
    servers: list[str]
    date: str
    where: str
    lines: list[str]


def index(entries: Sequence[SiteEntry], said: Sequence[ClaimVerdict]) -> str:
    """The first page."""
    claims = counted(said)
    return ENVIRONMENT.get_template("site.html").render(entries=entries, claims=claims, policy=policy())


def listing(archive: Archive, names: Sequence[str]) -> str:
    """The page of a run that has no report on the site."""
    return ENVIRONMENT.get_template("run.html").render(archive=archive, names=names, policy=policy())
