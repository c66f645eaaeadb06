"""What a person asks of a database run. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from zoo.jdbc import plan
from zoo.jdbc.plan import Choice
from zoo.jdbc.records import PlanFacts
from zoo.model.option import Option


@dataclass(frozen=True)
class JdbcWish:
    """What was asked for on the command line, an option a field."""

    profile: Annotated[
        str, Option("--profile", f"{', '.join(plan.PROFILES)}: which cells, and how long each is measured")
    ] = plan.DEFAULT
    rounds: Annotated[int | None, Option("--rounds", "how often every cell is measured", least=1, most=1000)] = None
    choice: Choice = field(default_factory=Choice)
    floods: Annotated[
        bool, Option("--floods/--no-floods", "5,000 to 50,000 tasks at once on executors without a bound")
    ] = True
    only_floods: Annotated[bool, Option("--only-floods", "the profile's floods and no cell")] = False
    runtime: Annotated[
        str,
        Option("--runtime", "process: databases of its own; container: those of the compose file", variable="RUNTIME"),
    ] = "auto"


def plan_of(wish: JdbcWish, *, seed: int, runtime: str = "process", database: str = "postgresql") -> PlanFacts:
    """The plan of a new run; `PlanError` for a profile or cells that there are not.

    `external` names a server that is there: its cells are those of its database.
    """
    profile, choice = plan.profile(wish.profile, wish.rounds), wish.choice
    cells = [] if wish.only_floods else plan.chosen(profile.name, choice)
    if runtime == "external":
        cells = plan.on_another_server(cells, database)
    flooded = wish.floods and (wish.only_floods or not choice.is_made)
    floods = plan.floods(profile.name, database) if flooded else []
    return PlanFacts(cells=cells, floods=floods, profile=profile, seed=seed, runtime=runtime)
